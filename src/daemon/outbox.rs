//! What joins the outbox loop to the store, to secrets and to the counters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;

use crate::deliver::condition::{self, Report, Say};
use crate::deliver::{Outbox, Record, Sender, Tally};
use crate::judge::notices::{Desk, fold_notices, next_digest};
use crate::metrics::Metrics;
use crate::model::bulletin::Bulletin;
use crate::model::condition::{Condition, Fate};
use crate::model::incident::{Incident, IncidentId};
use crate::model::notice::{Body, Message};
use crate::model::secret::SecretRef;
use crate::plan::{InForce, Live};
use crate::receiver::error::{DeliveryError, Reason};
use crate::receiver::{Receivers, Secrets};
use crate::secret::Environment;
use crate::store::{Store, StoreError, Tried};

/// The store, as what holds what is owed, and the plan that says to whom.
#[derive(Clone, Debug)]
pub struct StoreOutbox {
    store: Store,
    plan: InForce,
    /// When what is due was last looked for.
    looked: Arc<Mutex<Option<Timestamp>>>,
}

/// How often it is looked at whether a receiver that left is back; a reload that brings it back looks at once.
pub(super) const GONE_FOR: Duration = Duration::from_hours(1);

impl Outbox for StoreOutbox {
    type Error = StoreError;

    async fn fold_due(&self, now: Timestamp) -> Result<(), StoreError> {
        self.follow_clock(now).await?;
        let waiting = self.store.due_notices(now).await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<IncidentId> = waiting.iter().map(|notice| notice.incident).collect();
        let told = self.store.told(&ids.iter().copied().collect::<Vec<_>>()).await?;
        let undelivered = self.store.undelivered().await?;
        let mut incidents: BTreeMap<IncidentId, Incident> = BTreeMap::new();
        for id in ids {
            incidents.extend(self.store.incident(id).await?.map(|incident| (id, incident)));
        }
        let newest = incidents.values().map(|incident| (incident.id, incident.revision));
        let wanted: BTreeSet<(IncidentId, u32)> =
            waiting.iter().map(|notice| (notice.incident, notice.revision)).chain(newest).collect();
        let mut bodies: BTreeMap<(IncidentId, u32), Body> = BTreeMap::new();
        for (incident, revision) in wanted {
            let body = self.store.revision(incident, revision, None).await?;
            bodies.extend(body.map(|body| ((incident, revision), body)));
        }
        let plan = self.plan.plan();
        let fold = {
            let desk = Desk {
                revisions: &|incident, revision| bodies.get(&(incident, revision)).cloned(),
                incidents: &|id| incidents.get(&id).cloned(),
                told: &told,
                undelivered: &undelivered,
                routes: &plan.routes,
                receivers: &plan.receivers,
            };
            fold_notices(&waiting, &desk, now)
        };
        self.store.fold(&fold).await
    }

    async fn due_messages(&self, now: Timestamp) -> Result<Vec<Message>, StoreError> {
        let plan = self.plan.plan();
        let (due, gone): (Vec<_>, Vec<_>) =
            self.store.due_messages(now).await?.into_iter().partition(|due| plan.receivers.contains(&due.receiver));
        for message in gone {
            let until = now.saturating_add(GONE_FOR).unwrap_or(Timestamp::MAX);
            self.store.hold_receiver(&message.receiver, until).await?;
        }
        Ok(due)
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.store.next_due(now).await
    }

    async fn condition(&self, receiver: &str) -> Result<Condition, StoreError> {
        self.store.condition(receiver).await
    }

    async fn record(&self, record: &Record, now: Timestamp) -> Result<(), StoreError> {
        let posts = match record.say {
            Some(say) => self.posts(record, say, now).await?,
            None => Vec::new(),
        };
        let tried = Tried {
            message: &record.message,
            receiver: &record.receiver,
            fate: &record.fate,
            condition: &record.condition,
            recovered: matches!(record.say, Some(Say::Recovered { .. })),
            posts: &posts,
        };
        self.store.writer().await.tried(&tried, now).await
    }
}

impl StoreOutbox {
    /// What is owed by `store`, to the receivers of `plan`.
    pub fn new(store: Store, plan: InForce) -> Self {
        Self { store, plan, looked: Arc::default() }
    }

    /// Sees to it that nothing waits for a time that was put back, before this start or since the last look.
    async fn follow_clock(&self, now: Timestamp) -> Result<(), StoreError> {
        let looked = *self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_none_or(|looked| looked > now) {
            self.store.put_back(now, next_digest(now)).await?;
        }
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        Ok(())
    }

    /// What the other receivers are told of one, and which: of an end those who were told the beginning, of all else
    /// those that take messages themselves. Where there are none, log and metrics tell it alone.
    async fn posts(
        &self,
        record: &Record,
        say: Say,
        now: Timestamp,
    ) -> Result<Vec<(Bulletin, Vec<String>)>, StoreError> {
        let Record { message, receiver, fate, condition, .. } = record;
        let plan = self.plan.plan();
        if !plan.receivers.contains(receiver) {
            // Who takes a receiver out of the configuration needs nobody to say that it gets nothing any more.
            return Ok(Vec::new());
        }
        let others: Vec<String> = plan.receivers.iter().filter(|other| *other != receiver).cloned().collect();
        let counts = self.store.pending_counts().await?;
        let mine = counts.iter().find(|pending| pending.receiver == *receiver);
        let (gone, error) = match fate {
            Fate::Sent => ((1, 0), ""),
            Fate::Again { error, .. } => ((0, 0), error.as_str()),
            Fate::Dead { error, .. } => ((1, 1), error.as_str()),
        };
        let bulletin = condition::bulletin(&Report {
            say,
            receiver,
            condition,
            // The counts are of before this try.
            waiting: mine.map_or(0, |mine| mine.messages).saturating_sub(gone.0),
            given_up: mine.map_or(0, |mine| mine.dead).saturating_add(gone.1),
            message,
            error,
            now,
        });
        let to = match say {
            Say::Recovered { since } => self.told_failing(receiver, since, &bulletin, &others).await?,
            Say::Failing | Say::Suspended | Say::GivenUp => {
                let conditions = self.store.conditions().await?;
                let suspended =
                    |name: &String| conditions.iter().any(|(other, it)| other == name && it.suspended.is_some());
                others.into_iter().filter(|name| !suspended(name)).collect()
            }
        };
        Ok(vec![(bulletin, to)])
    }

    async fn told_failing(
        &self,
        receiver: &str,
        since: Timestamp,
        like: &Bulletin,
        others: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let mut told = BTreeSet::new();
        for key in condition::failing_keys(receiver, since) {
            told.extend(self.store.posted(&Bulletin { key, ..like.clone() }, others).await?);
        }
        Ok(told.into_iter().collect())
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
