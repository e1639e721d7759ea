//! What a person names: an incident, one of its revisions, or a fingerprint.

use std::str::FromStr;

use super::Refused;
use crate::model::incident::IncidentId;

/// What a person names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `4F7K2` or `4F7K2.1`.
    Incident(IncidentId, Option<u32>),
    /// Eight hexadecimal digits of a fingerprint, or more, with or without `sha256:`.
    Fingerprint(String),
}

impl FromStr for Reference {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() >= 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Fingerprint(hex.to_ascii_lowercase()));
        }
        let (id, revision) = match text.split_once('.') {
            Some((id, revision)) => (id, Some(revision)),
            None => (text, None),
        };
        let usage = || {
            Refused::Usage(format!(
                "{text:?} names nothing: give an incident (4F7K2), one of its revisions (4F7K2.1), or eight digits of a \
                 fingerprint or more"
            ))
        };
        let revision = revision.map(str::parse).transpose().map_err(|_| usage())?;
        Ok(Self::Incident(id.parse().map_err(|_| usage())?, revision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_revisions_and_fingerprints_are_told_apart() {
        assert!(matches!("4F7K2".parse(), Ok(Reference::Incident(_, None))));
        assert!(matches!("4f7k2.12".parse(), Ok(Reference::Incident(_, Some(12)))));
        assert_eq!("sha256:3859ABF3".parse(), Ok(Reference::Fingerprint("3859abf3".to_owned())));
        for wrong in ["", "4F7K", "4F7K2.x", "4F7K2.", "U0000"] {
            assert!(wrong.parse::<Reference>().is_err(), "{wrong:?}");
        }
    }
}
