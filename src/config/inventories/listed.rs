//! Files that other programs write: each is taken as it is or held at its last good version, and none holds up another.
//!
//! A file that is *held* changes nothing: neither what it names, nor what it claims (`was`). A target of a last good
//! version that can be used no more, since a person took its id, is left out.
//!
//! A claim carries over a baseline, hence trust, and is honored only for an id that was this very file's (in
//! [`LastGood`]) and is nobody's now. Otherwise the target starts anew, which launders nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::elements::inventory::Trust;
use super::super::elements::target::{Around, Placed};
use super::super::error::ConfigError;
use super::super::files::{InventoryFile, Missing};
use super::super::held::{LastFile, LastGood};
use super::super::inventory_file;
use super::super::reader::{At, Findings, Reader};
use super::{Moment, Taken, Used, Warning};
use crate::model::target::TargetId;

/// So many of the targets that are gone are named.
const NAMED: usize = 3;

/// What the files give.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) used: Vec<Used>,
    pub(super) warnings: Vec<Warning>,
}

/// What of a file might be used.
#[derive(Debug)]
struct Candidate<'l> {
    path: PathBuf,
    key: PathBuf,
    last: Option<&'l LastFile>,
    used: Used,
}

/// What holds for all of them.
#[derive(Clone, Copy, Debug)]
struct Terms<'a> {
    around: Around<'a>,
    taken: &'a Taken,
    moment: Moment,
}

/// Reads them.
pub(super) fn read(
    reader: &mut Reader<'_>,
    files: Vec<InventoryFile>,
    around: Around<'_>,
    taken: &Taken,
    last_good: &LastGood,
    moment: Moment,
) -> Read {
    let terms = Terms { around, taken, moment };
    let mut candidates: Vec<Candidate<'_>> =
        files.into_iter().map(|file| candidate(reader, file, last_good, terms)).collect();
    settle(reader, &mut candidates, terms);
    let warnings = look_at_claims(&mut candidates, taken);
    Read { used: candidates.into_iter().map(|candidate| candidate.used).collect(), warnings }
}

/// A file by itself: its text, if it is right and does not remove too much, else its last good one.
fn candidate<'l>(
    reader: &mut Reader<'_>,
    file: InventoryFile,
    last_good: &'l LastGood,
    terms: Terms<'_>,
) -> Candidate<'l> {
    let InventoryFile { path, key, trust, text } = file;
    let is_released = last_good.released.contains(&key);
    let last = last_good.files.get(&key);
    let (targets, mut findings) = match &text {
        Ok(text) => attempt(reader, &path, text, terms.around),
        Err(_) => (Vec::new(), Findings::default()),
    };
    let text = match text {
        Ok(text) => Some(text),
        Err(Missing { error, at }) => {
            findings = reader
                .aside(|reader| match at {
                    Some(at) => reader.mistake_at(at, error, None),
                    None => reader.refuse(&path, error),
                })
                .1;
            None
        }
    };
    if let (Some(text), Some(last), true) = (&text, last, findings.is_empty() && !is_released)
        && *text != last.text
    {
        let (before, _) = attempt(reader, &path, &last.text, terms.around);
        if let Some(error) = removal(trust, &before, &targets) {
            findings = reader.aside(|reader| reader.refuse(&path, error)).1;
        }
    }
    let mut candidate = Candidate { path, key, last, used: Used { targets, text, held: None } };
    if !findings.is_empty() {
        candidate.hold(reader, findings, terms);
    }
    candidate
}

/// Reads a text; targets with a mistake are left out.
fn attempt(reader: &mut Reader<'_>, path: &Path, text: &str, around: Around<'_>) -> (Vec<Placed>, Findings) {
    reader.aside(|reader| {
        let Some(node) = reader.take(path, text.to_owned(), inventory_file::LISTED_KEYS) else { return Vec::new() };
        let mut ids: BTreeMap<TargetId, At> = BTreeMap::new();
        let mut placed: Vec<Placed> = Vec::new();
        for draft in inventory_file::decode_listed(reader, &node) {
            if let Some(first) = ids.get(draft.id()) {
                let error = ConfigError::DuplicateTarget(draft.id().to_string());
                reader.mistake_at(draft.at(), error, Some((*first, "the first stands here")));
                continue;
            }
            ids.insert(draft.id().clone(), draft.at());
            let before = reader.count();
            let target = draft.finish(reader, &around);
            if reader.count() == before {
                placed.push(target);
            }
        }
        let mut claims = Taken::new();
        for (id, at) in placed.iter().flat_map(|placed| &placed.was) {
            super::people::claim(reader, &ids, &mut claims, id, *at);
        }
        placed
    })
}

/// What is said of a file that drops more than it may.
fn removal(trust: Trust, before: &[Placed], now: &[Placed]) -> Option<ConfigError> {
    let Trust::Listed { may_remove } = trust else { return None };
    // A target under another id is not gone.
    let stay: BTreeSet<&TargetId> =
        now.iter().flat_map(|placed| std::iter::once(&placed.target.id).chain(&placed.target.was)).collect();
    let gone: Vec<&TargetId> = before.iter().map(|placed| &placed.target.id).filter(|id| !stay.contains(id)).collect();
    let too_many = gone.len().saturating_mul(100) > before.len().saturating_mul(usize::from(may_remove));
    too_many.then(|| {
        let mut names: Vec<&str> = gone.iter().take(NAMED).map(|id| id.as_str()).collect();
        if gone.len() > NAMED {
            names.push("…");
        }
        let (gone, had, left) = (gone.len(), before.len(), now.len());
        ConfigError::RemovesTooMany { gone, had, left, names: names.join(", "), may_remove }
    })
}

