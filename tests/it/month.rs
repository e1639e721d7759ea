//! A month in seconds: a pretended fleet and pretended receivers around the daemon's own parts, on a real SQLite file
//! and a clock that the story moves. What is sent in it is the committed page `snapshots/it__month__october.snap`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use driftd::clock::Clock;
use driftd::model::alert::AlertType;
use driftd::operations::{Decision, Request};
use jiff::{SignedDuration, Timestamp};

use crate::support::checkout;
use crate::support::daemon::Home;

mod machine;
mod page;
mod post;
mod story;
mod world;

use machine::Machine;
use page::Sent;
use post::{PostOffice, Try};
use story::{Deed, END, INVENTORY, START, Story, at, october};
use world::{Look, Servers, Skew};

/// Everything that a month came to.
struct Month {
    story: Arc<Story>,
    tries: Vec<Try>,
    looks: Vec<Look>,
    sent: Vec<Sent>,
    lost: Vec<Sent>,
}

/// Lives through the month with this `confirm:`.
async fn lived(confirm: &str) -> Month {
    let driftd = format!(
        "inventory: [ inventory.yaml ]\nscan: {{ concurrency: 1 }}\nconfirm: {confirm}\nreceivers:\n\
         - {{ name: ops, console: {{}} }}\n- {{ name: hook, webhook: {{ url: \"https://hook.example.com/\" }} }}\n"
    );
    let home = Home::new();
    home.write("driftd.yaml", &driftd);
    home.write("inventory.yaml", INVENTORY);
    let (story, skew) = (Arc::new(october()), Skew::default());
    let (clock, hand) = Clock::manual(at(START));
    let servers = Servers::new(Arc::clone(&story), skew.clone());
    let post = Arc::new(PostOffice::new(Arc::clone(&story), clock.clone(), skew.clone()));
    let mut machine = Machine::new(home, (clock, hand), servers.clone(), Arc::clone(&post));
    machine.start().await;
    let mut done = at(START);
    loop {
        let end = skew.shown(at(END));
        let deed = story.next_deed(done).map(|(when, deed)| (when, skew.shown(when), deed));
        let next = machine.next().await.min(end).min(deed.map_or(end, |(_, shown, _)| shown));
        machine.advance(Duration::try_from(next.duration_since(machine.now())).unwrap_or_default());
        if let Some((when, _, deed)) = deed.filter(|(_, shown, _)| *shown <= machine.now()) {
            done = when;
            perform(&mut machine, &skew, deed).await;
        }
        machine.work().await;
        if machine.now() >= end {
            break;
        }
    }
    let checked = machine.store().check().await.unwrap();
    assert!(checked.is_whole(), "{checked:?}");
    machine.stop().await;
    let tries = post.all();
    let (sent, lost) = page::outcomes(&tries);
    Month { story, tries, looks: servers.looks(), sent, lost }
}

async fn perform(machine: &mut Machine, skew: &Skew, deed: Deed) {
    machine.stir();
    match deed {
        Deed::Accept(target) => decide(machine, target, Request::Accept, None).await,
        Deed::Reject(target) => decide(machine, target, Request::Reject, None).await,
        Deed::Ack(target, days) => {
            let until = machine.now() + Duration::from_hours(24 * days);
            decide(machine, target, Request::Ack, Some(until)).await;
        }
        Deed::Leap(by) => {
            skew.add(SignedDuration::try_from(by).unwrap());
            machine.advance(by);
            machine.beat().await;
        }
        Deed::PutBack(by) => {
            skew.add(-SignedDuration::try_from(by).unwrap());
            machine.put_back(by);
            machine.beat().await;
        }
        Deed::Sleep(by) => {
            machine.advance(by);
            machine.beat().await;
        }
        Deed::Restart(by) => {
            machine.stop().await;
            machine.advance(by);
            machine.start().await;
        }
    }
}

/// Decides on what stands of `target`; a run with other thresholds may have nothing to decide on.
async fn decide(machine: &Machine, target: &str, how: fn(Decision) -> Request, until: Option<Timestamp>) {
    let Some(incident) = machine.drift_of(target).await else { return };
    let reason = Some("read and talked over".to_owned());
    machine
        .decide(how(Decision { reference: incident.reference, except: Vec::new(), reason, ticket: None, until }))
        .await;
}

/// The defaults, written out; each of the other three has one class doubled.
const DEFAULTS: &str = "{ security: { sightings: 2, after: 30s }, surface: { sightings: 2, after: 5m }, \
                        sight: { failures: 3, over: 10m } }";
const SECURITY: &str = "{ security: { sightings: 4, after: 60s } }";
const SURFACE: &str = "{ surface: { sightings: 4, after: 10m } }";
const SIGHT: &str = "{ sight: { failures: 6, over: 20m } }";

impl Month {
    fn page(&self) -> String {
        page::page(&self.story, &self.sent, &self.lost, self.looks.len())
    }

    /// When messages of this kind about `target` arrived at `ops` on a day.
    fn told(&self, target: &str, kind: AlertType, day: &str) -> Vec<Timestamp> {
        let is_it = |sent: &&Sent| {
            let about = sent.alert.targets.iter().any(|about| about.id.as_str() == target);
            about && sent.alert.kind == kind && sent.receiver == "ops" && sent.at.to_string().contains(day)
        };
        self.sent.iter().filter(is_it).map(|sent| sent.at).collect()
    }

