//! A month in seconds: a pretended fleet and pretended receivers around the daemon's own parts, on a real SQLite file
//! and a clock that the story moves. What is sent in it is the committed page `snapshots/it__month__october.snap`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use driftd::clock::Clock;
use driftd::operations::{Decision, Request};
use jiff::{SignedDuration, Timestamp};

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
        }
        Deed::PutBack(by) => {
            skew.add(-SignedDuration::try_from(by).unwrap());
            machine.put_back(by);
        }
        Deed::Sleep(by) => machine.advance(by),
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
    machine.decide(how(Decision { reference: incident.reference, except: Vec::new(), reason, ticket: None, until })).await;
}

const DEFAULTS: &str = "{ security: { sightings: 2, after: 30s }, surface: { sightings: 2, after: 5m }, sight: { failures: 3, over: 10m } }";

#[tokio::test]
async fn a_month_sends_exactly_what_is_committed() {
    let month = lived(DEFAULTS).await;
    insta::assert_snapshot!("october", page::page(&month.story, &month.sent, &month.lost, month.looks.len()));
    let ids: BTreeSet<(&str, &str)> =
        month.sent.iter().map(|sent| (sent.receiver.as_str(), sent.alert.id.as_str())).collect();
    assert_eq!(ids.len(), month.sent.len());
}
