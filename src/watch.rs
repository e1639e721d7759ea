//! The loop: due targets, bounded concurrency.
