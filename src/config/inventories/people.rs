//! Files that people write: one inventory in several files, right as a whole or not at all.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::elements::defaults::Defaults;
use super::super::elements::target::{Around, Draft, Placed};
use super::super::error::ConfigError;
use super::super::files::{InventoryFile, Missing};
use super::super::held::LastGood;
use super::super::inventory_file;
use super::super::reader::{At, Findings, Reader};
use super::{Moment, Taken, Used};
use crate::model::target::TargetId;

/// What the files give.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) used: Vec<Used>,
    pub(super) taken: Taken,
    pub(super) defaults: Defaults,
}

/// Reads them; what is wrong is the configuration's mistake, unless a start can do with last good versions.
pub(super) fn read(
    reader: &mut Reader<'_>,
    files: Vec<InventoryFile>,
    around: Around<'_>,
    last_good: &LastGood,
    moment: Moment,
) -> Read {
    let keys: Vec<PathBuf> = files.iter().map(|file| file.key.clone()).collect();
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let texts: Vec<Result<String, Missing>> = files.into_iter().map(|file| file.text).collect();
    let kept: Vec<Option<String>> = texts.iter().map(|text| text.as_ref().ok().cloned()).collect();
    let first = together(reader, &paths, texts, around);
    if first.is_right() {
        return first.done(kept, BTreeMap::new());
    }
    if moment == Moment::Start
        && let Some((texts, bad)) = with_last_good(&first, &keys, &kept, last_good)
    {
        let kept = texts.iter().cloned().map(Some).collect();
        let second = together(reader, &paths, texts.into_iter().map(Ok).collect(), around);
        if second.is_right() {
            let held = first.files.into_iter().enumerate().filter(|(index, _)| bad.contains(index));
            let held = held.map(|(index, file)| (index, file.findings)).collect();
            return second.done(kept, held);
        }
    }
    let Together { files, .. } = first;
    for file in files {
        reader.put_back(file.findings);
    }
    Read { used: Vec::new(), taken: Taken::new(), defaults: Defaults::default() }
}

/// The texts with the last good version of each wrong file, and which those are; `None` where one has none.
fn with_last_good(
    first: &Together,
    keys: &[PathBuf],
    kept: &[Option<String>],
    last_good: &LastGood,
) -> Option<(Vec<String>, Vec<usize>)> {
    let (mut texts, mut bad) = (Vec::new(), Vec::new());
    for (index, ((file, key), text)) in first.files.iter().zip(keys).zip(kept).enumerate() {
        texts.push(if file.findings.is_empty() {
            text.clone()?
        } else {
            bad.push(index);
            last_good.files.get(key)?.text.clone()
        });
    }
    Some((texts, bad))
}

/// All files side by side.
#[derive(Debug, Default)]
struct Together {
    files: Vec<One>,
    /// Where each id stands first.
    ids: Taken,
    /// Where each claim stands first.
    claims: Taken,
    defaults: Option<(Defaults, At)>,
}

#[derive(Debug, Default)]
struct One {
    drafts: Vec<Draft>,
    placed: Vec<Placed>,
    findings: Findings,
}

fn together(
    reader: &mut Reader<'_>,
    paths: &[PathBuf],
    texts: Vec<Result<String, Missing>>,
    around: Around<'_>,
) -> Together {
    let mut all = Together::default();
    for (path, text) in paths.iter().zip(texts) {
        let (drafts, findings) = reader.aside(|reader| match text {
            Ok(text) => {
                reader.take(path, text, inventory_file::KEYS).map(|node| all.add(reader, &node)).unwrap_or_default()
            }
            Err(Missing { error, at: Some(at) }) => {
                reader.mistake_at(at, error, None);
                Vec::new()
            }
            Err(Missing { error, at: None }) => {
                reader.refuse(path, error);
                Vec::new()
            }
        });
        all.files.push(One { drafts, placed: Vec::new(), findings });
    }
    // Defaults may stand in the last file.
    let defaults = all.defaults.map(|(defaults, _)| defaults).unwrap_or_default();
    let around = Around { defaults, ..around };
    for file in &mut all.files {
        let drafts = std::mem::take(&mut file.drafts);
        let (placed, findings) = reader.aside(|reader| {
            let placed: Vec<Placed> = drafts.into_iter().map(|draft| draft.finish(reader, &around)).collect();
            for (id, at) in placed.iter().flat_map(|placed| &placed.was) {
                claim(reader, &all.ids, &mut all.claims, id, *at);
            }
            placed
        });
        file.placed = placed;
        file.findings.extend(findings);
    }
    all
}

/// An id is claimed once, and when it is free.
pub(super) fn claim(reader: &mut Reader<'_>, ids: &Taken, claims: &mut Taken, id: &TargetId, at: At) {
    if let Some(there) = ids.get(id) {
        reader.mistake_at(at, ConfigError::StillTarget(id.clone()), Some((*there, "the target stands here")));
    } else if let Some(first) = claims.get(id) {
        reader.mistake_at(at, ConfigError::ClaimedTwice(id.clone()), Some((*first, "the first claim stands here")));
    } else {
        claims.insert(id.clone(), at);
    }
}

impl Together {
    /// The targets of the current file.
    fn add(&mut self, reader: &mut Reader<'_>, node: &super::super::tree::Node) -> Vec<Draft> {
        let written = inventory_file::decode(reader, node);
        if let Some((defaults, at)) = written.defaults {
            match &self.defaults {
                Some((_, first)) => {
                    let other = Some((*first, "they stand here first"));
                    reader.mistake_at(at, ConfigError::DefaultsTwice, other);
                }
                None => self.defaults = Some((defaults, at)),
            }
        }
        let mut drafts = Vec::new();
        for draft in written.drafts {
            if let Some(first) = self.ids.get(draft.id()) {
                let error = ConfigError::DuplicateTarget(draft.id().to_string());
                reader.mistake_at(draft.at(), error, Some((*first, "the first stands here")));
            } else {
                self.ids.insert(draft.id().clone(), draft.at());
                drafts.push(draft);
            }
        }
        drafts
    }

    fn is_right(&self) -> bool {
        self.files.iter().all(|file| file.findings.is_empty())
    }

    /// What these files give, `texts` being what they were read from and `held` what is wrong with some.
    fn done(self, texts: Vec<Option<String>>, mut held: BTreeMap<usize, Findings>) -> Read {
        let Self { files, mut ids, claims, defaults } = self;
        let one = |(index, (file, text)): (usize, (One, Option<String>))| Used {
            targets: file.placed,
            text,
            held: held.remove(&index),
        };
        let used = files.into_iter().zip(texts).enumerate().map(one).collect();
        ids.extend(claims);
        Read { used, taken: ids, defaults: defaults.map(|(defaults, _)| defaults).unwrap_or_default() }
    }
}
