//! What a target that can be seen again says of the time in between: what differs from before, or that nothing does.

use crate::model::facet::FacetName;
use crate::model::rule::Severity;
use crate::model::target::TargetId;
use crate::model::text;

use super::words;

/// Changes that one sentence names.
const SHOWN: usize = 3;
/// Characters of one of them.
const ONE: usize = 120;

/// What the first scan after an outage found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// What differs, the worst first; none of it was seen before.
    pub changes: Vec<MeanwhileChange>,
    /// What is held and was not read yet.
    pub unread: Vec<FacetName>,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeanwhileChange {
    /// Whose, where several targets are told of.
    pub target: Option<TargetId>,
    /// Its sentence.
    pub message: String,
    /// How bad.
    pub severity: Severity,
}

impl Meanwhile {
    /// For a line of the history.
    #[must_use]
    pub fn in_short(&self) -> String {
        match self.changes.as_slice() {
            [] if self.unread.is_empty() => "seen again; nothing changed meanwhile".to_owned(),
            [] => format!("seen again, but for {}; nothing else changed meanwhile", self.unread_words()),
            [worst, ..] => {
                let worst = text::inert(&worst.message, ONE);
                format!("seen again; {} meanwhile: {worst}", words::count(self.changes.len(), "change"))
            }
        }
    }

    /// For the first lines of a message.
    pub(super) fn sentences(&self) -> Vec<String> {
        let unread = if self.unread.is_empty() {
            String::new()
        } else {
            format!("Not read again yet: {}.", self.unread_words())
        };
        let changed = match (self.changes.len(), self.unread.is_empty()) {
            (0, true) => "Nothing changed meanwhile: what is there is what was accepted.".to_owned(),
            (0, false) => "Nothing changed meanwhile in what could be read.".to_owned(),
            (n, _) => {
                let mut shown: Vec<String> = self.changes.iter().take(SHOWN).map(MeanwhileChange::clause).collect();
                if n > SHOWN {
                    shown.push(format!("and {} more", n - SHOWN));
                }
                format!(
                    "Changed meanwhile: {}. Each is told by itself once a second scan confirms it.",
                    shown.join("; ")
                )
            }
        };
        [changed, unread].into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn unread_words(&self) -> String {
        words::list(&self.unread.iter().map(|name| words::facet(*name)).collect::<Vec<_>>())
    }
}

impl MeanwhileChange {
    fn clause(&self) -> String {
        let message = text::inert(self.message.trim_end_matches('.'), ONE);
        match &self.target {
            Some(target) => format!("{target}: {message} ({})", self.severity),
            None => format!("{message} ({})", self.severity),
        }
    }
}
