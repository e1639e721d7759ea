//! What kept us from seeing, in one table: the kind, the rule that tells it, the outcome of the scan.

use http::StatusCode;
use jiff::Timestamp;

use super::exchange::{Exchange, Nothing, Reply};
use super::retry_after;
use crate::model::facet::{Face, UnseenKind, UnseenReason};
use crate::model::observation::Outcome;
use crate::net::NetError;
use crate::net::guard::RefusalReason;

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: UnseenKind,
    /// In our words.
    pub(super) detail: String,
    pub(super) not_before: Option<Timestamp>,
}

impl Trouble {
    pub(super) fn new(kind: UnseenKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), not_before: None }
    }

    /// The answer to a request that a valid result should have answered.
    pub(super) fn of(exchange: &Exchange, face: Face, at: Timestamp) -> Self {
        let status = exchange.head.status;
        let mut trouble = match kind_of_status(status, face) {
            Some(kind) => Self::new(kind, format!("HTTP {}", status.as_u16())),
            None if exchange.head.way.is_none() => Self::of_program(&exchange.reply),
            None => Self::of_reply(&exchange.reply, status),
        };
        let says_when = [UnseenKind::RateLimited, UnseenKind::ServerError, UnseenKind::Blocked];
        if says_when.contains(&trouble.kind) {
            trouble.not_before = retry_after::not_before(&exchange.head.headers, at);
        }
        trouble
    }

    /// What a program answered has no status.
    fn of_program(reply: &Reply) -> Self {
        match reply {
            Reply::Error(error) => Self::new(UnseenKind::RpcError, format!("error {}", error.code)),
            Reply::Result(_) | Reply::Nothing(_) => Self::of_reply(reply, StatusCode::OK),
        }
    }

    fn of_reply(reply: &Reply, status: StatusCode) -> Self {
        let number = status.as_u16();
        match reply {
            Reply::Error(error) => Self::new(UnseenKind::RpcError, format!("error {} (HTTP {number})", error.code)),
            Reply::Result(_) | Reply::Nothing(_) if status.is_server_error() => {
                Self::new(UnseenKind::ServerError, format!("HTTP {number}"))
            }
            Reply::Result(_) | Reply::Nothing(_) if !status.is_success() => {
                Self::new(UnseenKind::HttpStatus, format!("HTTP {number}"))
            }
            Reply::Result(_) => Self::new(UnseenKind::InvalidJsonrpc, "the result lacks what it must have"),
            Reply::Nothing(nothing) => Self::of_nothing(*nothing),
        }
    }

    fn of_nothing(nothing: Nothing) -> Self {
        match nothing {
            Nothing::Empty | Nothing::Unread => Self::new(UnseenKind::InvalidJsonrpc, "the answer is empty"),
            Nothing::NotJson => Self::new(UnseenKind::InvalidJson, "the answer is no JSON"),
            Nothing::NotJsonrpc => Self::new(UnseenKind::InvalidJsonrpc, "the answer is no JSON-RPC 2.0 response"),
            Nothing::ForeignId => Self::new(UnseenKind::InvalidJsonrpc, "the answer has another id"),
            Nothing::Cut => Self::new(UnseenKind::Unreachable, "the stream ended before the answer"),
            Nothing::TooLarge => Self::new(UnseenKind::TooLarge, "too many values, events or levels"),
        }
    }

    pub(super) fn reason(&self) -> UnseenReason {
        UnseenReason { kind: self.kind, detail: self.detail.clone() }
    }

    /// Nothing more is asked after this.
    pub(super) const fn ends_scan(&self) -> bool {
        matches!(self.kind, UnseenKind::Blocked | UnseenKind::RateLimited | UnseenKind::OurFault | UnseenKind::Rebound)
    }

    /// The rule and case when it stands for the whole endpoint.
    pub(super) const fn endpoint_rule(&self) -> (&'static str, &'static str) {
        match self.kind {
            UnseenKind::Unreachable | UnseenKind::Timeout | UnseenKind::ServerError | UnseenKind::NotReached => {
                ("scan.unreachable", "-")
            }
            UnseenKind::Blocked => ("scan.blocked", "under_24h"),
            UnseenKind::RateLimited => ("scan.rate-limited", "-"),
            UnseenKind::CredentialRejected => ("scan.credential-rejected", "-"),
            UnseenKind::CredentialUnavailable => ("scan.credential-unavailable", "-"),
            UnseenKind::HttpStatus => ("scan.http-error", "-"),
            UnseenKind::InvalidJson | UnseenKind::InvalidJsonrpc | UnseenKind::RpcError => {
                ("scan.handshake-failed", "-")
            }
            UnseenKind::TooLarge => ("scan.response-too-large", "-"),
            UnseenKind::Rebound => ("net.address-class-changed", "-"),
            UnseenKind::Refused | UnseenKind::Guarded | UnseenKind::CursorLoop | UnseenKind::OurFault => {
                ("scan.error", "-")
            }
        }
    }

    /// The rule when it is about one facet and the handshake stood.
    pub(super) const fn facet_rule(&self) -> (&'static str, &'static str) {
        match self.kind {
            UnseenKind::InvalidJson => ("scan.invalid-json", "-"),
            UnseenKind::InvalidJsonrpc => ("scan.invalid-jsonrpc", "-"),
            UnseenKind::CursorLoop => ("scan.cursor-loop", "-"),
            UnseenKind::TooLarge => ("scan.response-too-large", "-"),
            UnseenKind::CredentialRejected => ("scan.credential-rejected", "-"),
            UnseenKind::CredentialUnavailable => ("scan.credential-unavailable", "-"),
            UnseenKind::Unreachable
            | UnseenKind::Timeout
            | UnseenKind::ServerError
            | UnseenKind::HttpStatus
            | UnseenKind::Blocked
            | UnseenKind::RateLimited
            | UnseenKind::Guarded
            | UnseenKind::RpcError
            | UnseenKind::Refused
            | UnseenKind::Rebound
            | UnseenKind::NotReached
            | UnseenKind::OurFault => ("scan.partial", "-"),
        }
    }

    /// The outcome of a scan that this ended.
    pub(super) const fn outcome(&self) -> Outcome {
        match self.kind {
            UnseenKind::Unreachable | UnseenKind::Timeout | UnseenKind::ServerError | UnseenKind::NotReached => {
                Outcome::Unreachable
            }
            UnseenKind::Blocked => Outcome::Blocked,
            UnseenKind::RateLimited => Outcome::RateLimited,
            UnseenKind::CredentialRejected => Outcome::CredentialRejected,
            UnseenKind::CredentialUnavailable
            | UnseenKind::HttpStatus
            | UnseenKind::InvalidJson
            | UnseenKind::InvalidJsonrpc
            | UnseenKind::RpcError
            | UnseenKind::TooLarge
            | UnseenKind::Refused
            | UnseenKind::Rebound
            | UnseenKind::Guarded
            | UnseenKind::CursorLoop
            | UnseenKind::OurFault => Outcome::Error,
        }
    }

    /// Whether something answered in HTTP, so that it can be said that it does not speak MCP.
    pub(super) const fn is_answer(&self) -> bool {
        matches!(
            self.kind,
            UnseenKind::HttpStatus | UnseenKind::InvalidJson | UnseenKind::InvalidJsonrpc | UnseenKind::RpcError
        )
    }
}

