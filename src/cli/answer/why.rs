//! `why`, as a page to read: one question under the other, each with its answer.

use jiff::Timestamp;

use super::{NAMED, targets};
use crate::cli::page::{instant, wrap};
use crate::cli::style::{Paint, Style};
use crate::model::text;
use crate::operations::document::{RouteLine, Why, WhyIncident, WhyTarget, WhyUnit};
use crate::operations::words::relative;

/// Places told of a unit, each with how it was confirmed; they are mostly alike.
const SIGHTINGS: usize = 5;
/// Columns of what stands before an answer.
const HANG: usize = 4;

/// The page.
pub(super) fn page(why: &Why, style: Style) -> String {
    let offline_since = match why {
        Why::Target(target) => target.target.offline_since,
        Why::Incident(incident) => incident.offline_since,
    };
    let mut page = Page { out: targets::offline(offline_since, style), style };
    match why {
        Why::Target(target) => page.target(target),
        Why::Incident(incident) => page.incident(incident),
    }
    page.out
}

struct Page {
    out: String,
    style: Style,
}

impl Page {
    fn target(&mut self, why: &WhyTarget) {
        let target = &why.target;
        self.title(&target.id, &target.url);
        self.question("Why is the next scan then?");
        let at = why.next.at.map(|at| format!("{} ({}): ", instant(at), relative(at, why.now))).unwrap_or_default();
        self.answer(&format!("{at}{}", why.next.text));
        if let Some(last) = target.last_scan {
            let outcome = target.outcome.as_deref().unwrap_or("unknown");
            self.answer(&format!("The last one was {}: {outcome}.", relative(last, why.now)));
        }

        self.question("What is it held to?");
        if why.held.is_empty() {
            self.answer("nothing yet: it has no baseline, so that nothing it shows can be drift");
        }
        for facet in &why.held {
            let digest = facet.digest.map_or_else(|| "absent".to_owned(), |digest| digest.short());
            let values =
                if facet.values > 1 { format!(" and {} more values", facet.values - 1) } else { String::new() };
            let reviewed = if facet.reviewed { "" } else { "; no person has looked at it" };
            let reason = facet.reason.as_ref().map(|reason| format!(": {}", text::quoted(reason, 160)));
            self.fact(
                &facet.facet,
                &format!(
                    "{digest}{values}, since {} by {}{}{reviewed} (ledger {})",
                    instant(facet.at),
                    text::inert(&facet.by, 80),
                    reason.unwrap_or_default(),
                    facet.entry
                ),
            );
        }
        for approval in &why.approvals {
            let until = approval.until.map(|until| format!(", until {}", instant(until))).unwrap_or_default();
            let place = format!("{}{}", approval.facet, text::inert(&approval.path, 160));
            let who = text::inert(&approval.by, 80);
            self.fact(&place, &format!("approved {} by {who}{until}", instant(approval.at)));
        }

        self.question("What is watched, and why not?");
        if why.facets.is_empty() {
            self.answer("it was never scanned");
        } else {
            let table = targets::facets(&why.facets, Style { width: self.style.width - HANG, ..self.style }, why.now);
            table.lines().for_each(|line| self.line(&format!("    {line}")));
        }
        if let Some(coverage) = &target.coverage {
            self.answer(&text::inert(&coverage.text, 300));
        }

        self.question("What is on its way?");
        if why.pending.is_empty() {
            self.answer("nothing: what was seen last is what stands");
        }
        for pending in &why.pending {
            let severity = pending.severity.map(|severity| format!("{severity} ")).unwrap_or_default();
            let rule = pending.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            self.fact(&pending.place, &format!("{severity}{}{rule}", pending.what));
            self.more(&pending.text);
        }
        for stands in &target.standing {
            let reference = &stands.reference;
            self.answer(&format!("{reference} stands ({} {}): driftd why {reference}", stands.severity, stands.kind));
        }
        self.routes("Who would be told of what?", &why.routes);

        self.question("What does the inventory ask for?");
        if why.policy.is_empty() {
            self.answer("nothing: it is not in the inventory");
        }
        for policy in &why.policy {
            self.fact(&policy.key, &policy.text);
        }
    }

