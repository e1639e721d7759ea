//! Matching of patterns. A peer chooses the paths that are matched, so no pattern may make it slow: the newest `**` (or
//! `*` of a rule) alone is tried again, which costs at most pattern times path.

use crate::model::facet::FacetName;
use crate::model::pointer::Pointer;
use crate::model::policy::{PathPattern, PatternSegment};

/// Whether `text` is what `pattern` says; `*` stands for any characters, none included.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    wild(&pattern, &text, |wanted| *wanted == '*', |wanted, found| wanted == found)
}

/// Whether `pattern` says this place: facet and path, whole. The facet without `@` is that of every face.
#[must_use]
pub fn matches_path(pattern: &PathPattern, facet: FacetName, path: &Pointer) -> bool {
    let (named, anywhere) = (facet.to_string(), facet.facet.as_str());
    let place: Vec<Token<'_>> =
        std::iter::once(Token::Facet { named: &named, anywhere }).chain(path.tokens().map(Token::Name)).collect();
    let is_many = |segment: &PatternSegment| match segment {
        PatternSegment::Many => true,
        PatternSegment::Exactly(_) | PatternSegment::One => false,
    };
    wild(&pattern.0, &place, is_many, |segment, token| match segment {
        PatternSegment::Exactly(name) => token.is(name),
        PatternSegment::One | PatternSegment::Many => true,
    })
}

/// A step of a place.
enum Token<'a> {
    /// The first: a facet, with its face and without.
    Facet { named: &'a str, anywhere: &'a str },
    /// Any further one.
    Name(&'a str),
}

impl Token<'_> {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Facet { named, anywhere } => name == *named || name == *anywhere,
            Self::Name(own) => name == *own,
        }
    }
}

/// Whether `pattern` matches all of `text`, where a wild part stands for any number of elements.
fn wild<P, T>(pattern: &[P], text: &[T], is_wild: impl Fn(&P) -> bool, fits: impl Fn(&P, &T) -> bool) -> bool {
    let (mut at, mut read) = (0, 0);
    // After the newest wild part: where the pattern goes on, and how much of the text that part has taken.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(element) = text.get(read) {
        match pattern.get(at) {
            Some(part) if is_wild(part) => {
                at += 1;
                retry = Some((at, read));
            }
            Some(part) if fits(part, element) => {
                at += 1;
                read += 1;
            }
            Some(_) | None => {
                let Some((after, taken)) = retry else { return false };
                retry = Some((after, taken + 1));
                (at, read) = (after, taken + 1);
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(is_wild))
}
