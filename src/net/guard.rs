//! The egress rule (design, section 6): whether we may connect to an address. Pure.
//!
//! | who chose it | how | may lead to |
//! |---|---|---|
//! | written | a literal | that address, whatever it is |
//! | written | a name | public, loopback, private; was it public at the baseline, then only public |
//! | the peer | another origin | public |
//! | the peer | the target's own origin | what the written one may |
//!
//! `egress.allow` opens special ranges beyond that: a target's own list for that target; the configuration's list for
//! targets whose own address is special. Metadata services, multicast and the unspecified address are never opened
//! for a name or for a peer's choice. Addresses are judged by [`classify`], which looks inside mapped forms.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use url::Url;

use super::class::{classify, covers};
use crate::model::observation::AddressClass;

/// Who chose where to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// A person, in the inventory; a peer that points to the origin written chose nothing.
    Written,
    /// The peer: by a redirect, a link, a document.
    PeerChosen,
}

impl Destination {
    /// Who chose `url`, for a target written as `written`: origins are scheme, host and port.
    #[must_use]
    pub fn toward(url: &Url, written: Option<&Url>) -> Self {
        let is_own = written.is_some_and(|written| url.origin() == written.origin());
        if is_own { Self::Written } else { Self::PeerChosen }
    }
}

/// How an address came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostForm {
    /// It stands in the URL. The `url` crate has read odd spellings (decimal, octal, hexadecimal) by then.
    Literal,
    /// A name was resolved to it.
    Name,
}

/// What the rule knows of the target.
#[derive(Clone, Copy, Debug, Default)]
pub struct Egress<'a> {
    /// `egress.allow` of the configuration.
    pub fleet: &'a [IpNet],
    /// `egress.allow` of the target.
    pub target: &'a [IpNet],
    /// Class of the target's address at its baseline.
    pub baseline: Option<AddressClass>,
    /// Class of the target's address as this scan met it; for what the peer chooses.
    pub own: Option<AddressClass>,
}

/// The guard said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{why}: {class}", class = .class.as_str())]
pub struct Refusal {
    /// What kind of address it was.
    pub class: AddressClass,
    /// Which part of the rule.
    pub why: RefusalReason,
}

/// Which part of the rule refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// No name and no peer may lead there.
    Never,
    /// A name that was public at the baseline resolves to a special address.
    WasPublic,
    /// A name resolves to special space that is not open.
    NameToSpecial,
    /// The peer chose special space that is not open.
    PeerToSpecial,
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "the address is of a kind that is never connected to",
            Self::WasPublic => "the name was public at the baseline and is no more",
            Self::NameToSpecial => "the name resolves to an address that is not open",
            Self::PeerToSpecial => "the peer chose an address that is not open",
        })
    }
}

/// Whether `address` may be connected to; answers its class.
///
/// # Errors
/// Says which part of the rule refuses it.
pub fn decide(
    destination: Destination,
    form: HostForm,
    address: IpAddr,
    egress: &Egress<'_>,
) -> Result<AddressClass, Refusal> {
    let class = classify(address);
    let refuse = |why| Err(Refusal { class, why });
    let named = egress.target.iter().any(|net| covers(net, address));
    let in_fleet = egress.fleet.iter().any(|net| covers(net, address));
    match (destination, form) {
        (_, _) if class == AddressClass::Public => Ok(class),
        (Destination::Written, HostForm::Literal) => Ok(class),
        (_, _) if is_never(class) => refuse(RefusalReason::Never),
        (Destination::Written, HostForm::Name) => {
            let was_public = egress.baseline == Some(AddressClass::Public);
            if was_public && !named {
                return refuse(RefusalReason::WasPublic);
            }
            let is_plain = matches!(class, AddressClass::Loopback | AddressClass::Private);
            if is_plain || named || in_fleet { Ok(class) } else { refuse(RefusalReason::NameToSpecial) }
        }
        (Destination::PeerChosen, HostForm::Literal | HostForm::Name) => {
            let own_is_special = egress.own.or(egress.baseline).is_some_and(|own| own != AddressClass::Public);
            if named || (in_fleet && own_is_special) { Ok(class) } else { refuse(RefusalReason::PeerToSpecial) }
        }
    }
}

const fn is_never(class: AddressClass) -> bool {
    match class {
        AddressClass::Metadata | AddressClass::Multicast | AddressClass::Unspecified => true,
        AddressClass::Public
        | AddressClass::Private
        | AddressClass::Loopback
        | AddressClass::LinkLocal
        | AddressClass::Reserved => false,
    }
}
