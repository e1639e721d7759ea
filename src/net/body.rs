//! Reading a body under its caps: bytes on the wire, bytes decompressed, bytes of the scan, and time.
//!
//! The client decompresses nothing by itself; we offer gzip alone and unpack it piece by piece, so that a bomb is
//! cut off at the cap and not after it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::write::MultiGzDecoder;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::MAX_SCAN;
use super::error::NetError;

/// What all answers of one scan may still bring.
#[derive(Debug)]
pub(super) struct Budget {
    wire: AtomicUsize,
    unpacked: AtomicUsize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { wire: AtomicUsize::new(MAX_SCAN), unpacked: AtomicUsize::new(MAX_SCAN) }
    }
}

fn charge(left: &AtomicUsize, bytes: usize) -> Result<(), NetError> {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
        .map(|_| ())
        .map_err(|_| NetError::ScanTooLarge)
}

/// How the body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Unknown,
}

fn coding(headers: &HeaderMap) -> Coding {
    let mut values = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    match (values.next(), values.next()) {
        (None, _) => Coding::Identity,
        (Some(only), None) if only.is_empty() || only.eq_ignore_ascii_case(b"identity") => Coding::Identity,
        (Some(only), None) if only.eq_ignore_ascii_case(b"gzip") || only.eq_ignore_ascii_case(b"x-gzip") => {
            Coding::Gzip
        }
        (Some(_), _) => Coding::Unknown,
    }
}

/// One answer's body, not yet read.
#[derive(Debug)]
pub struct Body {
    response: reqwest::Response,
    coding: Coding,
    gunzip: Option<MultiGzDecoder<Sink>>,
    wire: usize,
    unpacked: usize,
    limit: Limit,
    budget: Arc<Budget>,
}

/// When a request must be over, and which of the two limits that is; and how much it may bring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) at: Instant,
    pub(super) error: NetError,
    /// Bytes that may come until then.
    pub(super) bytes: usize,
}

impl Body {
    pub(super) fn new(response: reqwest::Response, limit: Limit, budget: Arc<Budget>) -> Self {
        let coding = coding(response.headers());
        let gunzip = match coding {
            Coding::Gzip => Some(MultiGzDecoder::new(Sink { out: Vec::new(), room: limit.bytes, full: false })),
            Coding::Identity | Coding::Unknown => None,
        };
        Self { response, coding, gunzip, wire: 0, unpacked: 0, limit, budget }
    }

    /// The next bytes, unpacked; `None` at the end. An empty piece is not the end.
    ///
    /// # Errors
    /// When a cap or a time limit is met, or the connection breaks.
    pub async fn piece(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        let arrived = tokio::time::timeout_at(self.limit.at, self.response.chunk()).await;
        let chunk = arrived.map_err(|_| self.limit.error)??;
        let Some(chunk) = chunk else {
            return self.finish();
        };
        self.wire = self.wire.saturating_add(chunk.len());
        if self.wire > self.limit.bytes {
            return Err(NetError::BodyTooLarge);
        }
        charge(&self.budget.wire, chunk.len())?;
        let unpacked = match (self.coding, &mut self.gunzip) {
            (Coding::Unknown, _) => return Err(NetError::Coding),
            (_, Some(gunzip)) => unpack(gunzip, &chunk)?,
            (_, None) => Vec::from(chunk),
        };
        self.count(unpacked).map(Some)
    }

    /// The whole body, unpacked.
    ///
    /// # Errors
    /// As [`Body::piece`].
    pub async fn whole(mut self) -> Result<Vec<u8>, NetError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.piece().await? {
            if whole.is_empty() {
                whole = piece;
            } else {
                whole.extend_from_slice(&piece);
            }
        }
        Ok(whole)
    }

    fn count(&mut self, unpacked: Vec<u8>) -> Result<Vec<u8>, NetError> {
        self.unpacked = self.unpacked.saturating_add(unpacked.len());
        if self.unpacked > self.limit.bytes {
            return Err(NetError::BodyTooLarge);
        }
        charge(&self.budget.unpacked, unpacked.len())?;
        Ok(unpacked)
    }

    fn finish(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        let Some(mut gunzip) = self.gunzip.take() else {
            return Ok(None);
        };
        // Nothing at all is no gzip stream and no fault either.
        if self.wire == 0 {
            return Ok(None);
        }
        gunzip.try_finish().map_err(|_| fault(&gunzip))?;
        let rest = std::mem::take(&mut gunzip.get_mut().out);
        if rest.is_empty() { Ok(None) } else { self.count(rest).map(Some) }
    }
}

fn unpack(gunzip: &mut MultiGzDecoder<Sink>, chunk: &[u8]) -> Result<Vec<u8>, NetError> {
    let written = gunzip.write_all(chunk).and_then(|()| gunzip.flush());
    written.map_err(|_| fault(gunzip))?;
    let sink = gunzip.get_mut();
    let out = std::mem::take(&mut sink.out);
    sink.room = sink.room.saturating_sub(out.len());
    Ok(out)
}

fn fault(gunzip: &MultiGzDecoder<Sink>) -> NetError {
    if gunzip.get_ref().full { NetError::BodyTooLarge } else { NetError::Decompression }
}

/// Takes unpacked bytes as long as there is room.
#[derive(Debug)]
struct Sink {
    out: Vec<u8>,
    room: usize,
    full: bool,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.out.len().saturating_add(bytes.len()) > self.room {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
