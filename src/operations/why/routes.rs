//! Which routes take what, and to whom, in words. How they take it is decided in `judge::notices`.

use std::fmt::Write as _;
use std::time::Duration;

use super::distinct;
use crate::judge::notices;
use crate::model::notice::{Comparison, Event, Route, RouteMatch};
use crate::model::target::TargetSummary;
use crate::operations::document::RouteLine;
use crate::operations::words::span;

/// Every route, as it applies to `target`.
pub(super) fn of_target(routes: &[Route], receivers: &[String], target: &TargetSummary) -> Vec<RouteLine> {
    if routes.is_empty() {
        return vec![default(receivers, true, None)];
    }
    let mut lines = Vec::new();
    let mut stopped = false;
    for (n, route) in (1_u32..).zip(routes) {
        let about = is_about(&route.matches, target);
        let line = RouteLine {
            n,
            applies: about && !stopped,
            to: distinct(route.to.iter().map(String::as_str)),
            text: if !about {
                format!("{}: not about this target", asks(&route.matches))
            } else if stopped {
                format!("{}: an earlier route takes everything", asks(&route.matches))
            } else {
                format!("{}{}", asks(&route.matches), pace(route))
            },
        };
        lines.push(line);
        stopped |= about && takes_everything(&route.matches) && !route.goes_on;
    }
    if !stopped {
        lines.push(default(receivers, false, None));
    }
    lines
}

/// The routes that take `event`.
pub(super) fn of_event(
    routes: &[Route],
    receivers: &[String],
    event: &Event,
    target: &TargetSummary,
) -> Vec<RouteLine> {
    let mut taken = Vec::new();
    for (n, route) in (1_u32..).zip(routes) {
        if !notices::matches(&route.matches, event, target) {
            continue;
        }
        taken.push(RouteLine {
            n,
            applies: true,
            to: distinct(route.to.iter().map(String::as_str)),
            text: format!("{}{}", asks(&route.matches), pace(route)),
        });
        if !route.goes_on {
            break;
        }
    }
    if taken.is_empty() {
        taken.push(default(receivers, routes.is_empty(), Some(event.urgent)));
    }
    taken
}

/// What holds where no route says anything; of one event when it is known whether it is `urgent`.
fn default(receivers: &[String], unrouted: bool, urgent: Option<bool>) -> RouteLine {
    let text = match (receivers.is_empty(), unrouted, urgent) {
        (true, _, _) => "no receiver is configured: nobody is told",
        (false, false, _) => "what no route takes goes to all receivers at once",
        (false, true, Some(true)) => "no routes are configured: this is told to all receivers at once",
        (false, true, Some(false)) => "no routes are configured: this waits for the weekly digest to all receivers",
        (false, true, None) => {
            "no routes are configured: what is critical, gives power, breaks calls or cannot be seen goes to all \
             receivers at once, the rest comes in a weekly digest"
        }
    };
    RouteLine {
        n: 0,
        applies: !receivers.is_empty(),
        to: distinct(receivers.iter().map(String::as_str)),
        text: text.to_owned(),
    }
}

/// Whether a route can take anything of `target` at all.
fn is_about(asks: &RouteMatch, target: &TargetSummary) -> bool {
    let labels = asks.labels.iter().all(|(name, value)| target.labels.get(name) == Some(value));
    labels && (asks.targets.is_empty() || asks.targets.contains(&target.id))
}

const fn takes_everything(asks: &RouteMatch) -> bool {
    asks.severity.is_none() && asks.impact.is_empty()
}

fn asks(asks: &RouteMatch) -> String {
    let mut parts = Vec::new();
    if let Some((comparison, severity)) = asks.severity {
        let sign = match comparison {
            Comparison::AtLeast => ">=",
            Comparison::Equal => "",
            Comparison::AtMost => "<=",
        };
        parts.push(format!("severity {sign}{severity}"));
    }
    if !asks.impact.is_empty() {
        let words: Vec<&str> = asks.impact.iter().map(|impact| impact.as_str()).collect();
        parts.push(format!("impact {}", words.join(" or ")));
    }
    parts.extend(asks.labels.iter().map(|(name, value)| format!("{name}={value}")));
    if !asks.targets.is_empty() {
        let ids: Vec<&str> = asks.targets.iter().map(crate::model::target::TargetId::as_str).collect();
        parts.push(format!("target {}", ids.join(" or ")));
    }
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

fn pace(route: &Route) -> String {
    let mut said = String::new();
    if route.group_wait > Duration::ZERO {
        let _ = write!(said, "; waits {} for more of the same", span(route.group_wait));
    }
    if route.group_interval > Duration::ZERO {
        let _ = write!(said, "; at most one message each {}", span(route.group_interval));
    }
    match route.repeat {
        Some(Duration::ZERO) => said.push_str("; never reminds"),
        Some(repeat) => {
            let _ = write!(said, "; reminds each {}", span(repeat));
        }
        None => {}
    }
    if route.goes_on {
        said.push_str("; later routes see it too");
    }
    said
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::rule::{Impact, Severity};
    use crate::model::target::Kind;

    fn target() -> TargetSummary {
        TargetSummary {
            id: "tickets".parse().unwrap(),
            kind: Kind::Mcp,
            url: "https://mcp.example.com/mcp".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "payments".to_owned())]),
        }
    }

    fn route(matches: RouteMatch, to: &str) -> Route {
        Route {
            matches,
            to: vec![to.to_owned()],
            goes_on: false,
            group_wait: Duration::from_mins(1),
            group_interval: Duration::from_mins(15),
            repeat: None,
        }
    }

    #[test]
    fn each_route_says_what_it_takes_of_a_target_and_why_it_takes_nothing() {
        let high = RouteMatch {
            severity: Some((Comparison::AtLeast, Severity::High)),
            impact: vec![Impact::Security],
            ..RouteMatch::default()
        };
        let other =
            RouteMatch { labels: BTreeMap::from([("team".to_owned(), "web".to_owned())]), ..RouteMatch::default() };
        let routes = [
            route(high, "pager"),
            route(other, "web"),
            route(RouteMatch::default(), "mail"),
            route(RouteMatch::default(), "never"),
        ];
        let lines = of_target(&routes, &["pager".to_owned()], &target());
        let said: Vec<String> = lines.iter().map(|line| format!("{} {} {}", line.n, line.applies, line.text)).collect();
        assert_eq!(
            said,
            [
                "1 true severity >=high, impact security; waits 1m for more of the same; at most one message each 15m",
                "2 false team=web: not about this target",
                "3 true everything; waits 1m for more of the same; at most one message each 15m",
                "4 false everything: an earlier route takes everything",
            ]
        );
        assert_eq!(
            of_target(&routes[..1], &["pager".to_owned()], &target()).last().unwrap().n,
            0,
            "the rest goes to all"
        );
    }
}
