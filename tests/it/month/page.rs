//! The month on a page that a person can check: what happened, and what was sent about it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use driftd::model::alert::{Alert, AlertType};
use jiff::Timestamp;

use super::post::Try;
use super::story::Story;

/// A message that arrived.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) receiver: String,
    pub(super) alert: Alert,
    /// When it arrived, really.
    pub(super) at: Timestamp,
    pub(super) tries: usize,
}

/// What became of each message, in the order of arrival; then those that never arrived.
pub(super) fn outcomes(tries: &[Try]) -> (Vec<Sent>, Vec<Sent>) {
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    let (mut sent, mut lost) = (Vec::new(), BTreeMap::new());
    for Try { message, at, taken } in tries {
        let key = (message.receiver.as_str(), message.id.as_str());
        let tries = counts.entry(key).or_default();
        *tries += 1;
        let (receiver, alert) = (message.receiver.clone(), message.body.alert.clone());
        let outcome = Sent { receiver, alert, at: *at, tries: *tries };
        if *taken {
            lost.remove(&key);
            sent.push(outcome);
        } else {
            lost.insert(key, outcome);
        }
    }
    let mut lost: Vec<Sent> = lost.into_values().collect();
    lost.sort_by_key(|lost| lost.at);
    (sent, lost)
}

/// The page.
pub(super) fn page(story: &Story, sent: &[Sent], lost: &[Sent], scans: usize) -> String {
    let mut page = head(sent, lost, scans);
    let mut names = Names::default();
    let mut entries: Vec<(Timestamp, usize, String)> =
        story.lines().iter().map(|(at, text)| (*at, 0, format!("{}  -- {text}", clock(*at)))).collect();
    for (place, group) in groups(sent).into_iter().enumerate() {
        entries.push((group[0].at, place + 1, row(&group, &mut names)));
    }
    entries.sort();
    let mut day = String::new();
    for (at, _, text) in entries {
        let today = at.strftime("%A, %d %B").to_string();
        if today != day {
            writeln!(page, "\n{today}").unwrap();
            day = today;
        }
        writeln!(page, "{text}").unwrap();
    }
    if !lost.is_empty() {
        page.push_str("\nGiven up\n");
    }
    for one in lost {
        writeln!(page, "{}", row(&[one], &mut names)).unwrap();
    }
    page
}

fn head(sent: &[Sent], lost: &[Sent], scans: usize) -> String {
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    for one in sent {
        *counts.entry((one.alert.kind.as_str(), &one.receiver)).or_default() += 1;
    }
    let mut head = format!("{} messages arrived, {} were given up; {scans} scans.\n\n", sent.len(), lost.len());
    let kinds: std::collections::BTreeSet<&str> = counts.keys().map(|(kind, _)| *kind).collect();
    for kind in kinds {
        let of = |receiver| counts.get(&(kind, receiver)).copied().unwrap_or_default();
        writeln!(head, "{kind:<15} {:>3} to ops  {:>3} to hook", of("ops"), of("hook")).unwrap();
    }
    head.push_str("\nLines with -- are what happened; the others are messages. Times are UTC, as they really were.\n");
    head
}

/// What is the same for several receivers at the same instant is one row.
fn groups(sent: &[Sent]) -> Vec<Vec<&Sent>> {
    let mut groups = Vec::<Vec<&Sent>>::new();
    for one in sent {
        let same = |other: &Sent| {
            let (a, b) = (&one.alert, &other.alert);
            (one.at, one.tries) == (other.at, other.tries)
                && (a.kind, &a.headline, &a.incident, &a.passages) == (b.kind, &b.headline, &b.incident, &b.passages)
        };
        match groups.iter_mut().find(|group| same(group[0])) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn row(group: &[&Sent], names: &mut Names) -> String {
    let Sent { alert, at, tries, .. } = group[0];
    let mut receivers: Vec<&str> = group.iter().map(|one| one.receiver.as_str()).collect();
    receivers.sort_unstable();
    receivers.reverse();
    let incident = alert.incident.as_ref().map(|incident| format!("{}.{} ", incident.id, incident.revision));
    let targets: Vec<&str> = alert.targets.iter().map(|target| target.id.as_str()).collect();
    let targets = if alert.incident.is_some() { format!("{}: ", targets.join(", ")) } else { String::new() };
    let tries = if *tries > 1 { format!(" [{tries} tries]") } else { String::new() };
    let mut row = format!(
        "{}  {:<8}  {:<14} {:<8} {}{targets}{}{tries}",
        clock(*at),
        receivers.join("+"),
        alert.kind.as_str(),
        alert.severity.to_string(),
        incident.unwrap_or_default(),
        alert.headline,
    );
    if matches!(alert.kind, AlertType::Digest | AlertType::FleetReport) {
        for passage in alert.passages.iter().filter(|passage| !passage.heading.starts_with("WHAT YOU CAN DO")) {
            write!(row, "\n{:>24}{}", "", passage.heading).unwrap();
            passage.lines.iter().for_each(|line| write!(row, "\n{:>26}{line}", "").unwrap());
        }
    }
    names.in_words(&row, alert)
}

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

/// Incidents by the order in which they are told of, since their ids say nothing to a reader.
#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn in_words(&mut self, row: &str, alert: &Alert) -> String {
        let mut known: Vec<String> = alert.incident.iter().map(|incident| incident.id.to_string()).collect();
        let words = row.split(|c: char| !c.is_ascii_alphanumeric());
        known.extend(words.filter(|word| is_id(word)).map(str::to_owned));
        for id in known {
            if !self.0.contains(&id) {
                self.0.push(id);
            }
        }
        let named = self.0.iter().enumerate();
        named.fold(row.to_owned(), |row, (n, id)| row.replace(id.as_str(), &format!("#{}", n + 1)))
    }
}

fn is_id(word: &str) -> bool {
    word.len() == 5 && word.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}
