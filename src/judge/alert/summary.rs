//! The first lines of a message, six at most: how much, what fails, what else needs a decision, what is new with
//! reach, which versions, and that nothing is blocked.

use jiff::Timestamp;

use crate::model::alert::AlertType;
use crate::model::drift::{Detail, Drift};
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::incident::{EndReason, UnitMark};
use crate::model::text;

use super::super::consumers::{self, Hit};
use super::super::host;
use super::super::rules::tools;
use super::tally::{self, Fate, Thing};
use super::units::{Since, UnitStory};
use super::{Story, details, evidence, units, words};

mod counts;

const LINES: usize = 6;
/// Characters of a title in a sentence.
const TITLE: usize = 72;

/// The lines; each is one sentence or few.
pub(super) fn summary(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let mut lines = match story.kind {
        AlertType::DriftOpened | AlertType::DriftChanged | AlertType::DriftReminder => drift(story, told),
        AlertType::DriftResolved => resolved(story, told),
        AlertType::SightLost => sight_lost(story, told),
        AlertType::SightBack => sight_back(story, told),
        // Of no incident, so no story is theirs.
        AlertType::FleetReport | AlertType::Digest | AlertType::Test => Vec::new(),
    };
    lines.retain(|line| !line.is_empty());
    lines.truncate(LINES);
    lines
}

/// First sight of anything in the incident.
pub(super) fn since(story: &Story<'_>, told: &[UnitStory<'_>]) -> Timestamp {
    told.iter().flat_map(UnitStory::rows).map(|row| row.first_at).min().unwrap_or(story.incident.opened_at)
}

