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
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) inner: Arc<dyn Resolver>,
    pub(super) rule: Rule,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = self.inner.lookup(name.as_str());
        let rule = self.rule.clone();
        Box::pin(async move {
            let mut refusal = None;
            let mut open = Vec::new();
            for address in lookup.await?.into_iter().take(MAX_ADDRESSES) {
                match rule.decide(HostForm::Name, address) {
                    // Port 0 stands for the URL's.
                    Ok(_) => open.push(SocketAddr::new(address, 0)),
                    Err(refused) => refusal = Some(refused),
                }
            }
            match (open.is_empty(), refusal) {
                (false, _) => Ok(Box::new(open.into_iter()) as Addrs),
                (true, Some(refused)) => Err(refused.into()),
                (true, None) => Err(NoAddress.into()),
            }
        })
    }
}
