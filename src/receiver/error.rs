//! Why a delivery failed, typed by what happens next: tried again on the schedule, or never.
//!
//! Nothing a peer wrote and nothing configured enters an error: a webhook's URL is often itself a secret, and a
//! server's text may hold anything. What people read is one sentence of ours for each [`Reason`], with the status code
//! where there was one.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use super::resolve::Forbidden;

/// Why a message was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryError {
    /// Tried again on the schedule.
    Transient {
        /// Why.
        reason: Reason,
        /// The HTTP or SMTP status.
        code: Option<u16>,
        /// The wait that the peer asked for.
        retry_after: Option<Duration>,
    },
    /// Never tried again by itself.
    Permanent {
        /// Why.
        reason: Reason,
        /// The HTTP or SMTP status.
        code: Option<u16>,
    },
}

impl DeliveryError {
    /// Tried again; there was no answer with a status.
    pub const fn transient(reason: Reason) -> Self {
        Self::Transient { reason, code: None, retry_after: None }
    }

    /// Never tried again; there was no answer with a status.
    pub const fn permanent(reason: Reason) -> Self {
        Self::Permanent { reason, code: None }
    }

    /// Why.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Transient { reason, .. } | Self::Permanent { reason, .. } => *reason,
        }
    }

    /// The HTTP or SMTP status.
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Transient { code, .. } | Self::Permanent { code, .. } => *code,
        }
    }

    /// Whether it is never tried again by itself.
    pub const fn is_permanent(&self) -> bool {
        matches!(self, Self::Permanent { .. })
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason().sentence())?;
        self.code().map_or(Ok(()), |code| write!(f, " (status {code})"))
    }
}

impl Error for DeliveryError {}

/// The closed set of reasons: label `reason` of `driftd_notifications_failed_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No connection: the name does not resolve, no route, the connection broke.
    Unreachable,
    /// The name leads to an address that names may not lead to.
    Forbidden,
    /// Nothing listens there.
    Refused,
    /// Too slow.
    Timeout,
    /// No TLS, or a certificate that is not trusted.
    Tls,
    /// Our credential was not accepted.
    Auth,
    /// The peer does not take this message.
    Rejected,
    /// The peer takes no message now, and asks for a later try.
    Deferred,
    /// Too many requests.
    RateLimited,
    /// A gateway or an overloaded server.
    Unavailable,
    /// The peer failed.
    ServerError,
    /// The peer sent us elsewhere; receivers follow no redirect.
    Redirected,
    /// The peer says that it is gone for good.
    Gone,
    /// What answered does not speak the protocol.
    Protocol,
    /// The receiver as configured cannot work.
    Misconfigured,
    /// A secret could not be read.
    SecretUnavailable,
    /// Standard output could not be written.
    Output,
    /// A fault of ours.
    Internal,
}

impl Reason {
    /// All reasons, so that their series exist from the start.
    pub const ALL: [Self; 18] = [
        Self::Unreachable,
        Self::Forbidden,
        Self::Refused,
        Self::Timeout,
        Self::Tls,
        Self::Auth,
        Self::Rejected,
        Self::Deferred,
        Self::RateLimited,
        Self::Unavailable,
        Self::ServerError,
        Self::Redirected,
        Self::Gone,
        Self::Protocol,
        Self::Misconfigured,
        Self::SecretUnavailable,
        Self::Output,
        Self::Internal,
    ];

