//! A drift in the making: code says rule, case, place and words; the table says the rest.

use std::collections::BTreeSet;

use crate::judge::diff::Place;
use crate::judge::hidden;
use crate::judge::rules;
use crate::judge::words::Budget;
use crate::model::digest::Digest;
use crate::model::drift::{Claim, Detail, Drift, Fingerprint, Inside, Note};
use crate::model::facet::{Facet, FacetName};
use crate::model::json::Json;
use crate::model::pointer::Pointer;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};
use crate::model::target::TargetId;
use crate::model::text;

use super::dates::Dates;

/// What the rules of one facet need besides its values.
#[derive(Debug)]
pub(in crate::judge) struct Scene<'a> {
    /// The facet.
    pub(in crate::judge) facet: FacetName,
    /// Dates of the baseline's conversation and of this one.
    pub(in crate::judge) dates: Dates,
    /// A list's order is not compared.
    pub(in crate::judge) order_ignored: bool,
    /// Host of the target's URL, in lower case.
    pub(in crate::judge) host: &'a str,
    /// The server's hints may lower a severity.
    pub(in crate::judge) trusts_hints: bool,
    /// Names of tools, old and new, that stand out in a text.
    pub(in crate::judge) tools: BTreeSet<&'a str>,
    /// What word diffs may still cost.
    pub(in crate::judge) budget: &'a Budget,
}

/// A drift in the making.
#[derive(Clone, Debug)]
pub(in crate::judge) struct Draft {
    pub(in crate::judge) rule: &'static str,
    pub(in crate::judge) case: &'static str,
    pub(in crate::judge) path: Pointer,
    before: Vec<Json>,
    after: Vec<Json>,
    claims: Vec<Claim>,
    pub(in crate::judge) notes: Vec<Note>,
    pub(in crate::judge) message: String,
    pub(in crate::judge) details: Vec<Detail>,
    inside: Vec<Inside>,
    worst: Option<Severity>,
    further: Vec<Impact>,
}

impl Draft {
    /// A drift at `place`.
    pub(in crate::judge) fn at(place: &Place<'_>, rule: &'static str, case: &'static str, message: String) -> Self {
        Self {
            rule,
            case,
            path: place.path().clone(),
            before: place.before(),
            after: place.after(),
            claims: Vec::new(),
            notes: Vec::new(),
            message,
            details: Vec::new(),
            inside: Vec::new(),
            worst: None,
            further: Vec::new(),
        }
    }

    /// The same for a rule without cases.
    pub(in crate::judge) fn plain(place: &Place<'_>, rule: &'static str, message: String) -> Self {
        Self::at(place, rule, "-", message)
    }

    /// A difference that no rule of its own sees.
    pub(in crate::judge) fn other(place: &Place<'_>, message: String) -> Self {
        Self::plain(place, "x.other-changed", message).told(place)
    }

    /// Adds what a message shows.
    pub(in crate::judge) fn with(mut self, detail: Detail) -> Self {
        self.details.push(detail);
        self
    }

    /// Adds old and new, when both are short.
    pub(in crate::judge) fn told(mut self, place: &Place<'_>) -> Self {
        self.details.extend(moved(place));
        self
    }

    /// Adds a line of ours.
    pub(in crate::judge) fn line(self, text: impl Into<String>) -> Self {
        self.with(Detail::Text { text: text.into() })
    }

    /// Accounts for a further place, with its value now.
    pub(in crate::judge) fn claiming(mut self, path: Pointer, now: Option<&Json>) -> Self {
        self.claims.push(Claim { path, after: now.map(Digest::of) });
        self
    }

    /// Adds a companion.
    pub(in crate::judge) fn noting(mut self, rule: &str, text: impl Into<String>) -> Self {
        self.notes.push(Note { rule: rule.to_owned(), text: text.into() });
        self
    }

