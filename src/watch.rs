//! The loop: due targets, bounded concurrency.

pub mod queue;
pub mod schedule;
