//! Who answers.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{Answer, Refused, Request};
use crate::clock::Clock;
use crate::model::target::TargetId;
use crate::plan::{InForce, Live};
use crate::receiver::Receivers;
use crate::reload::{self, Order};
use crate::scan::Scanner;
use crate::store::{Store, StoreError};
use crate::watch::Handle;
use crate::watch::schedule::Due;

/// Answers questions and takes decisions over the store; with a daemon around it, it also has scans made.
#[derive(Debug)]
pub struct Office {
    /// The store.
    pub store: Store,
    /// Wall time.
    pub clock: Clock,
    /// The inventory, and where messages go.
    pub plan: InForce,
    /// Where messages go.
    pub receivers: Live<Receivers>,
    /// The daemon's loop and its outbox, when there is a daemon.
    pub daemon: Option<Daemon>,
}

/// The parts of a daemon that an answer can need.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// The watch loop.
    pub watch: Handle,
    /// Wakes the outbox.
    pub wake_delivery: Arc<Notify>,
    /// Keeps targets in memory, and counts.
    pub scanner: Arc<Scanner>,
    /// Has the configuration read anew.
    pub reload: reload::Handle,
}

impl Office {
    /// Answers `request` of `who` (`person:NAME`).
    ///
    /// # Errors
    /// Says what cannot be answered, and how to mend it.
    pub async fn answer(&self, request: Request, who: &str) -> Result<Answer, Refused> {
        match request {
            Request::Targets {} => self.targets().await,
            Request::Target { id } => self.target(&id).await,
            Request::ScanNow { id } => self.scan_now(&id).await,
            Request::Drifts {} => self.drifts().await,
            Request::Drift { reference } => self.drift(&reference).await,
            Request::Accept(decision) => self.decide(super::decide::Act::Accept, decision, who).await,
            Request::Reject(decision) => self.decide(super::decide::Act::Reject, decision, who).await,
            Request::Ack(decision) => self.decide(super::decide::Act::Ack, decision, who).await,
            Request::Baseline { id } => self.baseline(&id).await,
            Request::BaselineAccept { id, digest, beside, reason, ticket } => {
                self.accept_baseline(&id, &digest, beside, reason, ticket, who).await
            }
            Request::Review {} => self.review().await,
            Request::Alerts {} => self.alerts().await,
            Request::Alert { id } => self.alert(&id).await,
            Request::Retry { id } => self.retry(id).await,
            Request::StoreCheck {} => Ok(Answer::StoreChecked(self.store.check().await?.into())),
            Request::LedgerVerify {} => Ok(Answer::LedgerVerified(self.store.verify_ledger().await?.into())),
            Request::Why { reference } => self.why(&reference).await,
            Request::Reload {} => self.renew(Order::Reload, who).await,
            Request::Release { file } => self.renew(Order::Release(file), who).await,
            Request::ReceiverTest { name } => self.receiver_test(&name).await,
            Request::History { target, limit } => self.history(target.as_deref(), limit).await,
        }
    }

    pub(super) fn is_paused(&self, id: &TargetId) -> bool {
        self.plan.plan().targets.get(id).is_some_and(|target| target.paused)
    }

    pub(super) fn next_scan(&self, id: &TargetId) -> Option<Due> {
        self.daemon.as_ref().and_then(|daemon| daemon.watch.next_scan(id))
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}
