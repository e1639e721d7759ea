//! A number by its exact decimal value.

use std::fmt;

/// Beyond this exponent a number is written as text of its digits and exponent, never as plain digits.
const PLAIN_EXPONENT: i64 = 400;

/// An exact decimal: `digits × 10^exponent`, without leading or trailing zeros in `digits`.
///
/// Two numbers are equal exactly when their decimal values are, whatever their spelling; `-0` is `0`.
/// The order is that of the representation and serves only to sort sets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Number {
    /// Reads the spelling that RFC 8259 allows; the caller has checked the grammar.
    #[must_use]
    pub fn from_decimal(text: &str) -> Self {
        let negative = text.starts_with('-');
        let unsigned = text.trim_start_matches(['-', '+']);
        let (mantissa, written) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let trimmed = all.trim_end_matches('0');
        let dropped = i64::try_from(all.len() - trimmed.len()).unwrap_or(i64::MAX);
        let digits = trimmed.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits: "0".to_owned(), exponent: 0 };
        }
        let shift = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        Self { negative, digits, exponent: written.saturating_sub(shift).saturating_add(dropped) }
    }

    /// The value as an integer, when it is one and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if !(0..=18).contains(&self.exponent) {
            return None;
        }
        let zeros = usize::try_from(self.exponent).ok()?;
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}{}", self.digits, "0".repeat(zeros)).parse().ok()
    }

    /// The nearest double.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.scientific().parse().unwrap_or(f64::NAN)
    }

    /// Whether the exponent is beyond ±400, so that the canonical form writes the number as text.
    #[must_use]
    pub fn is_out_of_range(&self) -> bool {
        let magnitude = self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX)) - 1;
        magnitude.abs() > PLAIN_EXPONENT
    }

    /// The canonical spelling: that of RFC 8785 where the shortest double has this very value, else plain digits;
    /// a quoted string when [`Number::is_out_of_range`].
    #[must_use]
    pub fn canonical(&self) -> String {
        if self.is_out_of_range() {
            return format!("\"{}\"", self.scientific());
        }
        let double = self.as_f64();
        if double.is_finite() && Self::from_decimal(&format!("{double:e}")) == *self {
            return self.ecmascript();
        }
        self.plain()
    }

    /// Digits and exponent, as a number is written that no plain spelling is made of.
    #[must_use]
    pub(super) fn scientific(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
    }

    /// `Number::toString` of ECMA-262, which RFC 8785 takes, on digits that are already the shortest.
    fn ecmascript(&self) -> String {
        let count = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let point = count.saturating_add(self.exponent);
        if -6 < point && point <= 21 {
            return self.plain();
        }
        let sign = if self.negative { "-" } else { "" };
        let (first, rest) = self.digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let power = point - 1;
        let plus = if power > 0 { "+" } else { "" };
        format!("{sign}{first}{dot}{rest}e{plus}{power}")
    }

    fn plain(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let count = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        let point = count.saturating_add(self.exponent);
        if self.exponent >= 0 {
            let zeros = usize::try_from(self.exponent).unwrap_or(0);
            return format!("{sign}{}{}", self.digits, "0".repeat(zeros));
        }
        if point <= 0 {
            let zeros = usize::try_from(-point).unwrap_or(0);
            return format!("{sign}0.{}{}", "0".repeat(zeros), self.digits);
        }
        let (whole, fraction) = self.digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{sign}{whole}.{fraction}")
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::from_decimal(&value.to_string())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

/// An exponent of more digits than fit is as good as infinite.
fn parse_exponent(text: &str) -> i64 {
    let negative = text.starts_with('-');
    let value = text.trim_start_matches(['-', '+']).parse().unwrap_or(i64::from(i32::MAX)).min(i64::from(i32::MAX));
    if negative { -value } else { value }
}
