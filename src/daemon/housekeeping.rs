//! What is done beside scanning: the ledger is followed once, and each minute buffered scans are written, ticks of the
//! core that need a clock and no scan are settled, what is old is pruned in small steps, and a backup is made when one
//! is due.
//!
//! It also answers for readiness as far as the store goes: at once when a write fails, whoever wrote, and again at
//! once when one succeeds. While none does, it tries by itself. A store that SQLite calls damaged stays not ready: that some
//! of its pages can still be written does not make it whole.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::http::Readiness;
use crate::metrics::Metrics;
use crate::operations::Office;
use crate::pulse::{For, Pulse};
use crate::store::{Health, LedgerCheck, StoreError};

mod backups;
mod daily;
mod pruning;

use backups::Copies;
use daily::Daily;
use pruning::Pruning;

/// How long after a failed write the store is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// The minute's work is done without a beat when none comes for so long.
const LATE_BEAT: Duration = Duration::from_secs(90);

/// Within what time the loop comes round, waiting for the store not counted.
pub(super) const ROUND: Duration = Duration::from_mins(4);

/// How often it is looked whether the first round of new targets is done: who set driftd up waits for its report.
const NEWCOMERS: Duration = Duration::from_secs(5);

/// The minute's work.
#[derive(Debug)]
pub(super) struct Housekeeping {
    office: Arc<Office>,
    metrics: Arc<Metrics>,
    ready: watch::Sender<Readiness>,
    incidents: watch::Sender<u64>,
    asked: mpsc::Receiver<oneshot::Sender<()>>,
}

/// How far the works are that take longer than a minute.
#[derive(Debug)]
struct Work {
    copies: Copies,
    pruning: Pruning,
    daily: Daily,
}

/// Has the minute's work done out of turn, and waits for it: for who moves wall time and wants to see what follows.
#[derive(Clone, Debug)]
pub struct Housekeeper(mpsc::Sender<oneshot::Sender<()>>);

impl Housekeeper {
    pub(super) fn new() -> (Self, mpsc::Receiver<oneshot::Sender<()>>) {
        let (sender, asked) = mpsc::channel(1);
        (Self(sender), asked)
    }

    /// Whether it was done: not when the daemon has stopped.
    pub async fn minute(&self) -> bool {
        let (done, was_done) = oneshot::channel();
        self.0.send(done).await.is_ok() && was_done.await.is_ok()
    }
}

impl Housekeeping {
    pub(super) const fn new(
        office: Arc<Office>,
        metrics: Arc<Metrics>,
        ready: watch::Sender<Readiness>,
        incidents: watch::Sender<u64>,
        asked: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Self {
        Self { office, metrics, ready, incidents, asked }
    }

    /// Works until `stop`.
    pub(super) async fn run(mut self, mut beats: mpsc::Receiver<()>, stop: CancellationToken, pulse: Pulse) {
        pulse.wait(For::Disk, self.count()).await;
        let mut health = self.office.store.health();
        self.show(&health.borrow_and_update());
        let now = self.office.clock.now();
        let mut work = Work { copies: Copies::default(), pruning: Pruning::default(), daily: Daily::new(now) };
        work.copies.start_if_due(&self.office, now);
        // A ledger grows for ever: nobody waits for it to be followed.
        let mut verifying = JoinSet::new();
        let office = Arc::clone(&self.office);
        verifying.spawn(async move { office.store.verify_ledger().await });
        let mut late = std::pin::pin!(tokio::time::sleep(LATE_BEAT));
        let mut newcomers = tokio::time::interval(NEWCOMERS);
        newcomers.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pulse.moved();
            let failing = matches!(*health.borrow(), Health::Failing(_));
            tokio::select! {
                () = stop.cancelled() => return,
                changed = health.changed() => match changed {
                    Ok(()) => self.show(&health.borrow_and_update()),
                    Err(_) => return,
                },
                () = tokio::time::sleep(TRY_AGAIN), if failing => pulse.wait(For::Disk, self.try_store()).await,
                Some(verified) = verifying.join_next() => {
                    // Its words may quote what was read; the log has its place.
                    self.tell_ledger(verified.unwrap_or_else(|_| Err(StoreError::Other("the check broke".to_owned()))));
                }
                _ = newcomers.tick() => self.report_newcomers().await,
                made = work.copies.next() => work.copies.tell(made, &self.metrics, self.office.clock.now()),
                beat = beats.recv() => {
                    if beat.is_none() {
                        return;
                    }
                    late.set(tokio::time::sleep(LATE_BEAT));
                    pulse.wait(For::Disk, self.minute(&mut work)).await;
                }
                Some(done) = self.asked.recv() => {
                    pulse.wait(For::Disk, self.minute(&mut work)).await;
                    // Who asked may have gone.
                    let _ = done.send(());
                }
                () = &mut late => {
                    tracing::error!(seconds = LATE_BEAT.as_secs(), "the housekeeping beat is late");
                    late.set(tokio::time::sleep(LATE_BEAT));
                    pulse.wait(For::Disk, self.minute(&mut work)).await;
                }
            }
        }
    }

