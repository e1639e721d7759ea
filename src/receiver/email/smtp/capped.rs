//! A TCP stream that ends once its peer has sent too much.
//!
//! `lettre` caps a response after it has read a line, not while it reads one. Before TLS anybody on the way can answer
//! for the relay, so a line without end must not fill our memory. Below TLS what is counted is encrypted, and little more
//! than what it holds.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Far above any relay's greeting, extensions, certificates and answers together.
const CAP: usize = 1024 * 1024;

/// A stream with what its peer may still send.
#[derive(Debug)]
pub(super) struct Capped {
    stream: TcpStream,
    left: usize,
}

impl Capped {
    /// Caps `stream`.
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self { stream, left: CAP }
    }
}

impl AsyncRead for Capped {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let read = buf.filled().len().saturating_sub(before);
        let Some(left) = self.left.checked_sub(read) else {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the relay sent too much")));
        };
        self.left = left;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Capped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncTokioStream for Capped {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}
