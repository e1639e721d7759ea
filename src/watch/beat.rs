//! What beats: `tokio-cron-scheduler` runs the dispatch tick each second and the housekeeping each minute.
//!
//! The crate can lose repeated jobs and freezes a zone's offset when a job is made, so nothing zoned or one-off is
//! given to it: two jobs of six fields in UTC, made once, and again where the wall clock was put back.

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
    // One beat may wait: a loop that is behind needs no second.
    let (dispatch_sender, dispatch) = mpsc::channel(1);
    let (housekeeping_sender, housekeeping) = mpsc::channel(1);
    let scheduler = scheduler(&dispatch_sender, &housekeeping_sender).await?;
    let beater = Beater { scheduler, dispatch: dispatch_sender, housekeeping: housekeeping_sender };
    Ok((beater, Beats { dispatch, housekeeping }))
}

async fn scheduler(
    dispatch: &mpsc::Sender<()>,
    housekeeping: &mpsc::Sender<()>,
) -> Result<JobScheduler, JobSchedulerError> {
    let scheduler = JobScheduler::new().await?;
    scheduler.add(job("* * * * * *", dispatch.clone())?).await?;
    scheduler.add(job("0 * * * * *", housekeeping.clone())?).await?;
    scheduler.start().await?;
    Ok(scheduler)
}

fn job(expression: &str, sender: mpsc::Sender<()>) -> Result<Job, JobSchedulerError> {
    Job::new(expression, move |_, _| {
        // A full channel means that a beat already waits.
        let _ = sender.try_send(());
    })
}

/// Keeps the beats coming.
pub struct Beater {
    scheduler: JobScheduler,
    dispatch: mpsc::Sender<()>,
    housekeeping: mpsc::Sender<()>,
}

impl std::fmt::Debug for Beater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Beater")
    }
}

impl Beater {
    /// Makes both jobs anew: the crate holds the next instant of each by the wall clock, and would keep still for as
    /// long as the clock was put back.
    pub async fn renew(&mut self) {
        match scheduler(&self.dispatch, &self.housekeeping).await {
            Ok(fresh) => Self::end(std::mem::replace(&mut self.scheduler, fresh)).await,
            Err(error) => tracing::error!(%error, "the scheduler cannot be made anew; beats come late"),
        }
    }

    /// Stops them.
    pub async fn stop(self) {
        Self::end(self.scheduler).await;
    }

    async fn end(mut scheduler: JobScheduler) {
        if let Err(error) = scheduler.shutdown().await {
            tracing::warn!(%error, "the scheduler did not stop cleanly");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beats_come_through_the_same_channels_from_a_scheduler_that_is_made_anew() {
        let (mut beater, mut beats) = start().await.unwrap();
        assert_eq!(beats.dispatch.recv().await, Some(()));
        beater.renew().await;
        // One may have waited since before; the next is of the new jobs.
        assert_eq!(beats.dispatch.recv().await, Some(()));
        assert_eq!(beats.dispatch.recv().await, Some(()));
        beater.stop().await;
    }
}
