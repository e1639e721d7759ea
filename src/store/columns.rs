//! Between columns and nouns: times as milliseconds, digests as bytes, documents as JSON, enums as their words.

use std::str::FromStr;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::error::StoreError;
use crate::model::digest::Digest;
use crate::model::pointer::Pointer;

type Result<T> = std::result::Result<T, StoreError>;

/// Milliseconds since 1970.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// The instant of milliseconds since 1970.
pub(super) fn instant(millis: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(millis).map_err(|error| StoreError::unreadable("time", error))
}

/// A count as a column; no count of ours comes near the limit.
pub(super) fn count(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A document of ours.
pub(super) fn to_json<T: Serialize + ?Sized>(document: &T) -> Result<String> {
    serde_json::to_string(document).map_err(|error| StoreError::Other(format!("a document of ours: {error}")))
}

/// A document of ours, read back.
pub(super) fn from_json<T: DeserializeOwned>(what: &str, text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| StoreError::unreadable(what, error))
}

/// The word of a unit variant.
pub(super) fn word<T: Serialize>(variant: T) -> Result<String> {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(_) | Err(_) => Err(StoreError::Other("an enum of ours has no word".to_owned())),
    }
}

/// The unit variant of a word.
pub(super) fn variant<T: DeserializeOwned>(word: &str) -> Result<T> {
    let words: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    T::deserialize(words).map_err(|error| StoreError::unreadable("word", error))
}

/// A path as a JSON string: no U+0000 in it.
pub(super) fn path_text(path: &Pointer) -> Result<String> {
    to_json(path)
}

/// Typed access to a row.
pub(super) trait Columns {
    /// Text.
    fn text(&self, name: &str) -> Result<&str>;
    /// Text that may be missing.
    fn maybe_text(&self, name: &str) -> Result<Option<&str>>;
    /// An integer.
    fn int(&self, name: &str) -> Result<i64>;
    /// An integer that may be missing.
    fn maybe_int(&self, name: &str) -> Result<Option<i64>>;
    /// Bytes.
    fn bytes(&self, name: &str) -> Result<&[u8]>;
    /// A digest that may be missing.
    fn maybe_digest(&self, name: &str) -> Result<Option<Digest>>;

    /// A count.
    fn u64(&self, name: &str) -> Result<u64> {
        u64::try_from(self.int(name)?).map_err(|error| StoreError::unreadable(name, error))
    }
    /// A small count.
    fn u32(&self, name: &str) -> Result<u32> {
        u32::try_from(self.int(name)?).map_err(|error| StoreError::unreadable(name, error))
    }
    /// Yes or no.
    fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int(name)? != 0)
    }
    /// An instant.
    fn time(&self, name: &str) -> Result<Timestamp> {
        instant(self.int(name)?)
    }
    /// An instant that may be missing.
    fn maybe_time(&self, name: &str) -> Result<Option<Timestamp>> {
        self.maybe_int(name)?.map(instant).transpose()
    }
    /// A digest.
    fn digest(&self, name: &str) -> Result<Digest> {
        self.maybe_digest(name)?.ok_or_else(|| StoreError::unreadable(name, "no digest"))
    }
    /// A document.
    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        from_json(name, self.text(name)?.as_bytes())
    }
    /// A document that may be missing.
    fn maybe_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        self.maybe_text(name)?.map(|text| from_json(name, text.as_bytes())).transpose()
    }
    /// Something with a text form.
    fn parsed<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<T> {
        self.text(name)?.parse().map_err(|error| StoreError::unreadable(name, error))
    }
    /// Something with a text form that may be missing.
    fn maybe_parsed<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Option<T>> {
        let text = self.maybe_text(name)?;
        text.map(|text| text.parse().map_err(|error| StoreError::unreadable(name, error))).transpose()
    }
    /// A unit variant by its word.
    fn variant<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        variant(self.text(name)?)
    }
    /// A unit variant by its word, or none.
    fn maybe_variant<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        self.maybe_text(name)?.map(variant).transpose()
    }
}

impl Columns for SqliteRow {
    fn text(&self, name: &str) -> Result<&str> {
        Ok(self.try_get(name)?)
    }
    fn maybe_text(&self, name: &str) -> Result<Option<&str>> {
        Ok(self.try_get(name)?)
    }
    fn int(&self, name: &str) -> Result<i64> {
        Ok(self.try_get(name)?)
    }
    fn maybe_int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.try_get(name)?)
    }
    fn bytes(&self, name: &str) -> Result<&[u8]> {
        Ok(self.try_get(name)?)
    }
    fn maybe_digest(&self, name: &str) -> Result<Option<Digest>> {
        let bytes: Option<&[u8]> = self.try_get(name)?;
        let digest = |bytes: &[u8]| {
            let array = bytes.try_into().map_err(|error| StoreError::unreadable(name, error))?;
            Ok(Digest::from_bytes(array))
        };
        bytes.map(digest).transpose()
    }
}
