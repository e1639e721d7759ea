//! A message and secrets for tests.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde_json::json;

use super::{Limits, Secrets};
use crate::model::notice::{Body, Message, MessageState};
use crate::model::secret::SecretRef;

/// The message `id` for `receiver`, folded at the epoch's billionth second.
pub(crate) fn message(id: &str, receiver: &str) -> Message {
    let at = jiff::Timestamp::from_second(1_000_000_000).unwrap();
    let alert = json!({
        "schema": "driftd.alert/1", "id": id, "type": "drift.opened", "at": at,
        "incident": {"id": "9XTB4", "revision": 1, "state": "open", "reason": null, "url": null},
        "severity": "high", "impact": ["breaking", "behavior"],
        "headline": "8 tools renamed, 2 gone; the old names fail",
        "summary": ["Every tool has a new name.", "Grüße, 你好: an old name fails."],
        "targets": [{"id": "everything", "kind": "mcp", "url": "http://tools.example.com/mcp", "labels": {}}],
        "consumers": [], "units": [], "more": 0,
        "before": {"digest": null, "accepted": null}, "after": {"digest": null, "version": null}, "unseen": [],
        "commands": {"accept": "", "accept_except": "", "reject": "", "ack": ""},
        "ledger": {"entry": 4814, "head": "c61b77f0"},
        "evidence": {"seen_at": [], "protocol": "", "read": [], "version_before": null},
    });
    let alert = serde_json::from_value(alert).unwrap();
    Message {
        id: id.to_owned(),
        receiver: receiver.to_owned(),
        incident: "9XTB4".parse().ok(),
        body: Body { alert, full_diff: "- old\n+ new\n".to_owned(), reply: false },
        state: MessageState::Pending,
        attempts: 0,
        next_at: at,
        error: None,
        at,
        sent_at: None,
    }
}

/// Secrets by the name of their variable.
#[derive(Debug, Default)]
pub(crate) struct Known(pub(crate) BTreeMap<&'static str, String>);

impl Secrets for Known {
    fn read(&self, reference: &SecretRef) -> Option<SecretString> {
        match reference {
            SecretRef::Env(name) => self.0.get(name.as_str()).cloned().map(SecretString::from),
            SecretRef::File(_) | SecretRef::Credential(_) => None,
        }
    }
}

/// The usual limits, names unchecked.
pub(crate) const fn limits() -> Limits {
    Limits::new(|_| true)
}
