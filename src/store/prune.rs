//! Retention: what is old goes, in small steps between which scanning goes on.
//!
//! Decides what may go. Never: an entry of the ledger; what is living (a baseline, the last baseline of a person, an
//! approval, a drift or incident that has not ended, the newest run of a target); what is owed (a notice or message
//! that has not arrived) with the incident it tells of; a value that any row left refers to. The rest goes when it is
//! older than the plan's horizon. When pruning happens is housekeeping's to decide.
//!
//! A step looks for what may go beside the writer, then removes at most [`AT_ONCE`] rows under its lock, where what
//! may have changed since is looked at again. Values are swept last: those that nothing referred to in one consistent
//! view of the database, and that no writer has touched since (`temp.touched`, see [`super::open`]).

use std::collections::{BTreeSet, VecDeque};

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::columns::{Columns as _, millis, to_json};
use super::error::StoreError;
use super::{Result, Store, references};
use crate::model::digest::Digest;

/// Rows removed in one transaction: some milliseconds.
const AT_ONCE: u32 = 500;

/// Values whose end one sweep can see; the next one sees the others.
const VALUES_A_SWEEP: usize = 20_000;

/// Free pages that are left in the file for what comes next.
const SPARE_PAGES: i64 = 256;

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Runs, snapshots, ended drifts and incidents, history lines that are older than this go.
    pub history: Timestamp,
    /// Messages that were sent or given up before this go.
    pub outbox: Timestamp,
}

/// How far a sweep has come.
#[derive(Debug, Default)]
pub struct Sweep {
    kind: usize,
    values: Option<VecDeque<Digest>>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There may be more to do.
    More,
    /// The sweep is done.
    Done,
}

/// Which horizon counts.
#[derive(Clone, Copy, Debug)]
enum Age {
    History,
    Outbox,
}

/// Rows of one kind.
struct Kind {
    age: Age,
    /// Keys (`key`) of those that may go: older than `?1`, at most `?2`.
    old: &'static str,
    /// Removes those whose keys are in the JSON array `?1`.
    remove: &'static [&'static str],
}