fn drift(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let (news, mut counts) = (news(told), counts::sentences(story, told));
    if !news.is_empty() {
        // The line that says what is new takes the place of one.
        counts = vec![counts.join(" ")];
    }
    let mut lines = vec![news];
    lines.extend(counts);
    lines.extend([
        [what_fails(told), whom(story, told)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
        to_decide(told),
        reach(told),
        format!("{}driftd reports, it blocks nothing.", versions(story)),
    ]);
    lines
}

/// For a further revision: what is new in it.
fn news(told: &[UnitStory<'_>]) -> String {
    let numbers = |since: Since| {
        let units = told.iter().filter(|told| told.since == since && told.unit.mark.stands());
        let mut numbers: Vec<u32> = units.map(|told| told.unit.n).collect();
        numbers.sort_unstable();
        numbers
    };
    let part = |numbers: &[u32], one: &str, many: &str| match numbers {
        [] => None,
        [n] => Some(format!("item {n} {one}")),
        many_of => {
            let shown: Vec<String> = many_of.iter().take(6).map(u32::to_string).collect();
            let more = many_of.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("items {}{more} {many}", shown.join(", ")))
        }
    };
    let parts = [
        part(&numbers(Since::New), "is new", "are new"),
        part(&numbers(Since::Changed), "has changed again", "have changed again"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("Since the last message: {}.", words::list(&parts)) }
}

fn what_fails(told: &[UnitStory<'_>]) -> String {
    let any = |fate| Thing::ALL.into_iter().any(|thing| tally::total(told, thing, fate) > 0);
    let mut sentences = Vec::new();
    if any(Fate::Renamed) {
        sentences.push("The old names fail.".to_owned());
    } else if any(Fate::Gone) {
        sentences.push("Calls to what is gone fail.".to_owned());
    }
    match tally::otherwise_breaking(told).count() {
        0 => {}
        1 if sentences.is_empty() => sentences.push("Calls that worked can fail.".to_owned()),
        n => sentences.push(format!("{} can break calls that worked.", words::count(n, "other change"))),
    }
    sentences.join(" ")
}

/// `refund-agent uses 3 of them, batch 1.`: who is hit worst by what stands.
fn whom(story: &Story<'_>, told: &[UnitStory<'_>]) -> String {
    const SHOWN: usize = 3;
    if story.policy.consumers.is_empty() {
        return String::new();
    }
    let hit = consumers::hit(story.policy, &super::standing(told));
    let Some(first) = hit.first() else { return "Nobody who is listed uses what changed.".to_owned() };
    let effect = first.consumer.effect.as_str();
    let name = |hit: &Hit| text::inert(&hit.consumer.name, 60);
    let worst: Vec<&Hit> = hit.iter().filter(|hit| hit.consumer.effect == effect).collect();
    let said = |hit: &&Hit| if effect == "fails" { format!("{} {}", name(hit), hit.worst) } else { name(hit) };
    let mut parts: Vec<String> = worst.iter().take(SHOWN).map(said).collect();
    if worst.len() > SHOWN {
        parts.push(format!("{} more", worst.len() - SHOWN));
    }
    match effect {
        "fails" => {
            let others = parts.iter().skip(1).map(|part| format!(", {part}")).collect::<String>();
            format!("{} uses {} of them{others}.", name(first), first.worst)
        }
        "may_fail" => format!("{} can fail.", words::list(&parts)),
        _ => format!("Used by {}.", words::list(&parts)),
    }
}

/// `The server goes by another name; its instructions to the model are new.`, and what else is to decide.
fn to_decide(told: &[UnitStory<'_>]) -> String {
    const SHOWN: usize = 2;
    let open: Vec<&UnitStory<'_>> = told
        .iter()
        .filter(|told| told.is_to_decide() && matches!(told.unit.mark, UnitMark::Pending | UnitMark::Open))
        .collect();
    let identity = identity(&open);
    let titles: Vec<String> = open
        .iter()
        .filter(|told| !matches!(told.unit.rule.rule.as_str(), NAME_RULE | INSTRUCTIONS_RULE))
        .map(|told| text::inert(words::clause(&units::title(told.unit)), TITLE))
        .collect();
    let breaks = told.iter().any(|told| told.unit.mark.stands() && told.can_break());
    let start = if identity.is_empty() && !breaks { "To decide" } else { "Also to decide" };
    let shown = titles.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ");
    let rest = match titles.len() {
        0 => String::new(),
        n if n > SHOWN => format!("{start}: {shown}; and {} more.", n - SHOWN),
        _ => format!("{start}: {shown}."),
    };
    [identity, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

const NAME_RULE: &str = "mcp.server-name-changed";
const INSTRUCTIONS_RULE: &str = "mcp.instructions-changed";

/// What the server calls itself and what it tells the model, where either is to decide.
fn identity(open: &[&UnitStory<'_>]) -> String {
    let of = |rule: &str| open.iter().find(|told| told.unit.rule.rule == rule);
    let verb = of(INSTRUCTIONS_RULE).map(|told| if told.is_rewritten() { "are new" } else { "changed" });
    match (of(NAME_RULE), verb) {
        (Some(_), Some(verb)) => format!("The server goes by another name; its instructions to the model {verb}."),
        (Some(_), None) => "The server goes by another name.".to_owned(),
        (None, Some(verb)) => format!("The server's instructions to the model {verb}."),
        (None, None) => String::new(),
    }
}

/// `New with reach: export_all (url names a URL).`, the first of the new tools that do.
fn reach(told: &[UnitStory<'_>]) -> String {
    let new = told.iter().filter(|told| told.unit.mark.stands() && told.unit.rule.rule == "tool.added");
    let reaching: std::collections::BTreeMap<&str, String> = new
        .flat_map(UnitStory::rows)
        .filter_map(|row| {
            let reach = tools::reach(row.drift.after.first()?).into_iter().next()?;
            Some((details::item(&row.drift), reach))
        })
        .collect();
    let Some((name, reach)) = reaching.first_key_value() else { return String::new() };
    let more = match reaching.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    format!("New with reach: {} ({}){more}.", text::name(name), text::inert(reach, 120))
}

fn versions(story: &Story<'_>) -> String {
    match (evidence::version_before(story), evidence::version_after(story)) {
        (Some(before), Some(after)) if before == after => format!("It still says {before}. "),
        (Some(before), Some(after)) => format!("It says {before} -> {after}. "),
        (None, Some(after)) => format!("It says {after}. "),
        (_, None) => String::new(),
    }
}

fn resolved(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let reason = story.incident.ended.as_ref().map_or(EndReason::Reverted, |ended| ended.reason);
    let how = match (reason, story.decision) {
        (EndReason::Accepted, Some(decision)) => {
            let why = decision.reason.as_deref().map(|why| format!(": {}", text::quoted(why, 300))).unwrap_or_default();
            format!("{} accepted it{why}.", words::person(&decision.by))
        }
        (EndReason::Accepted, None) => "It is accepted.".to_owned(),
        (EndReason::Rejected, _) => "It was rejected, and what was rejected is gone.".to_owned(),
        (EndReason::Ignored, _) => "The inventory says now that it is not to be told.".to_owned(),
        (EndReason::Retired, _) => "The target is in the inventory no more. What was decided is kept.".to_owned(),
        (EndReason::Reverted, _) => "It went back by itself: what was accepted is there again.".to_owned(),
    };
    let now = match reason {
        EndReason::Accepted => "What this incident showed is the baseline now; the next change is measured against it.",
        EndReason::Reverted | EndReason::Rejected => "The baseline is what it was. Nothing is left to decide.",
        EndReason::Ignored => "It stands, is recorded, and is judged anew when that ends. Nothing is left to decide.",
        EndReason::Retired => "",
    };
    let from = since(story, told);
    let stood = format!("It stood for {}: {}.", words::span(from, story.now), words::range(from, story.now));
    vec![how, marks(told), stood, now.to_owned()]
}

/// `3 accepted, 1 back as it was.`, where they ended in several ways.
fn marks(told: &[UnitStory<'_>]) -> String {
    let marks = [
        (UnitMark::Accepted, "accepted"),
        (UnitMark::Reverted, "back as it was"),
        (UnitMark::Rejected, "rejected"),
        (UnitMark::Ignored, "ignored now"),
        (UnitMark::Retired, "no longer watched"),
    ];
    let counted = marks.map(|(mark, word)| (told.iter().filter(|told| told.unit.mark == mark).count(), word));
    let parts: Vec<String> = counted.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if parts.len() > 1 {
        format!("Of {}: {}.", words::count(told.len(), "item"), parts.join(", "))
    } else {
        String::new()
    }
}

fn sight_lost(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let mut standing = told.iter().filter(|told| told.unit.mark.stands()).flat_map(UnitStory::rows);
    let said = standing.next().map(|row| cause(&row.drift)).unwrap_or_default();
    let what = format!("Since {}: {said}.", words::minute(since(story, told)));
    let last = story.memory.scans.last_ok.map(|at| format!("Seen in full last: {}. ", words::minute(at)));
    vec![
        what,
        not_watched(story, told),
        format!("{}What was accepted stays; nothing is judged on what is not seen.", last.unwrap_or_default()),
        "driftd goes on asking, more rarely the longer it lasts.".to_owned(),
    ]
}

/// What kept us from seeing, with its first fact.
fn cause(drift: &Drift) -> String {
    let message = text::inert(drift.message.trim_end_matches('.'), 300);
    match drift.details.first() {
        Some(Detail::Text { text }) if !text.is_empty() => format!("{message} ({})", text::inert(text, 200)),
        Some(Detail::Text { .. } | Detail::Moved { .. } | Detail::Words { .. } | Detail::Quote { .. }) | None => {
            message
        }
    }
}

/// `a, b and c, all on mcp.example.com`
fn of_host(story: &Story<'_>, ids: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = ids.iter().take(SHOWN).cloned().collect();
    if ids.len() > SHOWN {
        shown.push(format!("{} more", ids.len() - SHOWN));
    }
    format!("{}, all on {}", words::list(&shown), text::inert(&host::name(&story.target.url), 100))
}

/// What cannot be watched while sight is lost: facets, or all that our credential shows; of a host, its targets.
fn not_watched(story: &Story<'_>, told: &[UnitStory<'_>]) -> String {
    if story.incident.is_shared() {
        let standing = told.iter().filter(|told| told.unit.mark.stands());
        let ids: Vec<String> = standing.flat_map(|told| told.unit.items.iter().cloned()).collect();
        return format!("Not watched meanwhile: {}.", of_host(story, &ids));
    }
    let standing = || told.iter().filter(|told| told.unit.mark.stands());
    let whole = standing().any(|told| told.sight_facets().is_empty());
    let mut names: Vec<FacetName> = if whole {
        story.memory.baseline.keys().filter(|name| name.facet != Facet::Scan).copied().collect()
    } else {
        standing().flat_map(UnitStory::sight_facets).collect()
    };
    // Without its handshake nothing else of a face is seen, whether or not each facet is told by itself.
    let credential = !whole && standing().any(UnitStory::loses_credential);
    names.retain(|name| !(credential && name.face == Face::Auth));
    let named: Vec<String> = names.into_iter().map(words::facet).collect();
    match (credential, named.as_slice()) {
        (true, []) => "Nothing that our credential shows is watched meanwhile.".to_owned(),
        (true, _) => {
            format!("Nothing that our credential shows is watched meanwhile, nor are these: {}.", words::list(&named))
        }
        (false, []) => "Not watched meanwhile: everything.".to_owned(),
        (false, _) => format!("Not watched meanwhile: {}.", words::list(&named)),
    }
}

fn sight_back(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let from = since(story, told);
    let causes: Vec<String> = told
        .iter()
        .flat_map(UnitStory::rows)
        .take(1)
        .map(|row| format!("What kept us from seeing: {}.", cause(&row.drift)))
        .collect();
    let away = words::span(from, story.now);
    let mut lines = vec![format!("Out of sight for {away}: {}.", words::range(from, story.now))];
    if story.incident.is_shared() {
        let mut ids: Vec<String> = story.incident.targets().map(ToString::to_string).collect();
        ids.sort();
        lines.push(format!("Seen again: {}.", of_host(story, &ids)));
    }
    lines.extend(causes);
    match story.meanwhile {
        Some(meanwhile) => lines.extend(meanwhile.sentences()),
        None => lines.push("What was accepted stays as it was.".to_owned()),
    }
    lines
}
