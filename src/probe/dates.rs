//! The five dates of the protocol, and which of them are spoken how.

/// Every request stands alone; `server/discover`.
pub const MODERN: &str = "2026-07-28";

/// Sessions by `initialize`, newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What is offered by `initialize` when nothing is known.
pub const NEWEST_LEGACY: &str = "2025-11-25";

/// Whether `date` is one of the four that `initialize` negotiates.
#[must_use]
pub fn is_legacy(date: &str) -> bool {
    LEGACY.contains(&date)
}

/// Whether `date` is one of the five.
#[must_use]
pub fn is_known(date: &str) -> bool {
    date == MODERN || is_legacy(date)
}

/// The newest of the four that `supported` names.
#[must_use]
pub fn newest_legacy(supported: &[String]) -> Option<&'static str> {
    LEGACY.into_iter().find(|date| supported.iter().any(|named| named == date))
}

/// Whether a session of this date is ended by DELETE. Older servers do not survive it (some answer 500 to everything
/// after), and of unknown dates nothing is known.
#[must_use]
pub fn ends_session(date: &str) -> bool {
    matches!(date, "2025-11-25" | "2025-06-18")
}
