//! What session ids say of themselves (MCP 2025-11-25, "Session Management"). The ids are never told.

use http::HeaderValue;

use crate::model::observation::Remark;

const RULE: &str = "mcp.session-id-weak";

/// Session ids below this length can be guessed.
const SHORT: usize = 16;
/// Ids that differ in so few characters are looked at as numbers.
const NUMBER: usize = 8;
/// Two ids this near to each other are counted, not drawn.
const NEAR: u64 = 256;

/// What is wrong with one id.
pub(super) fn weakness(id: &HeaderValue) -> Option<Remark> {
    if !id.as_bytes().iter().all(u8::is_ascii_graphic) {
        return Some(Remark::finding(RULE, "a session id is not visible ASCII"));
    }
    (id.len() < SHORT).then(|| Remark::finding(RULE, format!("a session id has {} bytes", id.len())))
}

/// What two sessions of one server show: they want two ids, of which one does not tell the other.
pub(super) fn compared(first: Option<&HeaderValue>, second: Option<&HeaderValue>) -> Option<Remark> {
    let first = first?;
    Some(match second {
        Some(second) if first == second => Remark::finding(RULE, "two sessions have one id"),
        Some(second) if is_sequential(first.as_bytes(), second.as_bytes()) => {
            Remark::finding(RULE, "the ids of two sessions are next to each other")
        }
        Some(_) => Remark::passed(RULE),
        None => Remark::skipped(RULE, "no second session could be compared"),
    })
}

/// Whether the two differ in a number alone, and by little.
fn is_sequential(first: &[u8], second: &[u8]) -> bool {
    let start = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let (first, second) = (first.get(start..).unwrap_or_default(), second.get(start..).unwrap_or_default());
    let end = first.iter().rev().zip(second.iter().rev()).take_while(|(a, b)| a == b).count();
    let number = |rest: &[u8], radix| {
        let middle = rest.get(..rest.len().saturating_sub(end)).unwrap_or_default();
        let text = std::str::from_utf8(middle).ok().filter(|text| text.len() <= NUMBER)?;
        if text.is_empty() { Some(0) } else { u64::from_str_radix(text, radix).ok() }
    };
    [10, 16].into_iter().any(|radix| {
        let pair = number(first, radix).zip(number(second, radix));
        pair.is_some_and(|(first, second)| first.abs_diff(second) <= NEAR)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_counted_are_told_from_ids_that_are_drawn() {
        let counted = [
            ("00000000-0000-4000-8000-000000000009", "00000000-0000-4000-8000-000000000010"),
            ("session-0000000000000001", "session-0000000000000002"),
            ("5f3a000000000000000000fe", "5f3a00000000000000000101"),
            ("node-a-99-of-the-cluster", "node-a-100-of-the-cluster"),
        ];
        for (first, second) in counted {
            assert!(is_sequential(first.as_bytes(), second.as_bytes()), "{first} {second}");
        }
        let drawn = [
            ("1868a90c-6f3e-4c5b-9d0a-3f6f6c1d2e3b", "e8f1b2c4-0a6d-4f0e-8b1c-7a9d5e3c1f20"),
            ("0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-7d05-ba01-2a4ec0b3d9ef"),
            ("Zm9vYmFyYmF6cXV4MTIz", "cXV1eGNvcmdlZ3JhdWx0"),
        ];
        for (first, second) in drawn {
            assert!(!is_sequential(first.as_bytes(), second.as_bytes()), "{first} {second}");
        }
    }

    #[test]
    fn one_id_for_two_sessions_is_no_secret() {
        let id = HeaderValue::from_static("1868a90c-6f3e-4c5b-9d0a-3f6f6c1d2e3b");
        assert_eq!(compared(Some(&id), Some(&id)), Some(Remark::finding(RULE, "two sessions have one id")));
        assert_eq!(compared(None, Some(&id)), None);
    }
}
