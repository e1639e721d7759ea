//! `Retry-After` (RFC 9110 §10.2.3): seconds or a date; never further than a day from now.

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::{SignedDuration, Timestamp};

const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// Before which instant the peer does not want to be asked again.
pub(super) fn not_before(headers: &HeaderMap, at: Timestamp) -> Option<Timestamp> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match seconds(text) {
        Some(wait) => wait,
        None => jiff::fmt::rfc2822::parse(text).ok()?.timestamp().duration_since(at),
    };
    at.checked_add(wait.clamp(SignedDuration::ZERO, LONGEST)).ok()
}

/// A number of seconds; one that is beyond counting is a long one all the same.
fn seconds(text: &str) -> Option<SignedDuration> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().map_or(LONGEST, SignedDuration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Option<String> {
        let at: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
        not_before(&headers, at).map(|instant| instant.to_string())
    }

    #[test]
    fn seconds_and_dates_are_read_and_kept_within_a_day() {
        assert_eq!(after("120").as_deref(), Some("2026-11-30T12:02:00Z"));
        assert_eq!(after("Mon, 30 Nov 2026 12:30:00 GMT").as_deref(), Some("2026-11-30T12:30:00Z"));
        assert_eq!(after("99999999999999999999999").as_deref(), Some("2026-12-01T12:00:00Z"));
        assert_eq!(after("Fri, 30 Nov 2029 12:30:00 GMT").as_deref(), Some("2026-12-01T12:00:00Z"));
        assert_eq!(after("Mon, 30 Nov 2026 11:00:00 GMT").as_deref(), Some("2026-11-30T12:00:00Z"));
    }

    #[test]
    fn what_is_neither_is_ignored() {
        for text in ["", "soon", "-5", "1.5", "Mon, 99 Nov 2026 12:30:00 GMT"] {
            assert_eq!(after(text), None, "{text}");
        }
    }
}