/// In an order in which what refers goes before what it refers to.
const KINDS: [Kind; 8] = [
    Kind {
        age: Age::Outbox,
        old: "SELECT seq AS key FROM message WHERE (state = 'sent' AND sent_at < ?1) \
              OR (state = 'dead' AND next_at < ?1) ORDER BY seq LIMIT ?2",
        // One that was given up may have been put back on its way meanwhile.
        remove: &[
            "DELETE FROM notice WHERE message IN (SELECT id FROM message \
             WHERE seq IN (SELECT value FROM json_each(?1)) AND state <> 'pending')",
            "DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?1)) AND state <> 'pending'",
        ],
    },
    Kind {
        age: Age::Outbox,
        old: "SELECT rowid AS key FROM notice WHERE dropped = 1 AND at < ?1 ORDER BY rowid LIMIT ?2",
        remove: &["DELETE FROM notice WHERE rowid IN (SELECT value FROM json_each(?1)) AND dropped = 1"],
    },
    Kind {
        age: Age::History,
        old: "SELECT no AS key FROM history WHERE at < ?1 ORDER BY no LIMIT ?2",
        remove: &["DELETE FROM history WHERE no IN (SELECT value FROM json_each(?1))"],
    },
    Kind {
        age: Age::History,
        old: "SELECT id AS key FROM run WHERE to_at < ?1 \
              AND id < (SELECT max(id) FROM run AS newer WHERE newer.target = run.target) ORDER BY id LIMIT ?2",
        remove: &["DELETE FROM run WHERE id IN (SELECT value FROM json_each(?1))"],
    },
    Kind {
        age: Age::History,
        old: "SELECT id AS key FROM baseline WHERE ended_at < ?1 AND (reviewed = 0 OR id < (SELECT max(id) \
              FROM baseline AS newer WHERE newer.target = baseline.target AND newer.facet = baseline.facet \
              AND newer.reviewed = 1)) ORDER BY id LIMIT ?2",
        remove: &["DELETE FROM baseline WHERE id IN (SELECT value FROM json_each(?1)) AND ended_at IS NOT NULL"],
    },
    Kind {
        age: Age::History,
        old: "SELECT id AS key FROM approval WHERE ended_at < ?1 ORDER BY id LIMIT ?2",
        remove: &["DELETE FROM approval WHERE id IN (SELECT value FROM json_each(?1)) AND ended_at IS NOT NULL"],
    },
    Kind {
        age: Age::History,
        old: "SELECT rowid AS key FROM drift WHERE ended_at < ?1 \
              AND NOT EXISTS (SELECT 1 FROM incident WHERE incident.id = drift.incident AND incident.ended_at IS NULL) \
              AND NOT EXISTS (SELECT 1 FROM message WHERE message.incident = drift.incident AND message.state = 'pending') \
              AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.incident = drift.incident \
              AND notice.message IS NULL AND notice.dropped = 0) ORDER BY rowid LIMIT ?2",
        remove: &["DELETE FROM drift WHERE rowid IN (SELECT value FROM json_each(?1)) AND ended_at IS NOT NULL"],
    },
    Kind {
        age: Age::History,
        // Nobody adds to an incident that has ended; were it so, a foreign key would undo the step.
        old: "SELECT id AS key FROM incident WHERE ended_at < ?1 \
              AND NOT EXISTS (SELECT 1 FROM message WHERE message.incident = incident.id) \
              AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.incident = incident.id) \
              AND NOT EXISTS (SELECT 1 FROM drift WHERE drift.incident = incident.id) ORDER BY id LIMIT ?2",
        remove: &[
            "DELETE FROM told WHERE incident IN (SELECT value FROM json_each(?1))",
            "DELETE FROM revision WHERE incident IN (SELECT value FROM json_each(?1))",
            "DELETE FROM unit WHERE incident IN (SELECT value FROM json_each(?1))",
            "INSERT OR IGNORE INTO spent_incident (id) SELECT value FROM json_each(?1)",
            "DELETE FROM incident WHERE id IN (SELECT value FROM json_each(?1))",
        ],
    },
];

/// Those of no run; its horizon is that of its runs.
const SNAPSHOTS: Kind = Kind {
    age: Age::History,
    old: "SELECT hex(digest) AS key FROM snapshot \
          WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.snapshot = snapshot.digest) AND ?1 IS NOT NULL LIMIT ?2",
    remove: &["DELETE FROM snapshot WHERE digest IN (SELECT unhex(value) FROM json_each(?1)) \
               AND NOT EXISTS (SELECT 1 FROM run WHERE run.snapshot = snapshot.digest)"],
};

const FORGET_TOUCHED: &str = "DELETE FROM temp.touched";
const REMOVE_VALUES: &str = "DELETE FROM blob WHERE digest IN (SELECT unhex(value) FROM json_each(?1)) \
     AND NOT EXISTS (SELECT 1 FROM temp.touched WHERE temp.touched.digest = blob.digest)";