impl From<NetError> for Trouble {
    fn from(error: NetError) -> Self {
        let kind = match error {
            NetError::Refused(refusal) if refusal.why == RefusalReason::WasPublic => UnseenKind::Rebound,
            NetError::Refused(_) | NetError::LeftOrigin | NetError::BadRedirect | NetError::Request => {
                UnseenKind::Refused
            }
            NetError::Dns
            | NetError::Connect
            | NetError::TlsCertificate
            | NetError::Tls
            | NetError::Broken
            | NetError::NoProgram
            | NetError::Ended
            | NetError::NotHttp => UnseenKind::Unreachable,
            NetError::Exhausted => UnseenKind::OurFault,
            NetError::Timeout => UnseenKind::Timeout,
            NetError::ScanTimeout => UnseenKind::NotReached,
            NetError::HeadersTooLarge
            | NetError::BodyTooLarge
            | NetError::ScanTooLarge
            | NetError::TooManyRedirects
            | NetError::TooManyMessages
            | NetError::ChainTooLarge => UnseenKind::TooLarge,
            NetError::OwnTls(_) => UnseenKind::CredentialUnavailable,
            NetError::Decompression | NetError::Coding => UnseenKind::InvalidJson,
        };
        Self::new(kind, error.to_string())
    }
}

/// What the status alone says. Of the stranger, 401 and a 403 with a challenge have been taken as a guard before.
fn kind_of_status(status: StatusCode, face: Face) -> Option<UnseenKind> {
    match (status, face) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Face::Auth) => Some(UnseenKind::CredentialRejected),
        (StatusCode::UNAUTHORIZED, Face::Stranger) => Some(UnseenKind::Guarded),
        (StatusCode::FORBIDDEN, Face::Stranger)
        | (StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS, _) => {
            Some(UnseenKind::Blocked)
        }
        (StatusCode::TOO_MANY_REQUESTS, _) => Some(UnseenKind::RateLimited),
        (StatusCode::REQUEST_TIMEOUT, _) => Some(UnseenKind::Timeout),
        (_, _) => None,
    }
}
