//! The one integration binary: a file per behavior, and under `support` what the tests stand on.
//!
//! Real servers and SDKs come from `.peers/` (see `scripts/peers`). Every test starts what it needs, waits for events
//! and never for time to pass, and is bounded.

#[cfg(test)]
mod approve;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod deployment;
#[cfg(test)]
mod digest;
#[cfg(test)]
mod eras;
#[cfg(test)]
mod exposition;
#[cfg(test)]
mod faces;
#[cfg(test)]
mod facets;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod finding;
#[cfg(test)]
mod first_round;
#[cfg(test)]
mod gap;
#[cfg(test)]
mod handshake_checks;
#[cfg(test)]
mod init;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod month;
#[cfg(test)]
mod negative_tier;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod pinned_peers;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod posture;
#[cfg(test)]
mod put_back;
#[cfg(test)]
mod receivers;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod reminders;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod schedule;
#[cfg(test)]
mod self_offline;
#[cfg(test)]
mod sight;
#[cfg(test)]
mod sight_hosts;
#[cfg(test)]
mod sight_time;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod support;
#[cfg(test)]
mod support_smoke;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod transports;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod walk;
#[cfg(test)]
mod watchdog;
#[cfg(test)]
mod why;
