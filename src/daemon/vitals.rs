//! What the daemon says of itself while it runs: whether its loops move, whether it is ready, and a line of status.
//!
//! A thread of its own looks once a second, so that a runtime that stands still is noticed and named too. It feeds the
//! service manager's watchdog as long as everything moves. Not being ready never stops the feeding: a store that is
//! slow or full is nothing that an abort mends.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::http::Readiness;
use crate::plan::InForce;
use crate::pulse::{Pulses, Slow, Stuck};
use crate::service_manager;

/// How often the thread looks.
const LOOK: Duration = Duration::from_secs(1);

/// What the thread looks at, and where it says what it found.
#[derive(Debug)]
pub(super) struct Vitals {
    /// Whether tasks move.
    pub(super) pulses: Pulses,
    /// Whether the store works, as housekeeping found.
    pub(super) store: watch::Receiver<Readiness>,
    /// Incidents that are open, as housekeeping counted.
    pub(super) incidents: watch::Receiver<u64>,
    /// For the number of targets.
    pub(super) plan: InForce,
    /// What `/-/ready` says.
    pub(super) ready: watch::Sender<Readiness>,
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watching {
    orders: Sender<String>,
    thread: JoinHandle<()>,
}

impl Watching {
    /// From here on the daemon is not ready, since it stops for the reason in `line`.
    pub(super) fn stopping(&self, line: &str) {
        // A thread that is gone says nothing more.
        let _ = self.orders.send(line.to_owned());
    }

    /// Waits until the thread has ended, so that what is said next is the last word.
    pub(super) fn end(self) {
        drop(self.orders);
        // One that panicked has told so.
        let _ = self.thread.join();
    }
}

impl Vitals {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn watch(self) -> io::Result<Watching> {
        let (sender, orders) = channel();
        let thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || self.run(&orders))?;
        Ok(Watching { orders: sender, thread })
    }

    fn run(self, orders: &Receiver<String>) {
        let mut food = Food::new(service_manager::watchdog());
        let (mut told, mut stands, mut stopping) = (String::new(), false, None);
        loop {
            let (stuck, now) = (self.pulses.stuck(Instant::now()), Instant::now());
            note(&mut stands, stuck);
            if stuck.is_none() && food.is_due(now) {
                service_manager::alive();
            }
            let readiness = readiness(stopping.as_deref(), &self.store.borrow(), self.pulses.slow(now));
            let line = self.line(stuck, &readiness);
            self.ready.send_if_modified(|before| {
                *before != readiness && {
                    *before = readiness;
                    true
                }
            });
            // A stop is told by who stops.
            if line != told && stopping.is_none() {
                service_manager::status(&line);
                told = line;
            }
            match orders.recv_timeout(food.look()) {
                Ok(why) => stopping = Some(why),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn line(&self, stuck: Option<Stuck>, readiness: &Readiness) -> String {
        if let Some(stuck) = stuck {
            return format!("stuck: {stuck}");
        }
        match readiness {
            Readiness::Starting => "starting".to_owned(),
            Readiness::Failing(why) => format!("not ready: {why}"),
            Readiness::Ready => {
                let (targets, incidents) = (self.plan.plan().targets.len(), *self.incidents.borrow());
                format!("{targets} target{}, {incidents} open incident{}", plural(targets == 1), plural(incidents == 1))
            }
        }
    }
}

/// Whether the daemon can be relied on: not while it stops, nor while the store fails or takes too long.
fn readiness(stopping: Option<&str>, store: &Readiness, slow: Option<Slow>) -> Readiness {
    match (stopping, store, slow) {
        (Some(why), _, _) => Readiness::Failing(why.to_owned()),
        (None, Readiness::Ready, Some(slow)) => Readiness::Failing(slow.to_string()),
        (None, Readiness::Ready | Readiness::Starting | Readiness::Failing(_), _) => store.clone(),
    }
}

const fn plural(is_one: bool) -> &'static str {
    if is_one { "" } else { "s" }
}

/// Tells once that a task stands, and once that all move again.
fn note(stands: &mut bool, stuck: Option<Stuck>) {
    match stuck {
        Some(stuck) if !*stands => tracing::error!(task = stuck.task, "{stuck}: the watchdog is not fed"),
        None if *stands => tracing::info!("all tasks move again"),
        Some(_) | None => {}
    }
    *stands = stuck.is_some();
}

/// When the watchdog is fed: at half the time that it allows, and looked after more often, so that what moves again in
/// between is still in time.
#[derive(Debug)]
struct Food {
    limit: Option<Duration>,
    fed: Option<Instant>,
}

impl Food {
    const fn new(limit: Option<Duration>) -> Self {
        Self { limit, fed: None }
    }

    /// Whether it is time; it is then taken as fed.
    fn is_due(&mut self, now: Instant) -> bool {
        let Some(limit) = self.limit else { return false };
        let due = self.fed.is_none_or(|fed| now.saturating_duration_since(fed) >= limit / 2);
        if due {
            self.fed = Some(now);
        }
        due
    }

    /// How long to wait before looking again.
    fn look(&self) -> Duration {
        self.limit.map_or(LOOK, |limit| LOOK.min(limit / 8).max(Duration::from_millis(10)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_fed_at_half_its_time() {
        let start = Instant::now();
        let mut food = Food::new(Some(Duration::from_secs(60)));
        let mut fed = Vec::new();
        for second in 0..=100 {
            if food.is_due(start + Duration::from_secs(second)) {
                fed.push(second);
            }
        }
        assert_eq!(fed, [0, 30, 60, 90]);
        assert_eq!(food.look(), LOOK);
        assert!(Food::new(Some(Duration::from_secs(2))).look() < Duration::from_secs(1) / 2);
    }

    #[test]
    fn a_slow_store_is_not_ready_and_neither_is_a_daemon_that_stops() {
        let slow = Some(Slow { task: "delivery", waits: Duration::from_secs(12) });
        let failing = |why: &str| Readiness::Failing(why.to_owned());
        assert_eq!(readiness(None, &Readiness::Ready, None), Readiness::Ready);
        let why = "the store is slow: task delivery has waited 12 s for it";
        assert_eq!(readiness(None, &Readiness::Ready, slow), failing(why));
        assert_eq!(readiness(None, &failing("no space is left"), slow), failing("no space is left"));
        assert_eq!(
            readiness(Some("stopping: asked by SIGTERM"), &Readiness::Ready, slow),
            failing("stopping: asked by SIGTERM")
        );
    }

    #[test]
    fn who_is_not_watched_feeds_nobody() {
        assert!(!Food::new(None).is_due(Instant::now()));
    }
}
