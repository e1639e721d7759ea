//! The pure core on tool lists: canonicalize, diff, classify and fold. The budget for 1,000 tools is 10 ms, growth
//! linear (design, section 7): the time per item stands beside each size.

#![expect(clippy::expect_used, reason = "a bench that cannot set up has nothing to measure")]

use std::collections::BTreeMap;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use driftd::judge::canon::canonicalize;
use driftd::judge::effective::held_to;
use driftd::judge::fold::{Folding, fold};
use driftd::judge::{document, judge};
use driftd::model::baseline::Effective;
use driftd::model::facet::{Facet, FacetName};
use driftd::model::incident::UnitMark;
use driftd::model::json::{Json, Limits};
use driftd::model::memory::Memory;
use driftd::model::observation::{RawFacet, RawRead};
use driftd::model::policy::NO_POLICY;
use driftd::model::snapshot::Snapshot;

const SIZES: [usize; 5] = [250, 500, 1_000, 2_000, 4_000];

fn main() {
    divan::main();
}

/// A list of `count` tools; in the newer one each tenth is renamed, each seventh reworded, each fifth opened.
fn list(count: usize, newer: bool) -> String {
    let tool = |n: usize| {
        let name = if newer && n.is_multiple_of(10) { format!("do-thing-{n}") } else { format!("doThing{n}") };
        let text = if newer && n.is_multiple_of(7) { "Does one thing well" } else { "Does a thing and gives it back" };
        let closed = if newer && n.is_multiple_of(5) { "" } else { r#","additionalProperties":false"# };
        format!(
            r#"{{"name":"{name}","title":"Thing {n}","description":"{text}, number {n} of them all.","inputSchema":{{"type":"object","properties":{{"id{n}":{{"type":"string","description":"Which thing to do"}},"limit":{{"type":"integer","minimum":1,"maximum":100,"default":10}},"mode":{{"type":"string","enum":["fast","slow"]}}}},"required":["id{n}"]{closed}}},"annotations":{{"readOnlyHint":true,"openWorldHint":false}}}}"#
        )
    };
    let tools: Vec<String> = (0..count).map(tool).collect();
    format!(r#"{{"tools":[{}]}}"#, tools.join(","))
}

fn raw(text: &str) -> RawFacet {
    let page = Json::parse(text.as_bytes(), Limits::PEER).expect("a list within the limits").value;
    // Two equal reads, as each scan brings them.
    let read = RawRead { pages: vec![page], ..RawRead::default() };
    RawFacet::Seen(vec![read.clone(), read])
}

fn snapshots(count: usize, newer: bool) -> (BTreeMap<FacetName, Effective>, Snapshot) {
    let read = |newer| document::read(list(count, newer).as_bytes()).expect("a list");
    (held_to(&read(false)), read(newer))
}

fn judged(effective: &BTreeMap<FacetName, Effective>, snapshot: &Snapshot) -> usize {
    let judgment = judge(&snapshot.target.id, &NO_POLICY, effective, &Memory::default(), snapshot, &[]);
    let foldings: Vec<Folding<'_>> =
        judgment.drifts.iter().map(|drift| Folding { drift, mark: UnitMark::Pending }).collect();
    fold(&foldings, &[]).len()
}

/// What a scan costs that found nothing new.
#[divan::bench(args = SIZES)]
fn unchanged(bencher: Bencher<'_, '_>, count: usize) {
    let text = raw(&list(count, false));
    let (effective, snapshot) = snapshots(count, false);
    bencher.counter(ItemsCount::new(count)).bench_local(|| {
        black_box(canonicalize(Facet::McpTools, &text, false));
        judged(&effective, &snapshot)
    });
}

/// What a scan costs that found renames, texts and schemas changed all over the list.
#[divan::bench(args = SIZES)]
fn changed(bencher: Bencher<'_, '_>, count: usize) {
    let text = raw(&list(count, true));
    let (effective, snapshot) = snapshots(count, true);
    bencher.counter(ItemsCount::new(count)).bench_local(|| {
        black_box(canonicalize(Facet::McpTools, &text, false));
        judged(&effective, &snapshot)
    });
}
