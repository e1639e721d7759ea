//! The store against real files.

mod atomic;
mod crash;
mod decisions;
mod fixtures;
mod life;
mod load;
mod opening;
mod outbox;
mod scans;
