//! Names to addresses, and the guard on them: the client connects only to what comes out of its guarded form.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::{Destination, Egress, HostForm, Refusal, decide};
use crate::model::observation::AddressClass;

/// Addresses of one name that are looked at; further ones are left out.
const MAX_ADDRESSES: usize = 32;

/// Resolves names.
pub trait Resolver: fmt::Debug + Send + Sync {
    /// The addresses of `name`.
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).take(MAX_ADDRESSES).collect())
        })
    }
}

/// A lookup without any address; found again by type in the client's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name has no address")]
pub(super) struct NoAddress;

/// The rule of one client, with what it knows of the target.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) destination: Destination,
    pub(super) fleet: Arc<[IpNet]>,
    pub(super) target: Arc<[IpNet]>,
    pub(super) baseline: Option<AddressClass>,
    pub(super) own: Option<AddressClass>,
}

impl Rule {
    pub(super) fn decide(&self, form: HostForm, address: IpAddr) -> Result<AddressClass, Refusal> {
        let egress = Egress { fleet: &self.fleet, target: &self.target, baseline: self.baseline, own: self.own };
        decide(self.destination, form, address, &egress)
    }
}

/// A resolver that answers only what the guard lets through.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    pub(super) inner: Arc<dyn Resolver>,
    pub(super) rule: Rule,
}

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    /// The resolver said so.
    #[error(transparent)]
    Lookup(#[from] io::Error),
    /// It has none.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
    /// The guard lets none of them through.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Guarded {
    /// The addresses of `name` that the guard lets through, at least one.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NoWay> {
        let mut refusal = None;
        let mut open = Vec::new();
        for address in self.inner.lookup(name).await?.into_iter().take(MAX_ADDRESSES) {
            match self.rule.decide(HostForm::Name, address) {
                Ok(_) => open.push(address),
                Err(refused) => refusal = Some(refused),
            }
        }
        match (open.is_empty(), refusal) {
            (false, _) => Ok(open),
            (true, Some(refused)) => Err(refused.into()),
            (true, None) => Err(NoAddress.into()),
        }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guarded = self.clone();
        Box::pin(async move {
            match guarded.addresses(name.as_str()).await {
                // Port 0 stands for the URL's.
                Ok(open) => Ok(Box::new(open.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs),
                Err(NoWay::Lookup(error)) => Err(error.into()),
                Err(NoWay::NoAddress(error)) => Err(error.into()),
                Err(NoWay::Refused(error)) => Err(error.into()),
            }
        })
    }
}
