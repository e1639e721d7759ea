//! TLS before the relay says a word (RFC 8314), over a stream whose length is capped.
//!
//! `lettre` opens the connection itself where TLS comes first, and reads a line to its end before it asks how long that
//! is. So TLS is put over our own capped stream, by the one door that `lettre` has to it, and handed back as if it were
//! plain: what is capped is what arrives, encrypted or not.
#![expect(deprecated, reason = "lettre's only public way to put TLS over a stream that it did not open itself")]

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::io::{AsyncRead as _, AsyncWrite as _};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::{AsyncNetworkStream, AsyncTokioStream, TlsParameters};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A TLS stream.
#[derive(Debug)]
pub(super) struct Secure(AsyncNetworkStream);

impl Secure {
    /// Shakes hands over `stream`.
    pub(super) async fn over(stream: Box<dyn AsyncTokioStream>, tls: TlsParameters) -> Result<Self, Error> {
        let mut stream = AsyncNetworkStream::use_existing_tokio1(stream);
        stream.upgrade_tls(tls).await?;
        Ok(Self(stream))
    }
}

impl AsyncRead for Secure {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.0).poll_read(cx, buf.initialize_unfilled()))?;
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Secure {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

impl AsyncTokioStream for Secure {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }
}
