//! What joins the outbox loop to the store, to secrets and to the counters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;

use crate::deliver::{Outbox, Sender, Tally};
use crate::judge::notices::fold_notices;
use crate::metrics::Metrics;
use crate::model::incident::IncidentId;
use crate::model::notice::{Body, Message};
use crate::model::secret::SecretRef;
use crate::plan::{InForce, Live};
use crate::receiver::error::{DeliveryError, Reason};
use crate::receiver::{Receivers, Secrets};
use crate::secret::Environment;
use crate::store::{Store, StoreError};

/// The store, as what holds what is owed.
#[derive(Clone, Debug)]
pub(super) struct StoreOutbox(pub(super) Store, pub(super) InForce);

/// How often it is looked at whether a receiver that left is back; a reload that brings it back looks at once.
pub(super) const GONE_FOR: Duration = Duration::from_hours(1);

impl Outbox for StoreOutbox {
    type Error = StoreError;

    async fn fold_due(&self, now: Timestamp) -> Result<(), StoreError> {
        let waiting = self.0.due_notices(now).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let incidents: BTreeSet<IncidentId> = waiting.iter().map(|notice| notice.incident).collect();
        let told = self.0.told(&incidents.into_iter().collect::<Vec<_>>()).await?;
        let mut bodies: BTreeMap<(IncidentId, u32), Body> = BTreeMap::new();
        for notice in &waiting {
            let body = self.0.revision(notice.incident, notice.revision, None).await?;
            if let Some(body) = body {
                bodies.insert((notice.incident, notice.revision), body);
            }
        }
        let folded =
            fold_notices(&waiting, &|incident, revision| bodies.get(&(incident, revision)).cloned(), &told, now);
        self.0.fold(&folded.messages, &folded.dropped).await
    }

    async fn due_messages(&self, now: Timestamp) -> Result<Vec<Message>, StoreError> {
        let plan = self.1.plan();
        let (due, gone): (Vec<_>, Vec<_>) =
            self.0.due_messages(now).await?.into_iter().partition(|due| plan.receivers.contains(&due.receiver));
        for message in gone {
            let until = now.saturating_add(GONE_FOR).unwrap_or(Timestamp::MAX);
            self.0.hold_receiver(&message.receiver, until).await?;
        }
        Ok(due)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.0.next_due().await
    }

    async fn mark_sent(&self, id: &str, at: Timestamp) -> Result<(), StoreError> {
        self.0.mark_sent(id, at).await
    }

    async fn mark_failed(&self, id: &str, attempts: u32, next_at: Timestamp, error: &str) -> Result<(), StoreError> {
        self.0.mark_failed(id, attempts, next_at, error).await
    }

    async fn mark_dead(&self, id: &str, attempts: u32, error: &str) -> Result<(), StoreError> {
        self.0.mark_dead(id, attempts, error).await
    }
}

/// Secrets of receivers, read at each use.
#[derive(Clone, Debug)]
pub(super) struct StoredSecrets(pub(super) Environment);

impl Secrets for StoredSecrets {
    fn read(&self, reference: &SecretRef) -> Option<SecretString> {
        self.0.read(reference).ok()
    }
}

/// The receivers of the moment.
#[derive(Clone, Debug)]
pub(super) struct Post(pub(super) Live<Receivers>);

impl Sender for Post {
    async fn send(&self, message: &Message, now: Timestamp) -> Result<(), DeliveryError> {
        self.0.get().send(message, now).await
    }
}

/// Counts deliveries, to receivers that there are.
#[derive(Clone, Debug)]
pub(super) struct Counted(pub(super) Arc<Metrics>, pub(super) InForce);

impl Counted {
    fn count(&self, receiver: &str, outcome: &str, reason: Option<Reason>) {
        // The series of one that left have left with it.
        if self.1.plan().receivers.iter().any(|known| known == receiver) {
            self.0.notifications.with_label_values(&[receiver, outcome]).inc();
            if let Some(reason) = reason {
                self.0.notifications_failed.with_label_values(&[receiver, reason.as_str()]).inc();
            }
        }
    }
}

impl Tally for Counted {
    fn sent(&self, receiver: &str) {
        self.count(receiver, "sent", None);
    }

    fn failed(&self, receiver: &str, reason: Reason) {
        self.count(receiver, "failed", Some(reason));
    }

    fn dead(&self, receiver: &str, reason: Reason) {
        self.count(receiver, "given_up", Some(reason));
    }

    fn store_failed(&self, _operation: &'static str) {
        self.0.store_errors.with_label_values(&["outbox"]).inc();
    }
}
