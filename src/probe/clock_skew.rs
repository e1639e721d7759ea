//! How far the server's clock is from ours, by the `Date` of the answer that opened the conversation (RFC 9110 §6.6.1).

use std::time::Duration;

use http::HeaderMap;
use http::header::DATE;
use jiff::{SignedDuration, Timestamp};

use crate::model::observation::Remark;

const RULE: &str = "scan.clock-skew";
/// What tokens and signatures bear.
const MOST: SignedDuration = SignedDuration::from_mins(5);

/// What the date of an answer says that came `elapsed` after a scan began `at`, by the machine's clock.
pub(super) fn remark(headers: &HeaderMap, at: Timestamp, elapsed: Duration) -> Remark {
    let date = headers.get(DATE).and_then(|date| jiff::fmt::rfc2822::parse(date.to_str().ok()?.trim()).ok());
    let now = at.checked_add(elapsed).unwrap_or(at);
    match date {
        Some(date) if date.timestamp().duration_since(now).abs() > MOST => {
            let which = if date.timestamp() > now { "ahead of" } else { "behind" };
            Remark::finding(RULE, format!("it is {which} ours"))
        }
        Some(_) => Remark::passed(RULE),
        None => Remark::skipped(RULE, "the answer has no date"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::CheckVerdict;

    #[test]
    fn five_minutes_either_way_are_borne() {
        let at: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let said = |date: &str| {
            let headers = HeaderMap::from_iter([(DATE, date.parse().unwrap())]);
            remark(&headers, at, Duration::from_secs(1)).verdict
        };
        assert_eq!(said("Mon, 30 Nov 2026 12:05:00 GMT"), CheckVerdict::Passed);
        assert_eq!(said("Mon, 30 Nov 2026 11:55:02 GMT"), CheckVerdict::Passed);
        assert_eq!(said("Mon, 30 Nov 2026 12:05:02 GMT"), CheckVerdict::Finding);
        assert_eq!(said("Mon, 30 Nov 2026 11:54:59 GMT"), CheckVerdict::Finding);
        assert_eq!(said("yesterday"), CheckVerdict::Skipped);
        assert_eq!(remark(&HeaderMap::new(), at, Duration::ZERO).verdict, CheckVerdict::Skipped);
    }
}