    /// When `target` was looked at, from when until when.
    fn looked(&self, target: &str, from: &str, until: &str) -> Vec<Timestamp> {
        let (from, until) = (at(from), at(until));
        let looks = self.looks.iter().filter(|look| look.target == target && from <= look.at && look.at < until);
        looks.map(|look| look.at).collect()
    }

    /// Each message is taken once, and says the same on every try.
    fn pays_once(&self) {
        let mut bodies = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for Try { message, taken: is_taken, .. } in &self.tries {
            let key = (&message.receiver, &message.id);
            assert_eq!(*bodies.entry(key).or_insert(&message.body), &message.body, "{key:?} says something else");
            assert!(!*is_taken || taken.insert(key), "{key:?} is sent again after it was taken");
        }
    }
}

/// The month with the thresholds that nobody has to write; its page is the committed one.
#[tokio::test]
async fn a_month_sends_exactly_what_is_committed() {
    let month = lived(DEFAULTS).await;
    insta::assert_snapshot!("october", month.page());
    month.pays_once();
    keeps_local_time(&month);
    makes_up_once(&month);
    loses_no_time_when_put_back(&month);
}

/// The same local time before and after summer time ends, but for the night that the machine slept through.
fn keeps_local_time(month: &Month) {
    // Half past nine in Madrid.
    let planned = |at: &Timestamp| {
        let time = at.strftime("%H:%M:%S").to_string();
        time == if *at < story::at("10-25 01:00") { "07:30:00" } else { "08:30:00" }
    };
    let runs = month.looked("report", "10-06 00:00", END).into_iter().filter(planned);
    let runs: Vec<String> = runs.map(|at| at.strftime("%m-%d").to_string()).collect();
    let october = (6..=31).filter(|day| *day != 29).map(|day| format!("10-{day:02}"));
    assert_eq!(runs, october.chain((1..=3).map(|day| format!("11-{day:02}"))).collect::<Vec<_>>());
}

/// After the machine slept for a day each target has one run, and each is back at its own pace.
fn makes_up_once(month: &Month) {
    for target in month.story.targets() {
        assert_eq!(month.looked(target, "10-28 14:01", "10-29 16:00"), [], "{target} while the machine slept");
        let at_once = month.looked(target, "10-29 16:00", "10-29 16:01");
        assert_eq!(at_once.len(), 1, "{target}: {at_once:?}");
    }
}

/// Nobody waits for the old time to come again, and what was pending is confirmed as soon as it would have been.
fn loses_no_time_when_put_back(month: &Month) {
    for target in month.story.targets().filter(|target| *target != "report") {
        let soon = month.looked(target, "10-30 12:00", "10-30 12:41");
        assert!(!soon.is_empty(), "{target} waits for the old time");
    }
    let lost = month.told("feeds", AlertType::SightLost, "10-30");
    assert!(lost.iter().all(|lost| *lost < at("10-30 12:15")) && lost.len() == 1, "{lost:?}");
}

#[tokio::test]
async fn with_class_security_doubled_hidden_text_is_told_later_or_not_at_all() {
    let month = lived(SECURITY).await;
    month.pays_once();
    assert_eq!(month.told("hub-1", AlertType::DriftOpened, "10-20"), [], "75 seconds are too short now");
    assert_eq!(month.told("billing", AlertType::DriftOpened, "10-13"), [at("10-13 10:23:50.104")]);
    assert_eq!(month.told("hub-2", AlertType::DriftOpened, "10-20").len(), 1, "the others are as they were");
    assert_ne!(month.page(), committed());
}

#[tokio::test]
async fn with_class_surface_doubled_changes_are_told_later_or_not_at_all() {
    let month = lived(SURFACE).await;
    month.pays_once();
    assert_eq!(month.told("hub-2", AlertType::DriftOpened, "10-20"), [], "nine minutes are too short now");
    assert_eq!(month.told("tickets", AlertType::DriftOpened, "10-13"), [at("10-13 10:37:40.752")]);
    assert_eq!(month.told("hub-1", AlertType::DriftOpened, "10-20").len(), 1, "the others are as they were");
    assert_ne!(month.page(), committed());
}

#[tokio::test]
async fn with_class_sight_doubled_outages_are_told_later_or_not_at_all() {
    let month = lived(SIGHT).await;
    month.pays_once();
    assert_eq!(month.told("feeds", AlertType::SightLost, "10-08"), [], "a quarter of an hour is too short now");
    assert_eq!(month.told("feeds", AlertType::SightBack, "10-08"), [], "and who was not told is told no end");
    assert_eq!(month.told("maps-b", AlertType::SightLost, "10-09"), [at("10-09 01:51:06.464")]);
    assert_eq!(month.told("hub-2", AlertType::DriftOpened, "10-20").len(), 1, "the others are as they were");
    assert_ne!(month.page(), committed());
}

/// The page of the month with the defaults.
fn committed() -> String {
    let file = std::fs::read_to_string(checkout("tests/it/snapshots/it__month__october.snap")).unwrap();
    let (_, page) = file.split_once("\n---\n").unwrap();
    page.to_owned()
}