    fn incident(&mut self, why: &WhyIncident) {
        let reference = why.reference.clone().unwrap_or_else(|| "no incident yet".to_owned());
        self.title(&reference, &format!("{} of {}, {}", why.kind, why.target, why.state));
        self.answer(&why.text);
        for unit in &why.units {
            self.unit(unit, why.now);
        }
        self.routes("Who is to be told?", &why.routes);
        self.question("What was sent?");
        if why.messages.is_empty() && why.notices.is_empty() {
            self.answer("nothing was owed to anybody");
        }
        for message in &why.messages {
            let id: String = message.id.chars().take(14).collect();
            self.fact(
                &format!("{id} to {}", message.receiver),
                &format!("{}, made {}", message.kind, instant(message.at)),
            );
            self.more(&message.text);
        }
        for notice in &why.notices {
            let what = format!("{} of revision {}", notice.event, notice.revision);
            self.fact(&format!("owed to {}", notice.receiver), &format!("{what}: {}", notice.text));
        }
        for untold in &why.untold {
            self.fact("not told", untold);
        }
    }

    fn unit(&mut self, unit: &WhyUnit, now: Timestamp) {
        let n = if unit.n == 0 { String::new() } else { format!("{}. ", unit.n) };
        let marked = if unit.mark == "open" { String::new() } else { format!(" ({})", unit.mark) };
        self.question(&format!("{n}{}{marked}", unit.title));
        if !unit.items.is_empty() && !unit.items.iter().all(|item| unit.title.contains(item.as_str())) {
            let named = unit.items.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let more = unit.items.len().saturating_sub(NAMED);
            self.fact("items", &if more > 0 { format!("{named} and {more} more") } else { named });
        }
        let severity = format!("{}, {}", unit.severity.severity, unit.severity.text);
        self.out.push_str(&wrap(
            &self.label("severity", Paint::Of(unit.severity.severity)),
            14,
            &severity,
            self.style.width,
        ));
        let case = if unit.case == "-" { String::new() } else { format!(", case {}", unit.case) };
        self.fact("rule", &format!("{}{case}: {}", unit.rule, unit.why));
        for sighting in unit.sightings.iter().take(SIGHTINGS) {
            self.fact("seen", &sighting.place);
            self.more(&sighting.text);
            if let Some(ended) = sighting.ended_at {
                self.more(&format!("{} {}", sighting.state, relative(ended, now)));
            }
        }
        if unit.sightings.len() > SIGHTINGS {
            self.fact("seen", &format!("and {} more places (--output json has all)", unit.sightings.len() - SIGHTINGS));
        }
    }

    fn routes(&mut self, question: &str, routes: &[RouteLine]) {
        self.question(question);
        for route in routes {
            let name = if route.n == 0 { "else".to_owned() } else { format!("route {}", route.n) };
            let to = if route.applies && !route.to.is_empty() {
                format!(" -> {}", route.to.join(", "))
            } else {
                String::new()
            };
            self.fact(&name, &format!("{}{to}", route.text));
        }
    }

    fn title(&mut self, name: &str, rest: &str) {
        let line = format!("{}  {}", self.style.paint(Paint::Strong, name), text::inert(rest, 300));
        self.line(&line);
    }

    fn question(&mut self, question: &str) {
        let line = self.style.paint(Paint::Strong, &text::inert(question, 300));
        self.line("");
        self.line(&line);
    }

    fn answer(&mut self, words: &str) {
        self.out.push_str(&wrap(&" ".repeat(HANG), HANG, words, self.style.width));
    }

    /// A named fact; a long name stands on a line of its own.
    fn fact(&mut self, name: &str, words: &str) {
        let name = text::inert(name, 300);
        let hang = HANG + 10;
        if text::width(&name) < 10 {
            self.out.push_str(&wrap(&self.label(&name, Paint::Plain), hang, words, self.style.width));
        } else {
            self.line(&format!("    {name}"));
            self.out.push_str(&wrap(&" ".repeat(hang), hang, words, self.style.width));
        }
    }

    fn label(&self, name: &str, paint: Paint) -> String {
        let pad = " ".repeat(10_usize.saturating_sub(text::width(name)));
        format!("    {}{pad}", self.style.paint(paint, name))
    }

    /// More about the fact before.
    fn more(&mut self, words: &str) {
        self.out.push_str(&wrap(&" ".repeat(HANG + 10), HANG + 10, words, self.style.width));
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}
