//! Numbers and chains what one settlement adds to the ledger.

use jiff::Timestamp;

use super::Scene;
use crate::model::digest::Digest;
use crate::model::facet::FacetName;
use crate::model::ledger::{Action, LedgerEntry};
use crate::model::memory::LedgerHead;
use crate::model::pointer::Pointer;
use crate::model::target::TargetId;

/// Entries of one decision, on the head that memory had.
#[derive(Debug)]
pub(super) struct Chain {
    head: LedgerHead,
    entries: Vec<LedgerEntry>,
    decision: String,
    target: TargetId,
    at: Timestamp,
    who: String,
    reason: Option<String>,
    ticket: Option<String>,
    until: Option<Timestamp>,
}

/// What differs from entry to entry of one decision.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) facet: FacetName,
    pub(super) path: Pointer,
    pub(super) before: Option<Digest>,
    pub(super) after: Option<Digest>,
    pub(super) rule: Option<String>,
    pub(super) action: Action,
}

impl Draft {
    pub(super) const fn accept(facet: FacetName, path: Pointer) -> Self {
        Self { facet, path, before: None, after: None, rule: None, action: Action::Accept }
    }
}

impl Chain {
    /// An empty chain of a decision by `who`, after what the settlement has entered already.
    pub(super) fn new(scene: &Scene<'_>, entered: &[LedgerEntry], who: &str) -> Self {
        let head = entered.last().map(|entry| LedgerHead { no: entry.no, hash: entry.hash() });
        let head = head.unwrap_or(scene.memory.ledger);
        let at = scene.now.as_millisecond().to_string();
        let seed = Digest::of_parts([scene.target.id.to_string(), who.to_owned(), at, head.hash.hex()]);
        Self {
            head,
            entries: Vec::new(),
            decision: format!("d-{}", seed.hex().chars().take(16).collect::<String>()),
            target: scene.target.id.clone(),
            at: scene.now,
            who: who.to_owned(),
            reason: None,
            ticket: None,
            until: None,
        }
    }

    /// With a reason in every entry.
    pub(super) fn because(self, reason: Option<&str>) -> Self {
        Self { reason: reason.map(str::to_owned), ..self }
    }

    /// With the author's words in every entry.
    pub(super) fn by(scene: &Scene<'_>, author: &crate::judge::decide::Author) -> Self {
        Self {
            reason: author.reason.clone(),
            ticket: author.ticket.clone(),
            until: author.until,
            ..Self::new(scene, &[], &author.who)
        }
    }

    /// Adds an entry and gives its number.
    pub(super) fn push(&mut self, draft: Draft) -> u64 {
        let entry = LedgerEntry {
            no: self.head.no + 1,
            decision: self.decision.clone(),
            at: self.at,
            target: self.target.clone(),
            facet: draft.facet,
            path: draft.path,
            before: draft.before,
            after: draft.after,
            rule: draft.rule,
            action: draft.action,
            who: self.who.clone(),
            reason: self.reason.clone(),
            ticket: self.ticket.clone(),
            until: self.until,
            prev: self.head.hash,
        };
        self.head = LedgerHead { no: entry.no, hash: entry.hash() };
        self.entries.push(entry);
        self.head.no
    }

    pub(super) fn into_entries(self) -> Vec<LedgerEntry> {
        self.entries
    }
}
