//! The configuration's files: when they are other files than those that were read last.
//!
//! Two ways, since neither is enough. The kernel tells of changes in the directories that the files lie in, at once:
//! editors rename a new file over the old one, Kubernetes swaps a symbolic link named `..data`, a generator adds a file
//! that a pattern matches; a watch on the file itself would miss all of these. And what the files are (which inode, how
//! long, since when) is compared every so often, for the kernel tells nothing of a network's file systems, of a link's
//! far end, or beyond its limit of watches.
//!
//! A change is told once it has come to rest: a file that is still being written is not yet what somebody means.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use crate::config;

/// How often the files are looked at where nothing is told.
pub const POLL: Duration = Duration::from_secs(15);

/// Between two looks at files that are changing.
const REST: Duration = Duration::from_millis(150);

/// Looks at files that do not come to rest, until they are taken as they are.
const RESTLESS: usize = 20;

/// What a configuration is read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// `driftd.yaml`.
    pub daemon: PathBuf,
    /// What its `inventory` lists: paths, and patterns of names.
    pub listed: Vec<PathBuf>,
    /// Where our own files change all the time: the store's path, to which `-wal` and the like are added.
    pub ours: PathBuf,
}

/// What tells one version of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// All files by path; `None` for one that is not there.
type Fingerprint = BTreeMap<PathBuf, Option<Version>>;

/// Where a directory was when it was watched: one that is made anew has to be watched anew.
type Place = (u64, u64);

/// Looks at a configuration's files.
pub struct Lookout {
    files: Files,
    poll: Duration,
    known: Fingerprint,
    woken: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, Place>,
}

impl std::fmt::Debug for Lookout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookout").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Lookout {
    /// Looks at `files`, and again at least every `poll`. They are known once they are [noted](Self::note): whatever was
    /// read before is read once more, since it may have changed before it was looked at.
    pub fn new(files: Files, poll: Duration) -> Self {
        let mut lookout = Self { poll, ..Self::closed() };
        lookout.watcher = lookout.watcher(&files);
        lookout.look_at(files);
        lookout
    }

    /// Sees nothing: files are read anew when somebody asks.
    pub fn closed() -> Self {
        Self {
            files: Files::default(),
            poll: Duration::MAX,
            known: Fingerprint::new(),
            woken: Arc::default(),
            watcher: None,
            watched: BTreeMap::new(),
        }
    }

    /// The files as they are now are those that are read next.
    pub async fn note(&mut self) {
        self.known = fingerprint(&self.files).await;
    }

    /// The files are read again when they are looked at next: what they were read for failed.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Looks at `files` from here on.
    pub fn look_at(&mut self, files: Files) {
        self.files = files;
        self.watch();
    }

    /// Waits until the files are others than those known, and at rest.
    pub async fn changed(&mut self) {
        loop {
            tokio::select! {
                () = self.woken.notified() => {}
                () = tokio::time::sleep(self.poll) => self.watch(),
            }
            let mut seen = fingerprint(&self.files).await;
            if seen == self.known {
                continue;
            }
            for _ in 0..RESTLESS {
                tokio::time::sleep(REST).await;
                let again = fingerprint(&self.files).await;
                if again == seen {
                    break;
                }
                seen = again;
            }
            // Written and written back: nothing to read.
            if seen != self.known {
                return;
            }
        }
    }

    fn watcher(&self, files: &Files) -> Option<RecommendedWatcher> {
        let (woken, ours) = (Arc::clone(&self.woken), files.ours.clone());
        let told = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if !tells(&event, &ours) => {}
            // Of an error too: what it kept from us is found by looking.
            Ok(_) | Err(_) => woken.notify_one(),
        };
        let watcher = notify::recommended_watcher(told);
        watcher.inspect_err(|error| unwatched(Path::new("the configuration"), error)).ok()
    }

    /// Has the kernel tell of every directory that the files lie in.
    fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted = directories(&self.files);
        self.watched.retain(|directory, place| {
            let stays = wanted.get(directory) == Some(place);
            if !stays {
                // One that is gone is not watched any more either way.
                let _ = watcher.unwatch(directory);
            }
            stays
        });
        for (directory, place) in wanted {
            if self.watched.contains_key(&directory) {
                continue;
            }
            match watcher.watch(&directory, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.watched.insert(directory, place)),
                Err(error) => unwatched(&directory, &error),
            }
        }
    }
}

