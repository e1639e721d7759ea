//! Where a receiver's name leads, and whether it may.
//!
//! Receivers are written destinations: an address is connected to as it stands, a name only to addresses that the
//! egress rule leaves to names. Who controls a zone must not be able to point a delivery, signed and with a password, at
//! the metadata service of the machine that driftd runs on. The rule itself is not ours: it is handed in.

use std::io;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The addresses of `host`, as far as they may be connected to.
pub(super) async fn addresses(host: &str, port: u16, reachable: fn(IpAddr) -> bool) -> io::Result<Vec<SocketAddr>> {
    if let Ok(literal) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(literal, port)]);
    }
    let found: Vec<_> = tokio::net::lookup_host((host, port)).await?.collect();
    let allowed: Vec<_> = found.iter().copied().filter(|address| reachable(address.ip())).collect();
    if allowed.is_empty() && !found.is_empty() { Err(io::Error::other(Forbidden)) } else { Ok(allowed) }
}

/// The name leads nowhere but to addresses that names may not lead to. The addresses stay unsaid.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that is not connected to")]
pub(super) struct Forbidden;

/// The same for the HTTP client, which asks for names alone.
#[derive(Debug)]
pub(super) struct Names(pub(super) fn(IpAddr) -> bool);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let reachable = self.0;
        Box::pin(async move {
            let addresses = addresses(name.as_str(), 0, reachable).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_leads_only_where_names_may() {
        let open = addresses("localhost", 25, |_| true).await.unwrap();
        assert!(!open.is_empty() && open.iter().all(|address| address.ip().is_loopback() && address.port() == 25));
        let closed = addresses("localhost", 25, |_| false).await.unwrap_err();
        assert!(closed.get_ref().is_some_and(|inner| inner.is::<Forbidden>()), "{closed:?}");
    }

    #[tokio::test]
    async fn an_address_is_used_as_written() {
        assert_eq!(addresses("::1", 25, |_| false).await.unwrap(), ["[::1]:25".parse().unwrap()]);
    }
}
