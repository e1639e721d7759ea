//! What changed because we changed (law 10): a line of the history, never a drift.
//!
//! An edited URL keeps the baseline, but for the way there (`mcp.transport`); an edited credential or header has its facets start afresh (`afresh`); new
//! rules judge an unchanged facet without a drift, and what stands is told no news for it; a baseline of an older
//! canonical form is recomputed (`recompute`). Each is said once, because what a scan was asked with and judged by is
//! remembered with it.

use super::{Scene, said, said_of};
use crate::judge::life::LifeStep;
use crate::judge::rules;
use crate::model::facet::FacetName;
use crate::model::judgment::Judgment;
use crate::model::memory::Ours;
use crate::model::observation::Asked;
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetSummary;
use crate::model::text;

/// Whether we ask and judge as we did last time.
pub(super) fn is_quiet(scene: &Scene<'_>, snapshot: &Snapshot) -> bool {
    let before = scene.memory.scans.ours.as_deref();
    before.is_some_and(|before| *before == ours(scene.target, &snapshot.asked)) && scene.memory.recomputed.is_empty()
}

/// Whether the target was judged by other rules last time.
pub(super) fn rules_differ(scene: &Scene<'_>) -> bool {
    scene.memory.scans.ours.as_ref().is_some_and(|before| before.rules != rules::version())
}

/// How `target` is asked and by what it is judged.
pub(in crate::judge) fn ours(target: &TargetSummary, asked: &Asked) -> Ours {
    Ours {
        kind: target.kind,
        url: target.url.clone(),
        headers: asked.headers.clone(),
        tier: asked.tier.clone(),
        credential: asked.credential.clone(),
        anonymous: asked.anonymous,
        rules: rules::version().to_owned(),
    }
}

/// Remembers how we asked and by what we judged, and says what of it is other than last time.
pub(super) fn remember(settlement: &mut Settlement, scene: &Scene<'_>, snapshot: &Snapshot) {
    let now = ours(scene.target, &snapshot.asked);
    if let Some(before) = scene.memory.scans.ours.as_deref() {
        let lines = [
            ("base.target-moved", moved(before, &now)),
            ("base.ask-changed", asked_otherwise(before, &now)),
            ("base.rules-updated", judged_otherwise(before, &now)),
        ];
        for (event, words) in lines {
            settlement.history.extend(words.map(|words| said(scene, event, words)));
        }
        if before.url != now.url || before.kind != now.kind {
            // Where it stood says nothing of where it is meant to stand now.
            settlement.scans.address_class = None;
        }
    }
    for entry in &scene.memory.recomputed.baseline {
        let text = "its accepted value was written in an older form and is recomputed; nothing changed there";
        settlement.history.push(said_of(scene, "base.model-outdated", entry.facet, text));
    }
    settlement.scans.ours = Some(Box::new(now));
}

fn moved(before: &Ours, now: &Ours) -> Option<String> {
    let url = |url: &str| text::inert(url, 300);
    let kind = (before.kind != now.kind).then(|| format!("kind {} -> {}", before.kind, now.kind));
    let address = (before.url != now.url).then(|| format!("{} -> {}", url(&before.url), url(&now.url)));
    let parts: Vec<String> = kind.into_iter().chain(address).collect();
    (!parts.is_empty()).then(|| format!("edited by us: {}; the baseline stays", parts.join(", ")))
}

fn asked_otherwise(before: &Ours, now: &Ours) -> Option<String> {
    let none = || "none".to_owned();
    let credential = |ours: &Ours| ours.credential.as_deref().map_or_else(none, |name| text::inert(name, 200));
    let headers =
        |ours: &Ours| if ours.headers.is_empty() { none() } else { text::inert(&ours.headers.join(", "), 400) };
    let anonymous = |ours: &Ours| if ours.anonymous { "on" } else { "off" }.to_owned();
    let tier = |ours: &Ours| text::inert(&ours.tier, 40);
    let facts = [
        ("credential", credential(before), credential(now)),
        ("headers", headers(before), headers(now)),
        ("anonymous", anonymous(before), anonymous(now)),
        ("tier", tier(before), tier(now)),
    ];
    let parts: Vec<String> = facts
        .iter()
        .filter(|(_, before, now)| before != now)
        .map(|(what, before, now)| format!("{what} {before} -> {now}"))
        .collect();
    // Another tier asks further questions; what is held to a baseline is asked as before.
    let is_tier_alone = parts.iter().all(|part| part.starts_with("tier "));
    let what = if is_tier_alone { "the baseline stays" } else { "what it was shown starts afresh" };
    (!parts.is_empty()).then(|| format!("edited by us: {}; {what}", parts.join(", ")))
}

fn judged_otherwise(before: &Ours, now: &Ours) -> Option<String> {
    (before.rules != now.rules)
        .then(|| format!("judged by our rules {} -> {}; what did not change makes no drift", before.rules, now.rules))
}

/// What stands in a recomputed facet and shows the value it stood for is the same drift in today's form.
pub(super) fn adopt(step: &mut LifeStep, scene: &Scene<'_>, judgment: &Judgment) {
    let recomputed: Vec<FacetName> = scene.memory.recomputed.baseline.iter().map(|entry| entry.facet).collect();
    if recomputed.is_empty() {
        return;
    }
    for row in step.rows.iter_mut().filter(|row| recomputed.contains(&row.drift.facet) && !row.state.is_ended()) {
        let place = (row.drift.facet, &row.drift.path);
        let shown = judgment.drifts.iter().find(|drift| (drift.facet, &drift.path) == place);
        if let Some(shown) = shown.filter(|shown| shown.after == row.drift.after) {
            row.values = vec![(shown.fingerprint, row.since)];
            row.drift = shown.clone();
            row.next = None;
            step.changed.insert(row.id);
        }
    }
}