    /// The metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Forbidden => "forbidden",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Auth => "auth",
            Self::Rejected => "rejected",
            Self::Deferred => "deferred",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::ServerError => "server_error",
            Self::Redirected => "redirected",
            Self::Gone => "gone",
            Self::Protocol => "protocol",
            Self::Misconfigured => "misconfigured",
            Self::SecretUnavailable => "secret_unavailable",
            Self::Output => "output",
            Self::Internal => "internal",
        }
    }

    /// Whether the peer needs a pause before anything else is asked of it.
    pub const fn slows_down(self) -> bool {
        matches!(self, Self::Timeout | Self::RateLimited | Self::Unavailable)
    }

    /// What people read.
    const fn sentence(self) -> &'static str {
        match self {
            Self::Unreachable => "the receiver's server could not be reached",
            Self::Forbidden => "the receiver's name leads to an address that is not connected to",
            Self::Refused => "the receiver's server refused the connection",
            Self::Timeout => "the receiver's server took too long",
            Self::Tls => "no trusted TLS connection to the receiver's server",
            Self::Auth => "the receiver's server did not accept the credential",
            Self::Rejected => "the receiver's server rejected the message",
            Self::Deferred => "the receiver's server asked for a later try",
            Self::RateLimited => "the receiver's server has had too many requests",
            Self::Unavailable => "the receiver's server is not available",
            Self::ServerError => "the receiver's server failed",
            Self::Redirected => "the receiver's server points elsewhere, and redirects are not followed",
            Self::Gone => "the receiver's server says that it is gone for good",
            Self::Protocol => "the receiver's server gave no valid answer",
            Self::Misconfigured => "the receiver as configured cannot work",
            Self::SecretUnavailable => "a secret of the receiver could not be read",
            Self::Output => "standard output could not be written",
            Self::Internal => "driftd itself failed",
        }
    }

    /// What people can do about it.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Unreachable => "check the host and the port, and that this machine's network and firewall let it out",
            Self::Forbidden => "the name must not lead to link-local or metadata addresses: correct its DNS entry",
            Self::Refused => "nothing listens there: check the port, and whether the server runs",
            Self::Timeout => "check whether a firewall drops the packets, or whether the server is overloaded",
            Self::Tls => {
                "check `tls` and the port, the certificate's name and its date; `ca` trusts a private authority"
            }
            Self::Auth => "check the credential, and whether the server asks for one at all",
            Self::Rejected => "the server's own log says why: check sender, recipients and path",
            Self::Deferred => "try again in a while; the server's own log says why",
            Self::RateLimited | Self::Unavailable | Self::ServerError => {
                "the server's own log says why; driftd goes on trying what is due"
            }
            Self::Redirected => "configure the URL that it points to: redirects are not followed",
            Self::Gone => "the endpoint was removed: configure another URL",
            Self::Protocol => "something else listens there: check host, port and `tls`",
            Self::Misconfigured => "check the receiver in driftd.yaml, and what its secrets hold",
            Self::SecretUnavailable => "set the variable, or let driftd's user read the file",
            Self::Output => "standard output is closed: see how driftd was started",
            Self::Internal => "driftd's log says more",
        }
    }

    /// The reason of a failed connection, by the types in its chain of causes: never by their text.
    pub(super) fn of_connection(error: &(dyn Error + 'static)) -> Self {
        let mut found = Self::Unreachable;
        let mut next = Some(error);
        while let Some(error) = next {
            if error.is::<rustls::Error>() {
                return Self::Tls;
            }
            if error.is::<Forbidden>() {
                return Self::Forbidden;
            }
            if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
                return Self::Protocol;
            }
            if let Some(io) = error.downcast_ref::<io::Error>() {
                let kind = io.kind();
                if kind == io::ErrorKind::ConnectionRefused {
                    return Self::Refused;
                }
                if kind == io::ErrorKind::TimedOut {
                    return Self::Timeout;
                }
                if kind == io::ErrorKind::InvalidData {
                    // Also what TLS errors are wrapped in, so it is not the last word.
                    found = Self::Protocol;
                }
                // `source` of an io error skips the error that it wraps.
                next = io.get_ref().map(|inner| inner as &(dyn Error + 'static));
            } else {
                next = error.source();
            }
        }
        found
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reason_has_a_label_of_its_own() {
        let labels: BTreeSet<_> = Reason::ALL.into_iter().map(Reason::as_str).collect();
        assert_eq!(labels.len(), Reason::ALL.len());
    }

    #[test]
    fn a_status_is_told_and_nothing_else_of_the_answer() {
        let error = DeliveryError::Transient { reason: Reason::ServerError, code: Some(500), retry_after: None };
        assert_eq!(error.to_string(), "the receiver's server failed (status 500)");
        assert_eq!(
            DeliveryError::permanent(Reason::Misconfigured).to_string(),
            "the receiver as configured cannot work"
        );
    }

    #[test]
    fn a_cause_is_found_under_the_errors_that_wrap_it() {
        let tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError);
        assert_eq!(Reason::of_connection(&io::Error::other(tls)), Reason::Tls);
        let refused = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(Reason::of_connection(&refused), Reason::Refused);
        assert_eq!(Reason::of_connection(&io::Error::other("no such name")), Reason::Unreachable);
    }
}
