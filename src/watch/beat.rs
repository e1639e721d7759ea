//! What beats: `tokio-cron-scheduler` runs the dispatch tick each second and the housekeeping each minute.
//!
//! The crate can lose repeated jobs and freezes a zone's offset when a job is made, so nothing zoned or one-off is
//! given to it: two jobs of six fields in UTC, made once.

use tokio::sync::mpsc;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

/// The two beats.
#[derive(Debug)]
pub struct Beats {
    /// Each second.
    pub dispatch: mpsc::Receiver<()>,
    /// Each minute.
    pub housekeeping: mpsc::Receiver<()>,
}

/// Starts the scheduler; it beats until it is stopped.
///
/// # Errors
/// When the scheduler refuses a job or does not start.
pub async fn start() -> Result<(Beater, Beats), JobSchedulerError> {
    let scheduler = JobScheduler::new().await?;
    // One beat may wait: a loop that is behind needs no second.
    let (dispatch_sender, dispatch) = mpsc::channel(1);
    let (housekeeping_sender, housekeeping) = mpsc::channel(1);
    scheduler.add(job("* * * * * *", dispatch_sender)?).await?;
    scheduler.add(job("0 * * * * *", housekeeping_sender)?).await?;
    scheduler.start().await?;
    Ok((Beater(scheduler), Beats { dispatch, housekeeping }))
}

fn job(expression: &str, sender: mpsc::Sender<()>) -> Result<Job, JobSchedulerError> {
    Job::new(expression, move |_, _| {
        // A full channel means that a beat already waits.
        let _ = sender.try_send(());
    })
}

/// Keeps the beats coming.
pub struct Beater(JobScheduler);

impl std::fmt::Debug for Beater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Beater")
    }
}

impl Beater {
    /// Stops them.
    pub async fn stop(mut self) {
        if let Err(error) = self.0.shutdown().await {
            tracing::warn!(%error, "the scheduler did not stop cleanly");
        }
    }
}