impl Store {
    /// Takes one step of `sweep`. After an error the step may be taken again.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn prune(&self, sweep: &mut Sweep, horizon: &Horizon) -> Result<Step> {
        if let Some(kind) = KINDS.iter().chain([&SNAPSHOTS]).nth(sweep.kind) {
            if !self.remove_old(kind, horizon).await? {
                sweep.kind += 1;
            }
            return Ok(Step::More);
        }
        let mut values = match sweep.values.take() {
            Some(values) => values,
            None => self.unreferenced().await?,
        };
        if values.is_empty() {
            if self.give_back().await? {
                sweep.values = Some(values);
                return Ok(Step::More);
            }
            *sweep = Sweep::default();
            return Ok(Step::Done);
        }
        let part: Vec<String> = values.iter().take(size(AT_ONCE)).map(Digest::hex).collect();
        let removed = self.remove(&[REMOVE_VALUES], &to_json(&part)?).await;
        if removed.is_ok() {
            values.drain(..part.len());
        }
        sweep.values = Some(values);
        removed.map(|()| Step::More)
    }

    /// Removes some rows of `kind`. Says whether there were any.
    async fn remove_old(&self, kind: &Kind, horizon: &Horizon) -> Result<bool> {
        let before = match kind.age {
            Age::History => horizon.history,
            Age::Outbox => horizon.outbox,
        };
        let (keys, found) = old(&mut *self.read().await?, kind, before).await?;
        if found == 0 {
            return Ok(false);
        }
        self.remove(kind.remove, &keys).await?;
        Ok(found == i64::from(AT_ONCE))
    }

    async fn remove(&self, statements: &[&'static str], keys: &str) -> Result<()> {
        let mut writer = self.writer().await;
        let removed = async {
            let mut tx = writer.begin().await?;
            for statement in statements {
                sqlx::query(*statement).bind(keys).execute(&mut *tx).await?;
            }
            tx.commit().await?;
            Ok(())
        };
        self.wrote(removed.await)
    }

    /// Values that nothing refers to.
    async fn unreferenced(&self) -> Result<VecDeque<Digest>> {
        // Before the view is taken: what is touched from now on is kept, whatever the view shows.
        sqlx::query(FORGET_TOUCHED).execute(&mut self.writer().await.side.conn).await?;
        let mut view = self.read().await?;
        let mut referred = BTreeSet::new();
        references::each(&mut view, |_, digest| {
            referred.insert(Mark::of(digest));
        })
        .await?;
        unreferenced(&mut view, &referred).await
    }

    /// Gives some free pages back to the file system. Says whether there may be more.
    async fn give_back(&self) -> Result<bool> {
        let mut writer = self.writer().await;
        self.stands()?;
        let conn = &mut writer.side.conn;
        let free = number(conn, "PRAGMA freelist_count").await?;
        let pages = number(conn, "PRAGMA page_count").await?;
        if number(conn, "PRAGMA auto_vacuum").await? == 0 || free <= SPARE_PAGES.max(pages / 8) {
            return Ok(false);
        }
        let given = sqlx::query("PRAGMA incremental_vacuum(256)").fetch_all(conn).await;
        self.wrote(given.map_err(StoreError::from))?;
        Ok(true)
    }
}

#[cfg(test)]
impl Sweep {
    /// Values that it has seen nobody refer to.
    pub(super) fn values_left(&self) -> usize {
        self.values.as_ref().map_or(0, VecDeque::len)
    }

    /// Looks which values nobody refers to, once its other steps are done, and removes none yet.
    pub(super) async fn look(&mut self, store: &Store) {
        if self.kind == KINDS.len() + 1 && self.values.is_none() {
            self.values = Some(store.unreferenced().await.unwrap());
        }
    }
}

async fn old(conn: &mut SqliteConnection, kind: &Kind, before: Timestamp) -> Result<(String, i64)> {
    let query = AssertSqlSafe(format!("SELECT json_group_array(key) AS keys, count(*) AS found FROM ({})", kind.old));
    let row = sqlx::query(query).bind(millis(before)).bind(AT_ONCE).fetch_one(conn).await?;
    Ok((row.text("keys")?.to_owned(), row.int("found")?))
}

/// The first half of a digest's bytes: enough to tell values apart, and what two of them share only keeps one longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark([u8; 16]);

impl Mark {
    fn of(digest: Digest) -> Self {
        let mut half = [0; 16];
        for (to, from) in half.iter_mut().zip(digest.bytes()) {
            *to = *from;
        }
        Self(half)
    }
}

async fn unreferenced(conn: &mut SqliteConnection, referred: &BTreeSet<Mark>) -> Result<VecDeque<Digest>> {
    let mut found = VecDeque::new();
    let mut rows = sqlx::query("SELECT digest FROM blob").fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let digest = row.digest("digest")?;
        if !referred.contains(&Mark::of(digest)) {
            found.push_back(digest);
            if found.len() == VALUES_A_SWEEP {
                break;
            }
        }
    }
    Ok(found)
}

async fn number(conn: &mut SqliteConnection, pragma: &'static str) -> Result<i64> {
    Ok(sqlx::query(pragma).fetch_one(conn).await?.try_get(0)?)
}

fn size(rows: u32) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}