impl Candidate<'_> {
    /// Puts the last good version in the place of the file's own.
    fn hold(&mut self, reader: &mut Reader<'_>, findings: Findings, terms: Terms<'_>) {
        let mut held = findings;
        let (mut targets, mut text) = (Vec::new(), None);
        if let Some(last) = self.last {
            let (placed, wrong) = attempt(reader, &self.path, &last.text, terms.around);
            targets = placed;
            text = Some(last.text.clone());
            let is_same = self.used.text.as_ref() == Some(&last.text);
            match terms.moment {
                // What was in force could not go on as it was: the rest of the configuration is to blame.
                Moment::Reload if !wrong.is_empty() => {
                    reader.put_back(wrong);
                    if is_same {
                        held = Findings::default();
                    }
                }
                Moment::Start if !is_same => held.extend(wrong),
                Moment::Reload | Moment::Start => {}
            }
        }
        self.used = Used { targets, text, held: Some(held) };
    }

    const fn is_held(&self) -> bool {
        self.used.held.is_some()
    }

    /// Ids of its targets, each with its place.
    fn ids(&self) -> impl Iterator<Item = (&TargetId, At)> {
        self.used.targets.iter().map(|placed| (&placed.target.id, placed.at))
    }
}

/// Holds files whose ids are another's, until each id is one file's; at last a held one goes without.
fn settle(reader: &mut Reader<'_>, candidates: &mut [Candidate<'_>], terms: Terms<'_>) {
    loop {
        let owners = owners(candidates);
        let mut lost = Vec::new();
        for (index, candidate) in candidates.iter().enumerate().filter(|(_, candidate)| !candidate.is_held()) {
            let foreign = foreign(candidate, index, &owners, terms.taken);
            if !foreign.is_empty() {
                lost.push((index, foreign));
            }
        }
        if lost.is_empty() {
            let owners: BTreeMap<TargetId, usize> =
                owners.into_iter().map(|(id, (owner, _))| (id.clone(), owner)).collect();
            for (index, candidate) in candidates.iter_mut().enumerate() {
                candidate.used.targets.retain(|placed| {
                    let id = &placed.target.id;
                    !terms.taken.contains_key(id) && owners.get(id) == Some(&index)
                });
            }
            return;
        }
        for (index, foreign) in lost {
            let ((), findings) = reader.aside(|reader| {
                for (id, at, there) in foreign {
                    reader.mistake_at(at, ConfigError::TakenTarget(id), Some((there, "it stands here")));
                }
            });
            if let Some(candidate) = candidates.get_mut(index) {
                candidate.hold(reader, findings, terms);
            }
        }
    }
}

/// Whose each id is: of the file that had it before, else of the first that names it.
fn owners<'c>(candidates: &'c [Candidate<'_>]) -> BTreeMap<&'c TargetId, (usize, At)> {
    let had = |candidate: &Candidate<'_>, id: &TargetId| candidate.last.is_some_and(|last| last.ids.contains(id));
    let mut owners: BTreeMap<&TargetId, (usize, At)> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        for (id, at) in candidate.ids() {
            let first = owners.get(id).and_then(|(owner, _)| candidates.get(*owner));
            if first.is_none_or(|first| had(candidate, id) && !had(first, id)) {
                owners.insert(id, (index, at));
            }
        }
    }
    owners
}

/// The ids that a file names or claims and that are another's: id, place, and the other's place.
fn foreign(
    candidate: &Candidate<'_>,
    index: usize,
    owners: &BTreeMap<&TargetId, (usize, At)>,
    taken: &Taken,
) -> Vec<(TargetId, At, At)> {
    let named = candidate.ids().filter_map(|(id, at)| {
        let other = owners.get(id).filter(|(owner, _)| *owner != index).map(|(_, there)| *there);
        taken.get(id).copied().or(other).map(|there| (id.clone(), at, there))
    });
    let claims = candidate.used.targets.iter().flat_map(|placed| &placed.was);
    let claimed = claims.filter_map(|(id, at)| taken.get(id).map(|there| (id.clone(), *at, *there)));
    named.chain(claimed).collect()
}

/// Leaves only claims of ids that were the same file's and are nobody's now; tells of the others.
fn look_at_claims(candidates: &mut [Candidate<'_>], taken: &Taken) -> Vec<Warning> {
    let now: BTreeSet<TargetId> =
        candidates.iter().flat_map(|candidate| candidate.ids().map(|(id, _)| id.clone())).collect();
    let mut warnings = Vec::new();
    for candidate in candidates {
        let last = candidate.last;
        for placed in &mut candidate.used.targets {
            let id = placed.target.id.clone();
            placed.target.was.retain(|was| {
                let own = last.is_some_and(|last| last.ids.contains(was));
                let free = !now.contains(was) && !taken.contains_key(was);
                if !(own && free) {
                    let (file, was) = (candidate.key.clone(), was.clone());
                    warnings.push(Warning::ForeignClaim { file, target: id.clone(), was });
                }
                own && free
            });
        }
    }
    warnings
}