    /// Takes the worst of what is told inside it: a rename does not hide that a tool may write now.
    pub(in crate::judge) fn at_least(mut self, severity: Severity, impact: &[Impact]) -> Self {
        self.worst = self.worst.max(Some(severity));
        self.further.extend(impact);
        self
    }

    /// Tells what else changed in the item inside this drift; companions of it become companions of this.
    pub(in crate::judge) fn holding(mut self, mut inner: Vec<Self>) -> Self {
        inner.sort_by_key(|inner| std::cmp::Reverse(inner.rated().0));
        for inner in inner {
            let (severity, _) = inner.rated();
            self.notes.extend(inner.notes);
            let rule = RuleCase::new(inner.rule, inner.case);
            let (path, message, details) = (inner.path, inner.message, inner.details);
            self.inside.push(Inside { path, rule, severity, message, details });
        }
        self
    }

    /// Severity and impact by the table.
    pub(in crate::judge) fn rated(&self) -> (Severity, &'static [Impact]) {
        let row = rules::case(self.rule, self.case).map(|(_, case)| case);
        (row.and_then(|case| case.severity).unwrap_or(Severity::Low), row.map_or(&[], |case| case.impact))
    }

    /// Turns into `tool.hidden-unicode` when the new value hides characters that no accepted one does.
    pub(in crate::judge) fn checked_for_hidden(mut self, inherited: Option<&Json>) -> Self {
        let mut now = hidden::Hidden::default();
        self.after.iter().for_each(|value| hidden::add(value, &mut now));
        if now.is_empty() {
            return self;
        }
        let mut known = hidden::Hidden::default();
        self.before.iter().chain(inherited).for_each(|value| hidden::add(value, &mut known));
        if now.characters.is_subset(&known.characters) {
            return self;
        }
        let text = format!("{} that people do not see and models read", now.words());
        self.details.insert(0, Detail::Text { text: format!("hidden: {}", now.words()) });
        if !now.decoded.is_empty() {
            self.details.insert(1, Detail::Quote { label: "they spell".to_owned(), text: now.decoded.clone() });
        }
        let (severity, impact) = self.rated();
        self.message = format!("{}; it holds {text}", self.message);
        (self.rule, self.case) = ("tool.hidden-unicode", now.case());
        self.at_least(severity, impact)
    }

    /// The drift, rated by the table.
    pub(in crate::judge) fn finish(self, target: &TargetId, facet: FacetName) -> Drift {
        let row = rules::case(self.rule, self.case).map(|(_, case)| case);
        let severity =
            row.and_then(|case| case.severity).unwrap_or(Severity::Low).max(self.worst.unwrap_or(Severity::Info));
        let mut impact: Vec<Impact> = row.map(|case| case.impact.to_vec()).unwrap_or_default();
        for further in self.further {
            if !impact.contains(&further) {
                impact.push(further);
            }
        }
        let none = if facet.facet == Facet::Scan { Class::Sight } else { Class::Surface };
        let class = match row.and_then(|case| case.class).unwrap_or(none) {
            Class::Surface if severity >= Severity::High && impact.contains(&Impact::Security) => Class::Security,
            class @ (Class::Security | Class::Surface | Class::Sight) => class,
        };
        let mut claims = self.claims;
        let own = match self.after.as_slice() {
            [] => None,
            [only] => Some(Digest::of(only)),
            several => Some(Digest::of_parts(several.iter().map(|value| *Digest::of(value).bytes()))),
        };
        claims.push(Claim { path: self.path.clone(), after: own });
        claims.sort();
        claims.dedup_by(|left, right| left.path == right.path);
        let fingerprint = fingerprint(target, facet, &self.path, &self.after, &claims);
        Drift {
            facet,
            path: self.path,
            rule: RuleCase::new(self.rule, self.case),
            severity,
            impact,
            class,
            fold: row.map_or(Fold::Value, |case| case.fold),
            before: self.before,
            after: self.after,
            claims,
            notes: self.notes,
            message: self.message,
            details: self.details,
            inside: self.inside,
            fingerprint,
        }
    }
}