fn unwatched(what: &Path, error: &notify::Error) {
    tracing::warn!(
        directory = %what.display(), %error, seconds = POLL.as_secs(),
        "changes are not told by the kernel; the files are looked at every so often"
    );
}

/// Whether an event may be about a configuration: not a mere reading, and not our own writing.
fn tells(event: &notify::Event, ours: &Path) -> bool {
    let is_ours = |path: &PathBuf| {
        !ours.as_os_str().is_empty()
            && path.as_os_str().as_encoded_bytes().starts_with(ours.as_os_str().as_encoded_bytes())
    };
    let read = matches!(event.kind, EventKind::Access(kind) if !matches!(kind, notify::event::AccessKind::Close(notify::event::AccessMode::Write)));
    !read && (event.paths.is_empty() || !event.paths.iter().all(is_ours))
}

/// The directories in which a change can make these files others: where they lie, and where a link leads.
fn directories(files: &Files) -> BTreeMap<PathBuf, Place> {
    let mut found = BTreeMap::new();
    let listed = std::iter::once(&files.daemon).chain(&files.listed);
    let all: Vec<PathBuf> = listed.cloned().chain(expanded(files)).collect();
    for path in all {
        let here = path.parent().map(Path::to_owned);
        let there = fs::canonicalize(&path).ok().and_then(|path| path.parent().map(Path::to_owned));
        for directory in here.into_iter().chain(there) {
            let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
            if let Ok(found_there) = fs::metadata(&directory)
                && found_there.is_dir()
            {
                found.insert(directory, (found_there.dev(), found_there.ino()));
            }
        }
    }
    found
}

/// The files that are there to be read.
fn expanded(files: &Files) -> Vec<PathBuf> {
    let mut all = vec![files.daemon.clone()];
    for listed in &files.listed {
        all.extend(config::expand(listed).unwrap_or_else(|_| vec![listed.clone()]));
    }
    all
}

/// Off the runtime's threads: a network's file system may take its time.
async fn fingerprint(files: &Files) -> Fingerprint {
    let files = files.clone();
    let looked = tokio::task::spawn_blocking(move || {
        expanded(&files).into_iter().map(|path| (path.clone(), version(&path))).collect()
    });
    looked.await.unwrap_or_default()
}

fn version(path: &Path) -> Option<Version> {
    let found = fs::metadata(path).ok()?;
    Some(Version {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is told by the kernel here: only a poll can see it.
    #[tokio::test]
    async fn what_the_kernel_does_not_tell_is_seen_by_looking() {
        let home = tempfile::tempdir().unwrap();
        let daemon = home.path().join("driftd.yaml");
        fs::write(&daemon, "a").unwrap();
        let files =
            Files { daemon: daemon.clone(), listed: vec![home.path().join("*.inventory")], ours: PathBuf::new() };
        let mut lookout = Lookout::new(files, Duration::from_millis(5));
        lookout.watcher = None;
        lookout.note().await;
        for change in 0..3 {
            match change {
                0 => fs::write(&daemon, "b").unwrap(),
                1 => fs::write(home.path().join("team.inventory"), "").unwrap(),
                _ => fs::remove_file(home.path().join("team.inventory")).unwrap(),
            }
            tokio::time::timeout(Duration::from_secs(60), lookout.changed()).await.unwrap();
            lookout.note().await;
        }
    }

    #[test]
    fn reading_and_our_own_store_tell_nothing() {
        use notify::event::{AccessKind, AccessMode, CreateKind};
        let event = |kind, path: &str| notify::Event::new(kind).add_path(PathBuf::from(path));
        let ours = Path::new("/state/driftd.db");
        for (event, told) in [
            (event(EventKind::Create(CreateKind::File), "/state/driftd.yaml"), true),
            (event(EventKind::Create(CreateKind::File), "/state/driftd.db-wal"), false),
            (event(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/state/driftd.yaml"), false),
            (event(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/state/driftd.yaml"), true),
            (notify::Event::new(EventKind::Any), true),
        ] {
            assert_eq!(tells(&event, ours), told, "{event:?}");
        }
    }
}
