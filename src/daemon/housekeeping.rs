//! What is done each minute: buffered scans are written, ticks of the core that need a clock and no scan are settled,
//! and whether the store can be written shows in readiness.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::http::Readiness;
use crate::metrics::Metrics;
use crate::operations::Office;

/// The minute's work.
#[derive(Debug)]
pub(super) struct Housekeeping {
    office: Arc<Office>,
    metrics: Arc<Metrics>,
    ready: watch::Sender<Readiness>,
}

impl Housekeeping {
    pub(super) const fn new(office: Arc<Office>, metrics: Arc<Metrics>, ready: watch::Sender<Readiness>) -> Self {
        Self { office, metrics, ready }
    }

    /// Works until `stop`.
    pub(super) async fn run(self, mut beats: mpsc::Receiver<()>, stop: CancellationToken) {
        self.ready.send_replace(Readiness::Ready);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                beat = beats.recv() => {
                    if beat.is_none() {
                        return;
                    }
                    self.minute().await;
                }
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
            tracing::error!(%refused, "the minute's tick could not be settled");
        }
    }
}
