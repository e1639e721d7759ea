//! What all inventory files say together, and which of them are held at their last good version.
//!
//! | file | wrong at a reload | wrong at a start |
//! |---|---|---|
//! | a person writes it | the whole configuration is refused | its last good version is used, if there is one |
//! | another program writes it | its last good version is used | the same; without one it contributes nothing |
//!
//! Files of people come first: their ids are theirs whatever a listed file says.

mod listed;
mod people;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::daemon_file::DaemonFile;
use super::elements::target::{Around, Placed};
use super::files::InventoryFile;
use super::held::{Held, HeldReason, InventoryPart, LastGood, Warning};
use super::reader::{At, Findings, Reader};
use crate::model::digest::Digest;
use crate::model::inventory::Target;
use crate::model::target::TargetId;

/// When files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Nothing is in force yet: what can be used is used.
    Start,
    /// Something is in force, which is better than something that is half wrong.
    Reload,
}

/// The inventory.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) targets: Vec<Target>,
    pub(super) parts: Vec<InventoryPart>,
    pub(super) held: Vec<Held>,
    pub(super) warnings: Vec<Warning>,
}

/// What comes of one file.
#[derive(Debug, Default)]
struct Used {
    /// Targets, their claims looked at.
    targets: Vec<Placed>,
    /// The text they were read from; `None` when nothing of the file is in use.
    text: Option<String>,
    /// Why it is not the file's own text.
    held: Option<Findings>,
}

/// Ids that listed files may neither have nor claim, and where they stand.
type Taken = BTreeMap<TargetId, At>;

/// Reads all files.
pub(super) fn read(
    reader: &mut Reader<'_>,
    files: Vec<InventoryFile>,
    daemon: &DaemonFile,
    last_good: &LastGood,
    moment: Moment,
) -> Inventory {
    let faces: Vec<(PathBuf, bool)> = files.iter().map(|file| (file.key.clone(), file.trust.is_listed())).collect();
    let mut by_people = Vec::new();
    let mut by_programs = Vec::new();
    for file in files {
        if file.trust.is_listed() { by_programs.push(file) } else { by_people.push(file) }
    }
    let around = Around {
        defaults: Default::default(),
        confirm: daemon.confirm,
        commands: &daemon.commands,
        profiles: &daemon.profiles,
    };
    let people::Read { used, taken, defaults } = people::read(reader, by_people, around, last_good, moment);
    let around = Around { defaults, ..around };
    let program = listed::read(reader, by_programs, around, &taken, last_good, moment);
    let mut inventory = Inventory { warnings: program.warnings, ..Inventory::default() };
    let (mut used, mut listed) = (used.into_iter(), program.used.into_iter());
    // What refuses the whole is told with all that is wrong.
    let is_refused = reader.count() > 0;
    for (key, is_listed) in faces {
        let next = if is_listed { listed.next() } else { used.next() };
        let mut next = next.unwrap_or_default();
        if is_refused && let Some(findings) = next.held.take() {
            reader.put_back(findings);
        }
        inventory.add(reader, key, is_listed, next);
    }
    inventory
}

impl Inventory {
    fn add(&mut self, reader: &mut Reader<'_>, path: PathBuf, listed: bool, used: Used) {
        if let Some(mut findings) = used.held {
            let reason = findings.held_as().unwrap_or(HeldReason::Invalid);
            let (releasable, mistakes) = (findings.can_be_released(), reader.told(&mut findings));
            let has_last_good = used.text.is_some();
            self.held.push(Held { path: path.clone(), reason, mistakes, releasable, has_last_good });
        }
        let targets: Vec<Target> = used.targets.into_iter().map(|placed| placed.target).collect();
        if let Some(text) = used.text {
            let ids: BTreeSet<TargetId> =
                targets.iter().flat_map(|target| std::iter::once(&target.id).chain(&target.was)).cloned().collect();
            self.parts.push(InventoryPart { path, digest: Digest::of_bytes(text.as_bytes()), text, ids, listed });
        }
        self.targets.extend(targets);
    }
}

#[cfg(test)]
mod tests;
