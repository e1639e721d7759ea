//! What kept a scan from seeing, in the shape of drifts: facet `scan`, path `/endpoint` or `/FACET`.

use crate::judge::rules::explain;
use crate::model::drift::Drift;
use crate::model::facet::{Facet, FacetName};
use crate::model::observation::{SightFact, SightPlace};
use crate::model::pointer::Pointer;
use crate::model::target::TargetId;

use super::draft::sight;

/// What an endpoint that speaks something else than before is told as, if it `fell`.
const ANSWERS_OTHERWISE: [&str; 2] = ["scan.http-error", "scan.handshake-failed"];

/// Drifts of sight. A block of the endpoint stands for everything else that the scan would say (design, section 4).
/// With `fell`, MCP was confirmed before and what answers at the endpoint speaks it no longer.
pub(in crate::judge) fn judge(target: &TargetId, facts: &[SightFact], fell: bool) -> Vec<Drift> {
    let blocked = facts.iter().find(|fact| fact.rule == "scan.blocked");
    let told = blocked.map_or(facts, std::slice::from_ref);
    let mut out: Vec<Drift> = Vec::new();
    for fact in told {
        let drift = one(target, fact, fell);
        match out.iter_mut().find(|other| other.path == drift.path) {
            // One place has one drift: the worst, the first of equals.
            Some(other) if drift.severity > other.severity => *other = drift,
            Some(_) => {}
            None => out.push(drift),
        }
    }
    out
}

fn one(target: &TargetId, fact: &SightFact, fell: bool) -> Drift {
    let fell = fell && fact.place == SightPlace::Endpoint && ANSWERS_OTHERWISE.contains(&fact.rule);
    let (rule, case) = if fell { ("x.protocol-state-fell", "-") } else { (fact.rule, fact.case) };
    let (path, whose) = match fact.place {
        SightPlace::Endpoint => (Pointer::of(["endpoint"]), String::new()),
        SightPlace::Facet(name) => (Pointer::of([name.to_string()]), format!("{name}: ")),
    };
    let title = explain(rule).map_or("not seen", |rule| rule.title);
    let message = format!("{whose}{title}");
    sight(path, rule, case, message, fact.detail.clone()).finish(target, FacetName::stranger(Facet::Scan))
}