/// A check that passed and is a finding: its severity is the check's, and the case is named for it.
pub(in crate::judge) fn worse(path: Pointer, severity: Severity, message: String, details: Vec<Detail>) -> Draft {
    let (before, after) = (vec![Json::from("passed")], vec![Json::from("finding")]);
    let (rule, case) = ("x.posture-regressed", severity.as_str());
    let (claims, notes, inside, further) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Draft { rule, case, path, before, after, claims, notes, message, details, inside, worst: None, further }
}

/// A drift that is no difference of values: what kept us from seeing.
pub(in crate::judge) fn sight(
    path: Pointer,
    rule: &'static str,
    case: &'static str,
    message: String,
    detail: String,
) -> Draft {
    let after = vec![Json::from(rule)];
    let details = vec![Detail::Text { text: detail }];
    let (claims, notes, inside, further) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Draft { rule, case, path, before: Vec::new(), after, claims, notes, message, details, inside, worst: None, further }
}

/// Over key, new values and claims, not the rule: a better rule re-opens nothing (design, section 5).
pub(in crate::judge) fn fingerprint(
    target: &TargetId,
    facet: FacetName,
    path: &Pointer,
    after: &[Json],
    claims: &[Claim],
) -> Fingerprint {
    let mut parts = vec![target.to_string(), facet.to_string(), path.to_string()];
    let mut values: Vec<String> = after.iter().map(Json::canonical).collect();
    values.sort();
    if values.is_empty() {
        values.push("absent".to_owned());
    }
    parts.push(values.len().to_string());
    parts.extend(values);
    for claim in claims {
        parts.push(claim.path.to_string());
        parts.push(claim.after.map_or_else(|| "absent".to_owned(), |digest| digest.hex()));
    }
    Fingerprint(Digest::of_parts(parts))
}

/// Old and new as one line each, when both are short; a text of several lines is never one.
pub(in crate::judge) fn moved(place: &Place<'_>) -> Option<Detail> {
    let (from, to) = (brief(place.old())?, brief(place.now())?);
    let composed = |value: Option<&Json>| matches!(value, Some(Json::Array(_) | Json::Object(_)));
    // What is no name or number is told as it is spelled: its own texts stand in quotes already.
    Some(if composed(place.old()) || composed(place.now()) {
        let (from, to) = (spelled(place.old())?, spelled(place.now())?);
        Detail::Text { text: format!("{from} -> {to}") }
    } else {
        Detail::Moved { from, to }
    })
}

/// A short value inside a sentence of ours: as [`brief`], but a text stands in quotes.
pub(in crate::judge) fn spelled(value: Option<&Json>) -> Option<String> {
    brief(value)?;
    Some(value.map_or_else(|| "(none)".to_owned(), |value| text::inert(&value.canonical(), 300)))
}

/// A value in a few words; `(none)` when it is absent.
pub(in crate::judge) fn brief(value: Option<&Json>) -> Option<String> {
    const LONGEST: usize = 120;
    let text = match value {
        None => return Some("(none)".to_owned()),
        Some(Json::String(text)) => text.clone(),
        Some(Json::Object(_)) if value.is_some_and(|value| is_large(value, &mut 40)) => return None,
        Some(Json::Array(_)) if value.is_some_and(|value| is_large(value, &mut 40)) => return None,
        Some(value) => value.canonical(),
    };
    (text.len() <= LONGEST && !text.contains('\n')).then_some(text)
}

/// Whether a value has more than `left` values in it: decided without writing it out.
fn is_large(value: &Json, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else { return true };
    *left = less;
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        Json::Array(items) => items.iter().any(|item| is_large(item, left)),
        Json::Object(members) => members.values().any(|item| is_large(item, left)),
    }
}
