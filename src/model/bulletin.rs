//! What is told of the fleet or of driftd itself, rather than of one incident.
//!
//! The report of a first round, our own changes, receivers that fail, digests, tests. It becomes an [`Alert`] without an
//! incident.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::alert::{
    ALERT_SCHEMA, Alert, AlertAfter, AlertBefore, AlertCommands, AlertEvidence, AlertLedger, AlertType,
};
use super::digest::Digest;
use super::notice::{Body, Message, MessageState};
use super::rule::{Impact, Severity};
use super::target::TargetSummary;

/// A message to people that belongs to no incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulletin {
    /// What happened.
    pub kind: AlertType,
    /// What makes it one: the same key is the same message, posted once.
    pub key: String,
    /// How bad.
    pub severity: Severity,
    /// The first is the main one.
    pub impact: Vec<Impact>,
    /// The one thing: `4 targets are watched now, 1 only in part`.
    pub headline: String,
    /// The first lines of a message.
    pub summary: Vec<String>,
    /// What follows.
    pub sections: Vec<Passage>,
    /// Whom it is about.
    pub targets: Vec<TargetSummary>,
}

impl Bulletin {
    /// What it says. The alert's `id` is empty: each receiver's message has its own.
    #[must_use]
    pub fn body(&self, now: Timestamp) -> Body {
        let alert = Alert {
            schema: ALERT_SCHEMA.to_owned(),
            id: String::new(),
            kind: self.kind,
            at: now,
            incident: None,
            severity: self.severity,
            impact: self.impact.clone(),
            headline: self.headline.clone(),
            summary: self.summary.clone(),
            passages: self.sections.clone(),
            targets: self.targets.clone(),
            consumers: Vec::new(),
            units: Vec::new(),
            more: 0,
            before: AlertBefore { digest: None, accepted: None },
            after: AlertAfter { digest: None, version: None },
            unseen: Vec::new(),
            commands: AlertCommands::default(),
            ledger: AlertLedger::default(),
            evidence: AlertEvidence::default(),
        };
        Body { alert, full_diff: String::new(), reply: false }
    }

    /// The message that tells `receiver` of it, due now.
    #[must_use]
    pub fn message(&self, receiver: &str, now: Timestamp) -> Message {
        let id = self.message_id(receiver);
        let mut body = self.body(now);
        body.alert.id.clone_from(&id);
        Message {
            id,
            receiver: receiver.to_owned(),
            incident: None,
            body,
            state: MessageState::Pending,
            attempts: 0,
            next_at: now,
            error: None,
            at: now,
            sent_at: None,
        }
    }

    /// The id of that message: the same key is the same message.
    #[must_use]
    pub fn message_id(&self, receiver: &str) -> String {
        let hex = Digest::of_parts([self.key.as_str(), receiver]).hex();
        format!("b-{}", hex.chars().take(32).collect::<String>())
    }
}

/// A part of a bulletin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Its heading, in our words.
    pub heading: String,
    /// Its lines; a peer's text in them is quoted already.
    pub lines: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_message_for_each_receiver() {
        let bulletin = |key: &str| Bulletin {
            kind: AlertType::FleetReport,
            key: key.to_owned(),
            severity: Severity::Info,
            impact: vec![Impact::Operational],
            headline: "4 targets are watched now".to_owned(),
            summary: Vec::new(),
            sections: Vec::new(),
            targets: Vec::new(),
        };
        let now = Timestamp::UNIX_EPOCH;
        let message = bulletin("report").message("mail", now);
        assert_eq!((message.body.alert.id.as_str(), message.incident), (message.id.as_str(), None));
        assert_eq!(message.id, bulletin("report").message("mail", Timestamp::MAX).id);
        assert_ne!(message.id, bulletin("report").message_id("hook"));
        assert_ne!(message.id, bulletin("other").message_id("mail"));
    }
}
