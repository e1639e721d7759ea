//! `driftd` watches MCP servers for drift: it scans what an inventory names, compares each snapshot with the baseline
//! that was accepted for it, and tells people what changed, whom it hurts and what to do.
//!
//! Modules in reading order; `docs/ARCHITECTURE.md` has the picture and the reasons.

pub mod backoff;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod crash;
pub mod daemon;
pub mod deliver;
pub mod demo;
pub mod fleet;
pub mod http;
pub mod judge;
pub mod logging;
pub mod metrics;
pub mod model;
pub mod net;
pub mod operations;
pub mod plan;
pub mod probe;
pub mod pulse;
pub mod receiver;
pub mod reload;
pub mod scan;
pub mod secret;
pub mod service_manager;
pub mod serving;
pub mod signals;
pub mod store;
pub mod supervise;
pub mod watch;
