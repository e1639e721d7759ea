//! Scheduled backups: when one is due, what it is called, and which old ones go.
//!
//! The directory itself says when the last one was made, so a restart neither forgets nor repeats. Only files with
//! names of ours are counted and removed. One that fails is told by log and metric and tried again after
//! [`TRY_AGAIN`]; it keeps nobody from being watched.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tokio::task::{JoinError, JoinSet};

use crate::metrics::Metrics;
use crate::model::settings::Backups;
use crate::operations::Office;
use crate::store::{CopyError, Replace, Store, StoreError};

/// From a failed try to the next.
const TRY_AGAIN: Duration = Duration::from_mins(5);

/// The instant in a backup's name, in UTC.
const INSTANT: &str = "%Y%m%dT%H%M%SZ";

/// The copy under way, if there is one.
#[derive(Debug, Default)]
pub(super) struct Copies {
    making: JoinSet<Result<Option<Timestamp>, Failure>>,
    failed_at: Option<Timestamp>,
}

/// What a look at the directory came to.
type Made = Result<Result<Option<Timestamp>, Failure>, JoinError>;

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error("{}: {error}", .path.display())]
    Directory { path: PathBuf, error: io::Error },
}

impl Copies {
    /// Looks whether a backup is due, and makes it, unless one is being made.
    pub(super) fn start_if_due(&mut self, office: &Arc<Office>, now: Timestamp) {
        let Some(backups) = office.plan.plan().backups.clone() else { return };
        let rests = |failed: Timestamp| now.duration_since(failed).unsigned_abs() < TRY_AGAIN;
        if self.making.is_empty() && !self.failed_at.is_some_and(rests) {
            let store = office.store.clone();
            self.making.spawn(async move { tend(&store, backups, now).await });
        }
    }

    /// What came of the look under way; never, while there is none.
    pub(super) async fn next(&mut self) -> Made {
        match self.making.join_next().await {
            Some(made) => made,
            None => std::future::pending().await,
        }
    }

    /// Tells log and metrics.
    pub(super) fn tell(&mut self, made: Made, metrics: &Metrics, now: Timestamp) {
        let error: &dyn std::fmt::Display = match &made {
            Ok(Ok(newest)) => {
                self.failed_at = None;
                if let Some(newest) = newest {
                    metrics.tell_backup(*newest);
                }
                return;
            }
            Ok(Err(error)) => error,
            Err(error) => error,
        };
        self.failed_at = Some(now);
        metrics.store_errors.with_label_values(&["backup"]).inc();
        tracing::error!(%error, "the scheduled backup failed; it is tried again in 5 min");
    }
}

/// Makes a backup if one is due, and removes those beyond the number kept. Says when the newest one was made.
async fn tend(store: &Store, backups: Backups, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
    let directory = backups.directory.clone();
    let held = blocking(&directory, move |directory| held(directory, now)).await?;
    // What a wrong clock dated ahead does not count.
    let newest = held.last().map(|(at, _)| *at);
    if newest.is_some_and(|newest| now.duration_since(newest).unsigned_abs() < backups.every) {
        return Ok(newest);
    }
    // What is only counted belongs in it; where that cannot be written the copy is still worth having.
    if let Err(error) = store.flush_runs().await {
        tracing::warn!(%error, "unchanged scans of the last minute are not in the backup");
    }
    let path = directory.join(name(now));
    store.copy_to(&path, Replace::Never).await?;
    tracing::info!(path = %path.display(), "backup made");
    let keep = backups.keep.max(1);
    blocking(&directory, move |directory| {
        let held = self::held(directory, now)?;
        let surplus = held.len().saturating_sub(keep);
        held.iter().take(surplus).try_for_each(|(_, path)| std::fs::remove_file(path))
    })
    .await?;
    Ok(Some(now))
}

async fn blocking<T: Send + 'static>(
    directory: &Path,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let path = directory.to_owned();
    let done = tokio::task::spawn_blocking(move || work(&path)).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| Failure::Directory { path: directory.to_owned(), error })
}

/// Our backups in `directory`, the oldest first; it is made if there is none.
fn held(directory: &Path, now: Timestamp) -> io::Result<Vec<(Timestamp, PathBuf)>> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut held = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if let Some(at) = entry.file_name().to_str().and_then(instant)
            && at <= now
            && entry.file_type()?.is_file()
        {
            held.push((at, entry.path()));
        }
    }
    held.sort();
    Ok(held)
}

fn name(at: Timestamp) -> String {
    format!("driftd-{}.db", at.strftime(INSTANT))
}

/// When the backup called `name` was made; none of a file that is not ours.
fn instant(name: &str) -> Option<Timestamp> {
    let text = name.strip_prefix("driftd-")?.strip_suffix(".db")?;
    let at = TimeZone::UTC.to_timestamp(DateTime::strptime(INSTANT, text).ok()?).ok()?;
    // Other spellings of an instant are not ours either.
    (self::name(at) == name).then_some(at)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Copy(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_ours() {
        let at: Timestamp = "2026-12-01T10:15:00Z".parse().unwrap();
        assert_eq!(name(at), "driftd-20261201T101500Z.db");
        assert_eq!(instant(&name(at)), Some(at));
        for other in ["driftd.db", "driftd-20261201.db", "driftd-20261201T101500Z.db.gz", "driftd-99999999T999999Z.db"]
        {
            assert_eq!(instant(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_held_is_listed_oldest_first_without_what_others_put_there() {
        let home = tempfile::tempdir().unwrap();
        for file in
            ["driftd-20261202T000000Z.db", "driftd-20261201T000000Z.db", "notes.txt", "driftd-20990101T000000Z.db"]
        {
            std::fs::write(home.path().join(file), "").unwrap();
        }
        std::fs::create_dir(home.path().join("driftd-20261130T000000Z.db")).unwrap();
        let held = held(home.path(), "2026-12-03T00:00:00Z".parse().unwrap()).unwrap();
        let names: Vec<_> = held.iter().map(|(_, path)| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["driftd-20261201T000000Z.db", "driftd-20261202T000000Z.db"]);
    }
}
