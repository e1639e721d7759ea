//! Whether it is we who are offline: then what fails counts toward nothing (`scan.self-offline`).
//!
//! With `self_check` its URLs decide, and are asked only when something fails: while one answers, a mass outage is a
//! mass outage. Without it, most targets failing within a minute does; it is over when one of the hosts that failed
//! answers.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::Fleet;
use crate::judge::fleet::Hearing;
use crate::judge::report;
use crate::model::fleet::{BlindWhy, Blindness};
use crate::model::inventory::Target;
use crate::model::observation::{Observation, Outcome};
use crate::model::target::TargetId;
use crate::net::Door;
use crate::store::{StoreError, marks};

/// While nothing else tells that we are back, one target is asked this often.
const CANARY: SignedDuration = SignedDuration::from_mins(1);
/// Targets that are looked at as soon as we are back; the others come by their plan.
const AT_ONCE: usize = 64;

/// What a scan's end is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weighed {
    /// It counts; these are worth a look at once, for we are back.
    Counts(Vec<TargetId>),
    /// Nothing of it counts; it may be looked at again then, to find out whether we are back.
    SetAside(Option<Timestamp>),
}

/// What was heard of the fleet, and whether we are offline.
#[derive(Debug, Default)]
pub(super) struct Sky {
    hearing: Hearing,
    blind: Option<Blind>,
    until: Option<Timestamp>,
    /// That we are back, until it is written down.
    untold: Option<Back>,
}

/// A time in which we were offline, and is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Back {
    told: Blindness,
    set_aside: usize,
    at: Timestamp,
}

#[derive(Debug)]
struct Blind {
    told: Blindness,
    /// Hosts that failed.
    hosts: HashSet<String>,
    /// Targets whose failures were set aside, as far as they are looked at once we are back.
    targets: Vec<TargetId>,
    set_aside: usize,
    canary: Option<Timestamp>,
}

impl Sky {
    pub(super) fn resume(&mut self, blind: Option<Blindness>, until: Option<Timestamp>) {
        self.blind = blind.map(Blind::new);
        self.until = until;
    }

    pub(super) const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Begins to be blind, unless we are; whether we were not.
    fn begin(&mut self, why: BlindWhy, now: Timestamp) -> Option<Blindness> {
        if self.blind.is_some() {
            return None;
        }
        let told = Blindness { since: now, why };
        let mut blind = Blind::new(told);
        blind.hosts.extend(self.hearing.failing_hosts().map(str::to_owned));
        self.blind = Some(blind);
        Some(told)
    }

    /// Sets a failure aside, and says when its target may be looked at again.
    fn set_aside(&mut self, target: &TargetId, host: &str, now: Timestamp) -> Option<Timestamp> {
        let blind = self.blind.as_mut()?;
        blind.set_aside += 1;
        blind.hosts.insert(host.to_owned());
        if blind.targets.len() < AT_ONCE && !blind.targets.contains(target) {
            blind.targets.push(target.clone());
        }
        let waits = |canary: Timestamp| canary > now && now.duration_since(canary).abs() <= CANARY;
        if blind.canary.is_some_and(waits) {
            return None;
        }
        blind.canary = now.checked_add(CANARY).ok();
        blind.canary
    }

    /// We are back, if we were away; gives the targets to look at.
    fn end(&mut self, now: Timestamp) -> Option<Vec<TargetId>> {
        let blind = self.blind.take()?;
        self.until = Some(now);
        self.untold = Some(Back { told: blind.told, set_aside: blind.set_aside, at: now });
        self.hearing.clear();
        Some(blind.targets)
    }

    /// Whether that somebody on `host` answers says that we are back.
    fn is_back_by(&self, host: &str) -> bool {
        self.blind.as_ref().is_some_and(|blind| blind.hosts.is_empty() || blind.hosts.contains(host))
    }
}

impl Blind {
    fn new(told: Blindness) -> Self {
        Self { told, hosts: HashSet::new(), targets: Vec::new(), set_aside: 0, canary: None }
    }
}

impl Fleet {
    /// Takes in how a scan ended, and says whether that counts.
    pub async fn weigh(&self, door: &Door, target: &Target, observation: &Observation) -> Weighed {
        let (now, host) = (self.clock.now(), target.endpoint.host());
        let Some(reached) = reached(observation.outcome) else { return Weighed::Counts(Vec::new()) };
        let (is_blind, most_fail) = {
            let mut sky = self.sky();
            // A program of this machine says nothing of our network.
            if target.endpoint.url().is_some() {
                sky.hearing.hear(&target.id, host, reached, now);
            }
            (sky.blind.is_some(), sky.hearing.most_fail())
        };
        if (reached && !is_blind) || (target.endpoint.command().is_some() && (reached || !is_blind)) {
            return Weighed::Counts(Vec::new());
        }
        let plan = self.plan.plan();
        let urls = &plan.self_check.urls;
        let online = match (urls.is_empty(), reached) {
            (false, _) => self.checker.answers(door, urls, now).await,
            (true, true) => self.sky().is_back_by(host),
            (true, false) => !is_blind && !most_fail,
        };
        if online {
            return Weighed::Counts(if is_blind { self.back(now).await } else { Vec::new() });
        }
        if reached {
            // That it answers is its own, and says nothing of the others.
            return Weighed::Counts(Vec::new());
        }
        let why = if urls.is_empty() { BlindWhy::MostFail } else { BlindWhy::SelfCheck };
        self.go_blind(why, now).await;
        Weighed::SetAside(self.sky().set_aside(&target.id, host, now))
    }

