//! How often one place of the code may warn: a disk that is full for a month, or a peer that knows how to make us
//! complain, fills no log.
//!
//! Each `warn` and `error` has some lines at once and then waits for its time to be over; the next line says how many
//! were left out. Metrics count them all. `info` and below follow what people configured and are not limited.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// Lines of one place within [`WINDOW`].
pub(super) const BURST: u32 = 20;

/// The time that they are counted in.
pub(super) const WINDOW: Duration = Duration::from_mins(10);

/// What each place has said.
#[derive(Debug, Default)]
pub(super) struct Limit(Mutex<HashMap<Identifier, Said>>);

#[derive(Debug)]
struct Said {
    since: Instant,
    lines: u32,
    left_out: u64,
    /// Left out before, and not told yet.
    owed: u64,
}

impl Limit {
    /// Whether `place` may say another line at `now`.
    pub(super) fn admits(&self, place: Identifier, now: Instant) -> bool {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = places.entry(place).or_insert(Said { since: now, lines: 0, left_out: 0, owed: 0 });
        if now.saturating_duration_since(said.since) >= WINDOW {
            let owed = said.owed.saturating_add(said.left_out);
            *said = Said { since: now, lines: 0, left_out: 0, owed };
        }
        if said.lines < BURST {
            said.lines += 1;
            return true;
        }
        said.left_out += 1;
        false
    }

    /// How many lines of `place` were left out before the one that is written now.
    pub(super) fn left_out(&self, place: &Identifier) -> u64 {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.get_mut(place).map_or(0, |said| std::mem::take(&mut said.owed))
    }
}

/// The limit as a filter of events.
#[derive(Debug)]
pub(super) struct Limited(pub(super) std::sync::Arc<Limit>);

impl<S> Filter<S> for Limited {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        *event.metadata().level() > Level::WARN || self.0.admits(event.metadata().callsite(), Instant::now())
    }
}
