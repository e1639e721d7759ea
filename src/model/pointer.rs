//! A place inside a facet's value: an RFC 6901 pointer by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An RFC 6901 JSON Pointer. Items of lists are addressed by their name, never by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The whole value.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The pointer of these unescaped tokens.
    #[must_use]
    pub fn of<T: Into<String>>(tokens: impl IntoIterator<Item = T>) -> Self {
        Self(tokens.into_iter().map(Into::into).collect())
    }

    /// The tokens, unescaped.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.iter().map(String::as_str)
    }

    /// The `index`th token.
    #[must_use]
    pub fn token(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }

    /// The place one step below.
    #[must_use]
    pub fn child(&self, token: impl Into<String>) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.into());
        Self(tokens)
    }

    /// The place one step above; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, above)| Self(above.to_vec()))
    }

    /// Whether `self` is `other` or lies above it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Number of tokens.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// A text that is no RFC 6901 pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pointer is empty or starts with `/`, and `~` stands only in `~0` and `~1`: {0:?}")]
pub struct PointerError(String);

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let Some(rest) = text.strip_prefix('/') else { return Err(PointerError(text.to_owned())) };
        let unescape = |token: &str| {
            let bare = token.replace("~0", "").replace("~1", "");
            (!bare.contains('~')).then(|| token.replace("~1", "/").replace("~0", "~"))
        };
        rest.split('/').map(unescape).collect::<Option<Vec<_>>>().map(Self).ok_or_else(|| PointerError(text.to_owned()))
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, PointerError> {
        text.parse()
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_survive_the_round_trip() {
        let pointer = Pointer::of(["items", "a/b~c", "", "n\u{0}2"]);
        assert_eq!(pointer.to_string(), "/items/a~1b~0c//n\u{0}2");
        assert_eq!(pointer.to_string().parse(), Ok(pointer));
        assert!("items".parse::<Pointer>().is_err());
        assert!("/a~2".parse::<Pointer>().is_err());
    }
}
