//! What is owed to a receiver, and the messages that pay it (law 5).

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::alert::{Alert, AlertType};
use super::incident::{EndReason, IncidentId};
use super::rule::{Impact, Severity};
use super::target::TargetId;

/// A change of an incident that may be owed to somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: AlertType,
    /// The incident.
    pub incident: IncidentId,
    /// Its revision after it.
    pub revision: u32,
    /// Whose.
    pub target: TargetId,
    /// The worst that stands, or stood.
    pub severity: Severity,
    /// All impacts.
    pub impact: Vec<Impact>,
    /// Some unit of it is told at once where no route says otherwise; else it can wait for the digest.
    pub urgent: bool,
    /// For an end: why.
    pub reason: Option<EndReason>,
    /// When.
    pub at: Timestamp,
}

/// One row for each receiver and event; committed with the change that owes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Hash of receiver, incident, revision and event.
    pub id: String,
    /// The receiver's name.
    pub receiver: String,
    /// The incident.
    pub incident: IncidentId,
    /// Its revision.
    pub revision: u32,
    /// What happened.
    pub event: AlertType,
    /// What it is folded into.
    pub lane: Lane,
    /// When it may be folded.
    pub due_at: Timestamp,
    /// When it was made.
    pub at: Timestamp,
}

/// What a notice is folded into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// A message about its incident.
    Message,
    /// The receiver's next digest, unless a message about its incident is due before.
    Digest,
}

impl Lane {
    /// The word in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Digest => "digest",
        }
    }
}

/// A message, the notices it pays, and what its receiver is told by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The message.
    pub message: Message,
    /// Ids of the notices.
    pub notices: Vec<String>,
    /// What its receiver knows from now on.
    pub told: Vec<Told>,
}

/// What becomes of waiting notices; all of it, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    /// Messages.
    pub payments: Vec<Payment>,
    /// Notices that pay nothing any more: history.
    pub dropped: Vec<String>,
    /// Notices that wait longer.
    pub put_off: Vec<PutOff>,
    /// What is owed from now on: reminders.
    pub owed: Vec<Notice>,
}

/// A notice that waits longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutOff {
    /// Its id.
    pub id: String,
    /// What it will be folded into.
    pub lane: Lane,
    /// When it may be folded.
    pub due_at: Timestamp,
}

/// What a receiver has been told of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The receiver's name.
    pub receiver: String,
    /// The incident.
    pub incident: IncidentId,
    /// The newest revision told.
    pub revision: u32,
    /// The newest thing told.
    pub event: AlertType,
    /// When.
    pub at: Timestamp,
}

/// A folded, rendered message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Hash of its notices' ids, or of a bulletin's key and the receiver; the same on every try.
    pub id: String,
    /// The receiver's name.
    pub receiver: String,
    /// The incident, for order and threads; none for a bulletin, which waits for the bulletins before it.
    pub incident: Option<IncidentId>,
    /// What it says.
    pub body: Body,
    /// Where it stands.
    pub state: MessageState,
    /// Tries so far.
    pub attempts: u32,
    /// When the next try is due.
    pub next_at: Timestamp,
    /// Why the last try failed, in our words.
    pub error: Option<String>,
    /// When it was folded.
    pub at: Timestamp,
    /// When it was delivered.
    pub sent_at: Option<Timestamp>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The document.
    pub alert: Alert,
    /// Every change in full, for the mail's attachment.
    pub full_diff: String,
    /// It answers an earlier message of its incident (`Re:`).
    pub reply: bool,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// To be sent, or to be sent again.
    Pending,
    /// Delivered.
    Sent,
    /// Given up at the end of the schedule, or refused for good; `alerts retry` sends it again.
    Dead,
}

impl MessageState {
    /// The word in documents and the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for MessageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which events go where, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// All of it must hold.
    pub matches: RouteMatch,
    /// Receivers' names.
    pub to: Vec<String>,
    /// Later routes are tried too.
    pub goes_on: bool,
    /// From the first notice of a group to its message.
    pub group_wait: std::time::Duration,
    /// Between messages of one group.
    pub group_interval: std::time::Duration,
    /// From one reminder of an undecided drift to the next: `None` is a day for high and above and never for less,
    /// nothing at all (a duration of zero) is never.
    pub repeat: Option<std::time::Duration>,
}

/// What a route asks of an event; what is `None` or empty asks nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteMatch {
    /// How severity compares.
    pub severity: Option<(Comparison, Severity)>,
    /// Labels of the target, all equal.
    pub labels: std::collections::BTreeMap<String, String>,
    /// One of these impacts.
    pub impact: Vec<Impact>,
    /// One of these targets.
    pub targets: Vec<TargetId>,
}

/// How a route compares severities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `=` or none
    Equal,
    /// `<=`
    AtMost,
}
