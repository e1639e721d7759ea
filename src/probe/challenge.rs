//! `WWW-Authenticate` (RFC 9110 §11.6.1): several challenges in several fields, quoted strings, token68.
//!
//! What does not parse is kept as it stands under `raw`, so that a change of it is not hidden. What a challenge is
//! worth is judged elsewhere.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};

use crate::model::json::{Json, Members};

/// Challenges that are kept of one answer.
const MAX_CHALLENGES: usize = 32;

/// Whether the answer carries a challenge at all.
#[must_use]
pub fn is_present(headers: &HeaderMap) -> bool {
    headers.contains_key(WWW_AUTHENTICATE)
}

/// The value of the facet `auth.challenge`.
#[must_use]
pub fn value(status: StatusCode, headers: &HeaderMap) -> Json {
    Json::from([("status", Json::from(i64::from(status.as_u16()))), ("challenges", Json::Array(challenges(headers)))])
}

/// All challenges, in order.
#[must_use]
pub fn challenges(headers: &HeaderMap) -> Vec<Json> {
    let fields = headers.get_all(WWW_AUTHENTICATE).iter();
    let parsed = fields.flat_map(|field| parse(&String::from_utf8_lossy(field.as_bytes())));
    parsed.take(MAX_CHALLENGES).collect()
}

/// The challenges of one field.
#[must_use]
pub fn parse(field: &str) -> Vec<Json> {
    let mut reader = Reader { rest: field };
    let mut challenges = Vec::new();
    while challenges.len() < MAX_CHALLENGES {
        reader.skip(|c| matches!(c, ' ' | '\t' | ','));
        if reader.rest.is_empty() {
            break;
        }
        let start = reader.rest;
        if let Some(challenge) = reader.challenge() {
            challenges.push(challenge);
        } else {
            challenges.push(Json::from([("raw", Json::from(start))]));
            break;
        }
    }
    challenges
}

/// What is left to read.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(skipped);
    }

    fn take(&mut self, taken: impl Fn(char) -> bool) -> &'t str {
        let after = self.rest.trim_start_matches(taken);
        let (head, _) = self.rest.split_at(self.rest.len() - after.len());
        self.rest = after;
        head
    }

    fn challenge(&mut self) -> Option<Json> {
        let scheme = self.take(is_token);
        if scheme.is_empty() || !self.rest.is_empty() && !self.rest.starts_with([' ', '\t', ',']) {
            return None;
        }
        let mut members = Members::from([("scheme".to_owned(), Json::from(scheme))]);
        self.skip(is_space);
        if let Some(token) = self.token68() {
            members.insert("token68".to_owned(), Json::from(token));
            return Some(Json::Object(members));
        }
        members.insert("params".to_owned(), Json::Object(self.params()?));
        Some(Json::Object(members))
    }

    /// `abc==` up to a comma or the end; a parameter goes on after its `=`.
    fn token68(&mut self) -> Option<&'t str> {
        let mut ahead = Reader { rest: self.rest };
        let start = ahead.rest;
        let letters = ahead.take(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '+' | '/'));
        let padding = ahead.take(|c| c == '=');
        let (token, _) = start.split_at(letters.len() + padding.len());
        ahead.skip(is_space);
        let ends = ahead.rest.is_empty() || ahead.rest.starts_with(',');
        if letters.is_empty() || !ends {
            return None;
        }
        self.rest = ahead.rest;
        Some(token)
    }

    /// Parameters up to the next scheme or the end; names are case-insensitive. `None` when one is malformed.
    fn params(&mut self) -> Option<Members> {
        let mut params = Members::new();
        loop {
            self.skip(|c| matches!(c, ' ' | '\t' | ','));
            let mut ahead = Reader { rest: self.rest };
            let name = ahead.take(is_token);
            ahead.skip(is_space);
            let Some(after) = ahead.rest.strip_prefix('=') else {
                // The name is the next challenge's scheme, or there is nothing more.
                return Some(params);
            };
            if name.is_empty() {
                return None;
            }
            self.rest = after;
            self.skip(is_space);
            let value = self.param_value()?;
            insert(&mut params, &name.to_ascii_lowercase(), value);
        }
    }

    fn param_value(&mut self) -> Option<String> {
        match self.rest.strip_prefix('"') {
            Some(after) => {
                self.rest = after;
                self.quoted()
            }
            // Unquoted URLs are no tokens, and are sent all the same.
            None => Some(self.take(|c| !matches!(c, ',' | ' ' | '\t')).to_owned()),
        }
    }

    /// The rest of a quoted string; `None` when it does not end.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut characters = self.rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    let (_, after) = self.rest.split_at(at);
                    self.rest = after.strip_prefix('"')?;
                    return Some(value);
                }
                '\\' => value.push(characters.next()?.1),
                other => value.push(other),
            }
        }
        None
    }
}

/// A parameter that comes twice is kept under its name, U+0000 and its number.
fn insert(params: &mut Members, name: &str, value: String) {
    let mut key = name.to_owned();
    let mut copy = 1;
    while params.contains_key(&key) && copy < MAX_CHALLENGES {
        copy += 1;
        key = format!("{name}\0{copy}");
    }
    params.insert(key, Json::from(value));
}

const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// RFC 9110 §5.6.2.
const fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '!' | '#' | '$' | '%' | '&' | '\'' | '*' | '+' | '-' | '.' | '^' | '_' | '`' | '|' | '~')
}

#[cfg(test)]
mod tests;
