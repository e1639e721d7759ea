//! `diff OLD NEW`: two saved documents, judged as the daemon would judge them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;

use super::exit::Exit;
use super::{DiffArgs, Output, page};
use crate::judge::fold::{Folding, fold};
use crate::judge::{self, document, effective};
use crate::model::drift::Detail;
use crate::model::incident::UnitMark;
use crate::model::judgment::Judgment;
use crate::model::memory::Memory;
use crate::model::policy::NO_POLICY;
use crate::model::snapshot::Snapshot;
use crate::model::text;

/// Documents beyond this are refused: a scan reads at most 16 MiB.
const MAX_FILE: u64 = 256 << 20;

/// Compares and says whether there is drift at or above `--fail-on`.
///
/// # Errors
/// When a file cannot be read as a snapshot or a list.
pub(super) fn diff(output: Output, args: &DiffArgs) -> anyhow::Result<Exit> {
    let old = read(&args.old)?;
    let new = read(&args.new)?;
    let judgment = judge::judge(&new.target.id, &NO_POLICY, &effective::held_to(&old), &Memory::default(), &new, &[]);
    let foldings: Vec<Folding<'_>> =
        judgment.drifts.iter().map(|drift| Folding { drift, mark: UnitMark::Open }).collect();
    let units = fold(&foldings, &[]);
    match output {
        Output::Json => page::json(&document::diff_document(&judgment, &units))?,
        Output::Human => {
            let mut out = String::new();
            for unit in &units {
                let _ =
                    writeln!(out, "{:>2}. {} {} [{}]", unit.n, unit.severity, text::inert(&unit.title, 200), unit.rule);
                for member in &unit.members {
                    let drift =
                        judgment.drifts.iter().find(|drift| drift.facet == member.facet && drift.path == member.path);
                    if let Some(drift) = drift {
                        let _ = writeln!(out, "      {}", text::inert(&drift.message, 400));
                        out.extend(drift.details.iter().map(detail));
                    }
                }
            }
            out.push_str(&unseen(&judgment));
            if units.is_empty() {
                out.push_str("no drift\n");
            }
            page::write(&out)?;
        }
    }
    Ok(exit(&judgment, args))
}

/// One line of what differs, as the messages show it.
fn detail(detail: &Detail) -> String {
    let line = match detail {
        Detail::Text { text } => text::inert(text, 400),
        Detail::Moved { from, to } => format!("{} -> {}", text::value(from), text::value(to)),
        Detail::Words { diff, .. } => text::inert(diff, 2_000),
        Detail::Quote { label, text } => format!("{}: {}", text::inert(label, 100), text::value(text)),
    };
    format!("        {line}\n")
}

fn unseen(judgment: &Judgment) -> String {
    let by_facet: BTreeMap<String, String> =
        judgment.unseen.iter().map(|(facet, reason)| (facet.to_string(), reason.to_string())).collect();
    by_facet.iter().map(|(facet, reason)| format!("unseen: {facet} ({})\n", text::inert(reason, 200))).collect()
}

fn exit(judgment: &Judgment, args: &DiffArgs) -> Exit {
    if judgment.drifts.iter().any(|drift| drift.severity >= args.fail_on) {
        Exit::Found
    } else if judgment.unseen.is_empty() {
        Exit::Fine
    } else {
        Exit::NoVerdict
    }
}

fn read(path: &Path) -> anyhow::Result<Snapshot> {
    let text = bounded(path, MAX_FILE).with_context(|| format!("failed to read {}", path.display()))?;
    document::read(&text).with_context(|| format!("{} is no snapshot and no list", path.display()))
}

/// Reads what has no length of its own too (a pipe, a device), and never more than `most` bytes.
fn bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= most) {
        Ok(text)
    } else {
        Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any snapshot"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = bounded(Path::new("/dev/zero"), 1 << 16).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(bounded(Path::new("/dev/null"), 0).unwrap(), Vec::<u8>::new());
    }
}
