//! What kept an answer from us, typed by what its reader does next; never read from an error's text.

use std::error::Error;
use std::io;

use super::exhausted;
use super::guard::Refusal;
use super::own::OwnPart;
use super::resolve::NoWay;

/// One request without a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NetError {
    /// The guard refused the address.
    #[error("{0}")]
    Refused(Refusal),
    /// The name has no address.
    #[error("the name could not be resolved")]
    Dns,
    /// Nobody listens, or nobody answers there.
    #[error("no connection could be made")]
    Connect,
    /// The certificate does not verify.
    #[error("the TLS certificate does not verify")]
    TlsCertificate,
    /// A chain of certificates beyond all use.
    #[error("the certificate chain is above 16 certificates or 64 KiB")]
    ChainTooLarge,
    /// A file of ours that the target is asked with cannot be used.
    #[error("what `{}` names cannot be used", .0.key())]
    OwnTls(OwnPart),
    /// TLS failed otherwise.
    #[error("the TLS handshake failed")]
    Tls,
    /// The limit of one request ran out.
    #[error("no whole answer within the time limit")]
    Timeout,
    /// The limit of the scan ran out.
    #[error("the scan's time limit ran out")]
    ScanTimeout,
    /// The connection ended before the answer did.
    #[error("the connection broke")]
    Broken,
    /// What came is no HTTP.
    #[error("the answer is no valid HTTP")]
    NotHttp,
    /// Header fields beyond [`super::MAX_HEADERS`], or more of them than the client reads.
    #[error("the answer has more than 100 header fields, or more than 64 KiB of them")]
    HeadersTooLarge,
    /// A body beyond [`super::MAX_ANSWER`], compressed or not.
    #[error("the answer's body is above 4 MiB")]
    BodyTooLarge,
    /// Bodies beyond [`super::MAX_SCAN`] in one scan.
    #[error("the scan's answers together are above 16 MiB")]
    ScanTooLarge,
    /// The compressed body is damaged or cut.
    #[error("the compressed body is damaged")]
    Decompression,
    /// A content coding that was not offered.
    #[error("the body has a content coding that was not offered")]
    Coding,
    /// More than [`super::MAX_REDIRECTS`] in a row.
    #[error("more than 5 redirects in a row")]
    TooManyRedirects,
    /// A redirect without a usable address.
    #[error("a redirect leads to no usable address")]
    BadRedirect,
    /// A redirect would have left the origin that gets our credential.
    #[error("a redirect leads to an origin that does not get our credential")]
    LeftOrigin,
    /// There is no such program, or it may not be run.
    #[error("the program could not be started")]
    NoProgram,
    /// A program of ours closed its output, or its input, before it answered.
    #[error("the program ended before it answered")]
    Ended,
    /// More messages than one conversation may have.
    #[error("more than 1,000 messages in one conversation")]
    TooManyMessages,
    /// A limit of ours: nothing was learned of the peer.
    #[error("driftd has no descriptors or memory left to connect with")]
    Exhausted,
    /// A fault of ours: no request could be built.
    #[error("the request could not be built")]
    Request,
}

/// How far we got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before any connection.
    Address,
    /// Connecting.
    Connect,
    /// TLS.
    Tls,
    /// Waiting for the answer, or reading it.
    Answer,
    /// A cap ended it.
    Cap,
    /// A time limit ended it.
    Deadline,
}

impl NetError {
    /// How far we got.
    #[must_use]
    pub const fn phase(self) -> Phase {
        match self {
            Self::Refused(_) | Self::Dns | Self::Exhausted | Self::Request | Self::OwnTls(_) => Phase::Address,
            Self::Connect | Self::NoProgram => Phase::Connect,
            Self::TlsCertificate | Self::Tls => Phase::Tls,
            Self::Broken
            | Self::NotHttp
            | Self::Decompression
            | Self::Coding
            | Self::BadRedirect
            | Self::Ended
            | Self::LeftOrigin => Phase::Answer,
            Self::HeadersTooLarge
            | Self::BodyTooLarge
            | Self::ScanTooLarge
            | Self::TooManyRedirects
            | Self::TooManyMessages
            | Self::ChainTooLarge => Phase::Cap,
            Self::Timeout | Self::ScanTimeout => Phase::Deadline,
        }
    }
}

impl NetError {
    /// Of a name that leads nowhere.
    pub(super) fn of_name(error: &NoWay) -> Self {
        match error {
            NoWay::Refused(refusal) => Self::Refused(*refusal),
            NoWay::Lookup(error) if exhausted::comes_of_it(error) || !exhausted::descriptors_left() => Self::Exhausted,
            NoWay::Lookup(_) | NoWay::NoAddress(_) => Self::Dns,
        }
    }

    /// Of a connection that was not made.
    pub(super) fn of_connection(error: &io::Error) -> Self {
        if exhausted::comes_of_it(error) { Self::Exhausted } else { Self::Connect }
    }

    /// Of a handshake that looks at no certificate and still failed.
    pub(super) fn of_handshake(error: &io::Error) -> Self {
        if find::<rustls::Error>(error).is_some() || error.kind() == io::ErrorKind::UnexpectedEof {
            Self::Tls
        } else {
            Self::Broken
        }
    }
}

impl From<reqwest::Error> for NetError {
    fn from(error: reqwest::Error) -> Self {
        if let Some(refusal) = find::<Refusal>(&error) {
            return Self::Refused(*refusal);
        }
        if exhausted::comes_of_it(&error) {
            return Self::Exhausted;
        }
        if error.is_timeout() {
            return Self::Timeout;
        }
        if error.is_dns() {
            // The system's resolver says only that it failed.
            return if exhausted::descriptors_left() { Self::Dns } else { Self::Exhausted };
        }
        if let Some(tls) = find::<rustls::Error>(&error) {
            return if matches!(tls, rustls::Error::InvalidCertificate(_)) { Self::TlsCertificate } else { Self::Tls };
        }
        if let Some(hyper) = find::<hyper::Error>(&error) {
            if hyper.is_parse_too_large() {
                return Self::HeadersTooLarge;
            }
            if hyper.is_parse() {
                return Self::NotHttp;
            }
        }
        if error.is_builder() {
            return Self::Request;
        }
        if error.is_connect() { Self::Connect } else { Self::Broken }
    }
}

/// The first error of type `E` in the chain. An `io::Error` hides the error it was made of from `source`, so it is
/// asked for it.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(inner) = inner {
            let inner: &(dyn Error + 'static) = inner;
            if let Some(found) = find::<E>(inner) {
                return Some(found);
            }
        }
        next = error.source();
    }
    None
}
