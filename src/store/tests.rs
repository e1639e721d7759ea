//! The store against real files.

mod atomic;
mod copies;
mod crash;
mod decisions;
mod fixtures;
mod keeping;
mod life;
mod load;
mod opening;
mod outbox;
mod scans;
