//! What is done each minute: buffered scans are written, ticks of the core that need a clock and no scan are settled,
//! and whether the store can be written shows in readiness.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::http::Readiness;
use crate::metrics::Metrics;
use crate::operations::Office;
use crate::pulse::{For, Pulse};

/// The minute's work is done without a beat when none comes for so long.
const LATE_BEAT: Duration = Duration::from_secs(90);

/// Within what time the loop comes round, waiting for the store not counted.
pub(super) const ROUND: Duration = Duration::from_mins(4);

/// The minute's work.
#[derive(Debug)]
pub(super) struct Housekeeping {
    office: Arc<Office>,
    metrics: Arc<Metrics>,
    ready: watch::Sender<Readiness>,
    incidents: watch::Sender<u64>,
}

impl Housekeeping {
    pub(super) const fn new(
        office: Arc<Office>,
        metrics: Arc<Metrics>,
        ready: watch::Sender<Readiness>,
        incidents: watch::Sender<u64>,
    ) -> Self {
        Self { office, metrics, ready, incidents }
    }

    /// Works until `stop`.
    pub(super) async fn run(self, mut beats: mpsc::Receiver<()>, stop: CancellationToken, pulse: Pulse) {
        pulse.wait(For::Disk, self.count()).await;
        self.ready.send_replace(Readiness::Ready);
        loop {
            pulse.moved();
            tokio::select! {
                () = stop.cancelled() => return,
                beat = beats.recv() => {
                    if beat.is_none() {
                        return;
                    }
                }
                () = tokio::time::sleep(LATE_BEAT) => tracing::error!(
                    seconds = LATE_BEAT.as_secs(),
                    "the housekeeping beat is late"
                ),
            }
            pulse.wait(For::Disk, self.minute()).await;
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

    async fn minute(&self) {
        let flushed = self.office.store.flush_runs().await;
        let readiness = match flushed {
            Ok(_) => Readiness::Ready,
            Err(error) => {
                self.metrics.store_errors.with_label_values(&["flush"]).inc();
                tracing::error!(%error, "unchanged scans could not be written");
                Readiness::Failing(format!("the store cannot be written: {error}"))
            }
        };
        self.ready.send_replace(readiness);
        if let Err(refused) = self.office.tick().await {
            self.metrics.store_errors.with_label_values(&["commit"]).inc();
            tracing::error!(error = %refused, "the minute's tick could not be settled");
        }
        self.count().await;
    }
}
