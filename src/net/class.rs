//! What kind of address it is: the IANA special-purpose registries (RFC 6890), clouds' metadata services, and the
//! IPv4 address inside the IPv6 forms that carry one.
//!
//! Whether an address may be connected to is decided by `guard`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::model::observation::AddressClass;

/// The class of `address`; a form that carries an IPv4 address has the class of that one.
#[must_use]
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// Whether `net` contains `address`, or an IPv4 address that it carries.
#[must_use]
pub fn covers(net: &IpNet, address: IpAddr) -> bool {
    let inside = match address {
        IpAddr::V4(_) => Vec::new(),
        IpAddr::V6(address) => carried(address).unwrap_or_default(),
    };
    net.contains(&address) || (!inside.is_empty() && inside.iter().all(|inner| net.contains(&IpAddr::V4(*inner))))
}

/// Services of clouds that hand out credentials to whoever asks from inside: AWS (IMDS, ECS, EKS), Azure, Google and
/// their kin on the first, Alibaba, Oracle, Azure's wire server.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// The same over IPv6: AWS (IMDS, EKS) and Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Ranges in order: the first that contains the address decides; none means public.
const RANGES_V4: [(Ipv4Net, AddressClass); 16] = [
    (v4([0, 0, 0, 0], 8), AddressClass::Unspecified),
    (v4([10, 0, 0, 0], 8), AddressClass::Private),
    (v4([100, 64, 0, 0], 10), AddressClass::Private),
    (v4([127, 0, 0, 0], 8), AddressClass::Loopback),
    (v4([169, 254, 0, 0], 16), AddressClass::LinkLocal),
    (v4([172, 16, 0, 0], 12), AddressClass::Private),
    (v4([192, 0, 0, 0], 24), AddressClass::Reserved),
    (v4([192, 0, 2, 0], 24), AddressClass::Reserved),
    (v4([192, 88, 99, 0], 24), AddressClass::Reserved),
    (v4([192, 168, 0, 0], 16), AddressClass::Private),
    (v4([198, 18, 0, 0], 15), AddressClass::Reserved),
    (v4([198, 51, 100, 0], 24), AddressClass::Reserved),
    (v4([203, 0, 113, 0], 24), AddressClass::Reserved),
    (v4([224, 0, 0, 0], 4), AddressClass::Multicast),
    (v4([255, 255, 255, 255], 32), AddressClass::Multicast),
    (v4([240, 0, 0, 0], 4), AddressClass::Reserved),
];

/// The same for IPv6, after the forms that carry IPv4; outside `2000::/3` nothing is public.
const RANGES_V6: [(Ipv6Net, AddressClass); 9] = [
    (v6([0xfe80, 0, 0], 10), AddressClass::LinkLocal),
    (v6([0xfec0, 0, 0], 10), AddressClass::Private),
    (v6([0xfc00, 0, 0], 7), AddressClass::Private),
    (v6([0xff00, 0, 0], 8), AddressClass::Multicast),
    // Protocol assignments (ORCHID, benchmarking and others); Teredo, which lies inside, has been unwrapped before.
    (v6([0x2001, 0, 0], 23), AddressClass::Reserved),
    (v6([0x2001, 0xdb8, 0], 32), AddressClass::Reserved),
    (v6([0x3fff, 0, 0], 20), AddressClass::Reserved),
    // 6bone, given back.
    (v6([0x3ffe, 0, 0], 16), AddressClass::Reserved),
    (v6([0x2000, 0, 0], 3), AddressClass::Public),
];

const fn v4(octets: [u8; 4], length: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(head: [u16; 3], length: u8) -> Ipv6Net {
    let [a, b, c] = head;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    if METADATA_V4.contains(&address) {
        return AddressClass::Metadata;
    }
    RANGES_V4.iter().find(|(net, _)| net.contains(&address)).map_or(AddressClass::Public, |(_, class)| *class)
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    if address.is_loopback() {
        return AddressClass::Loopback;
    }
    if METADATA_V6.contains(&address) {
        return AddressClass::Metadata;
    }
    match carried(address) {
        // Where it is not sure which address is meant, one that is not public decides.
        Some(inside) => inside
            .into_iter()
            .map(classify_v4)
            .find(|class| *class != AddressClass::Public)
            .unwrap_or(AddressClass::Public),
        None => {
            RANGES_V6.iter().find(|(net, _)| net.contains(&address)).map_or(AddressClass::Reserved, |(_, class)| *class)
        }
    }
}

/// The IPv4 addresses that an IPv6 form may stand for; `None` when it is no such form.
fn carried(address: Ipv6Addr) -> Option<Vec<Ipv4Addr>> {
    let octets = address.octets();
    let segments = address.segments();
    let [.., o12, o13, o14, o15] = octets;
    let last = Ipv4Addr::new(o12, o13, o14, o15);
    match segments {
        // `::1` is loopback; `::` and `::a.b.c.d` (v4-compatible, obsolete) hold an address.
        [0, 0, 0, 0, 0, 0, 0, 1] => None,
        // v4-mapped (RFC 4291), v4-translated (RFC 2765) and NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0, ..]
        | [0, 0, 0, 0, 0, 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(vec![last]),
        // NAT64 of a local prefix (RFC 8215): the operator chose the length.
        [0x64, 0xff9b, 1, ..] => Some(local_nat64(octets)),
        // 6to4 (RFC 3056).
        [0x2002, ..] => {
            let [_, _, a, b, c, d, ..] = octets;
            Some(vec![Ipv4Addr::new(a, b, c, d)])
        }
        // Teredo (RFC 4380): the client's address with its bits flipped, and its server's.
        [0x2001, 0, ..] => {
            let [_, _, _, _, a, b, c, d, ..] = octets;
            Some(vec![Ipv4Addr::new(!o12, !o13, !o14, !o15), Ipv4Addr::new(a, b, c, d)])
        }
        _ => None,
    }
}

/// Every placement of RFC 6052 that the address fits: reserved bits and the suffix are zero, the address is not.
fn local_nat64(octets: [u8; 16]) -> Vec<Ipv4Addr> {
    let [_, _, _, _, _, _, o6, o7, o8, o9, o10, o11, o12, o13, o14, o15] = octets;
    let tail_is_zero = |tail: &[u8]| o8 == 0 && tail.iter().all(|octet| *octet == 0);
    let placements = [
        (Ipv4Addr::new(o6, o7, o9, o10), tail_is_zero(&[o11, o12, o13, o14, o15])),
        (Ipv4Addr::new(o7, o9, o10, o11), tail_is_zero(&[o12, o13, o14, o15])),
        (Ipv4Addr::new(o9, o10, o11, o12), tail_is_zero(&[o13, o14, o15])),
        (Ipv4Addr::new(o12, o13, o14, o15), true),
    ];
    let fitting: Vec<Ipv4Addr> = placements
        .into_iter()
        .filter(|(address, fits)| *fits && !address.is_unspecified())
        .map(|(address, _)| address)
        .collect();
    if fitting.is_empty() { vec![Ipv4Addr::UNSPECIFIED] } else { fitting }
}
