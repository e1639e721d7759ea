//! A peer's bytes to JSON: secrets taken out, values and depth counted, heavy documents two at a time.

use std::borrow::Cow;

use super::client::Visit;
use super::{HEAVY_DOCUMENT, Scrub};
use crate::model::digest::Digest;
use crate::model::json::{Json, Limits, Members, ParseError, Parsed};

impl Visit<'_> {
    /// The digest of a document's bytes, secrets taken out.
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        Digest::of_bytes(&self.scrub().scrub(bytes))
    }

    /// A value that was made of what the peer said, without any secret of ours.
    pub fn clean(&self, value: Json) -> Json {
        scrubbed(value, self.scrub())
    }

    /// Parses one document of the peer; no secret of ours is left in it.
    ///
    /// # Errors
    /// When it is no JSON, or beyond [`Limits::PEER`].
    pub async fn parse(&self, bytes: &[u8]) -> Result<Parsed, ParseError> {
        let clean = self.scrub().scrub(bytes);
        // The semaphore is never closed; if it were, parsing without a permit would be no harm.
        let _permit = if clean.len() > HEAVY_DOCUMENT { self.heavy().acquire().await.ok() } else { None };
        let parsed = Json::parse(&clean, Limits::PEER)?;
        // A secret can hide behind escapes (`\/`, `\u0041`), which the bytes do not show.
        if clean.contains(&b'\\') {
            return Ok(Parsed { value: scrubbed(parsed.value, self.scrub()), issues: parsed.issues });
        }
        Ok(parsed)
    }
}

/// Depth is bounded by [`Limits::PEER`].
fn scrubbed(value: Json, scrub: &dyn Scrub) -> Json {
    match value {
        Json::String(text) => Json::String(scrubbed_text(text, scrub)),
        Json::Array(items) => Json::Array(items.into_iter().map(|item| scrubbed(item, scrub)).collect()),
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .map(|(name, value)| (scrubbed_text(name, scrub), scrubbed(value, scrub)))
                .collect::<Members>(),
        ),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_)) => other,
    }
}

fn scrubbed_text(text: String, scrub: &dyn Scrub) -> String {
    match scrub.scrub(text.as_bytes()) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => String::from_utf8_lossy(&clean).into_owned(),
    }
}