    /// Counts what is open, for the line of status.
    async fn count(&self) {
        match self.office.store.gauges(self.office.clock.now()).await {
            Ok(gauges) => {
                let open = gauges.incidents.iter().map(|count| count.incidents).sum();
                self.incidents.send_replace(open);
            }
            Err(error) => {
                self.metrics.store_errors.with_label_values(&["read"]).inc();
                tracing::error!(%error, "open incidents could not be counted");
            }
        }
    }

    fn show(&self, health: &Health) {
        let readiness = match health {
            Health::Fine => Readiness::Ready,
            Health::Failing(why) => Readiness::Failing(format!("the store cannot be written: {why}")),
            Health::Damaged(why) => {
                Readiness::Failing(format!("{why}; driftd stays not ready until it is started anew on a whole store"))
            }
        };
        self.ready.send_if_modified(|known| {
            let differs = *known != readiness;
            match &readiness {
                Readiness::Failing(why) if differs => tracing::error!(why, "not ready"),
                Readiness::Ready if differs && *known != Readiness::Starting => tracing::info!("ready again"),
                Readiness::Failing(_) | Readiness::Ready | Readiness::Starting => {}
            }
            *known = readiness;
            differs
        });
    }

    /// Follows from what the ledger's chain is. A broken one is told loudly and keeps nobody from being watched.
    fn tell_ledger(&self, verified: Result<LedgerCheck, StoreError>) {
        match verified {
            Ok(LedgerCheck::Whole { .. }) => self.metrics.tell_ledger(true),
            Ok(LedgerCheck::Broken { no, fault }) => {
                self.metrics.tell_ledger(false);
                tracing::error!(
                    entry = no,
                    fault = fault.as_str(),
                    "the ledger's chain is broken: somebody changed the store behind driftd"
                );
            }
            Err(error) => self.failed("read", &error, "the ledger could not be read"),
        }
    }

    async fn try_store(&self) {
        if let Err(error) = self.office.store.try_write(self.office.clock.now()).await {
            self.failed("probe", &error, "the store still cannot be written");
        }
    }

    async fn report_newcomers(&self) {
        if let Some(daemon) = &self.office.daemon
            && let Err(error) = daemon.scanner.fleet().report_newcomers().await
        {
            self.failed("commit", &error, "the first round of new targets could not be told; it is told the next time");
        }
    }

    async fn minute(&self, work: &mut Work) {
        if let Err(error) = self.office.store.flush_runs().await {
            self.failed("flush", &error, "unchanged scans could not be written");
        }
        // Nothing may have been written: what the store can do must not wait for the next drift to be known.
        self.try_store().await;
        if let Err(refused) = self.office.tick().await {
            self.metrics.store_errors.with_label_values(&["commit"]).inc();
            tracing::error!(error = %refused, "the minute's tick could not be settled");
        }
        if let Some(daemon) = &self.office.daemon
            && let Err(error) = daemon.scanner.minute().await
        {
            self.failed("commit", &error, "rounds over the fleet could not be told; they are told the next time");
        }
        let now = self.office.clock.now();
        if let Err(error) = work.pruning.minute(&self.office.store, self.office.plan.plan().retention, now).await {
            self.failed("prune", &error, "what is old could not be removed");
        }
        work.copies.start_if_due(&self.office, now);
        if let Err(refused) = work.daily.minute(&self.office, now).await {
            self.metrics.store_errors.with_label_values(&["commit"]).inc();
            tracing::error!(error = %refused, "what changed with driftd itself could not be told");
        }
        self.count().await;
    }

    fn failed(&self, operation: &'static str, error: &StoreError, what: &'static str) {
        self.metrics.store_errors.with_label_values(&[operation]).inc();
        tracing::error!(%error, "{what}");
    }
}