    /// Whether we are back, where a reference of ours can tell without a scan; and what is still to be told of it.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn look_up(&self, door: &Door) -> Result<(), StoreError> {
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let urls = &plan.self_check.urls;
        let is_blind = self.sky().blind.is_some();
        if is_blind && !urls.is_empty() && self.checker.answers(door, urls, now).await {
            self.back(now).await;
        }
        let untold = self.sky().untold;
        if let Some(back) = untold { self.tell(&back).await } else { Ok(()) }
    }

    async fn go_blind(&self, why: BlindWhy, now: Timestamp) {
        let Some(blind) = self.sky().begin(why, now) else { return };
        self.metrics.self_offline.set(1);
        let why = why.words();
        tracing::error!(why, "driftd itself seems to be offline: failures count toward nothing until it is back");
        if let Err(error) = self.store_mark(marks::BLIND, &blind).await {
            self.failed(&error);
        }
    }

    /// We are back: says so, and who is to be looked at now.
    async fn back(&self, now: Timestamp) -> Vec<TargetId> {
        let Some(targets) = self.sky().end(now) else { return Vec::new() };
        self.metrics.self_offline.set(0);
        let untold = self.sky().untold;
        if let Some(back) = untold {
            let seconds = back.at.duration_since(back.told.since).as_secs().max(0);
            tracing::warn!(seconds, set_aside = back.set_aside, "driftd is online again; failures count anew");
            if let Err(error) = self.tell(&back).await {
                self.failed(&error);
            }
        }
        targets
    }

    /// The line of the history last: it is the one thing that would be there twice.
    async fn tell(&self, back: &Back) -> Result<(), StoreError> {
        let Back { told, set_aside, at } = *back;
        let least = self.plan.plan().confirm.sight.after;
        if let Some(bulletin) = report::back_online(&told, set_aside, least, at) {
            self.post(bulletin, at).await?;
        }
        self.store.writer().await.set_mark(marks::BLIND_UNTIL, Some(&at.to_string())).await?;
        self.store.writer().await.set_mark(marks::BLIND, None).await?;
        let since = told.since;
        let text = format!("driftd was offline since {since}; {set_aside} failed scans counted toward nothing");
        self.note("scan.self-offline", text, at).await?;
        self.sky().untold = None;
        Ok(())
    }

    fn failed(&self, error: &StoreError) {
        self.metrics.store_errors.with_label_values(&["commit"]).inc();
        tracing::error!(%error, "whether driftd is offline could not be written down; it is tried again");
    }
}

/// Whether a scan reached its target; `None` when it says nothing of that.
const fn reached(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok | Outcome::Partial | Outcome::CredentialRejected | Outcome::RateLimited | Outcome::Blocked => {
            Some(true)
        }
        // What answers in our network's place is no answer either.
        Outcome::Unreachable | Outcome::Error => Some(false),
        Outcome::Skipped => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn id(name: &str) -> TargetId {
        name.parse().unwrap()
    }

    #[test]
    fn one_target_a_minute_finds_out_whether_we_are_back() {
        let mut sky = Sky::default();
        sky.begin(BlindWhy::MostFail, at(0)).unwrap();
        assert_eq!(sky.begin(BlindWhy::MostFail, at(0)), None);
        assert_eq!(sky.set_aside(&id("a"), "x", at(0)), Some(at(60)));
        assert_eq!(sky.set_aside(&id("b"), "y", at(1)), None);
        assert_eq!(sky.set_aside(&id("a"), "x", at(61)), Some(at(121)));
        // A clock that was put back must not leave nobody to ask.
        assert_eq!(sky.set_aside(&id("b"), "y", at(-9_000)), Some(at(-8_940)));
        assert_eq!(sky.end(at(200)), Some(vec![id("a"), id("b")]));
        assert_eq!((sky.untold.map(|back| back.set_aside), sky.until()), (Some(4), Some(at(200))));
        assert_eq!(sky.end(at(201)), None);
    }

    #[test]
    fn a_host_that_never_failed_does_not_say_that_we_are_back() {
        let mut sky = Sky::default();
        sky.begin(BlindWhy::MostFail, at(0)).unwrap();
        sky.set_aside(&id("a"), "far.example.com", at(0));
        assert!(!sky.is_back_by("localhost"));
        assert!(sky.is_back_by("far.example.com"));
    }
}
