//! The whole egress rule in one table; addresses come from an injected resolver where names are meant.

use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};

use crate::model::observation::AddressClass::{self, *};
use crate::net::class::classify;
use crate::net::guard::RefusalReason::{self, *};
use crate::net::guard::{Destination, Egress, HostForm, decide};

#[test]
fn every_special_range_and_every_form_of_it_has_its_class() {
    let table: &[(&str, AddressClass)] = &[
        ("1.1.1.1", Public),
        ("9.255.255.255", Public),
        ("11.0.0.0", Public),
        ("100.63.255.255", Public),
        ("100.128.0.0", Public),
        ("172.15.255.255", Public),
        ("172.32.0.0", Public),
        ("192.167.255.255", Public),
        ("223.255.255.255", Public),
        ("10.0.0.0", Private),
        ("10.255.255.255", Private),
        ("100.64.0.1", Private),
        ("172.16.0.0", Private),
        ("172.31.255.255", Private),
        ("192.168.0.1", Private),
        ("127.0.0.1", Loopback),
        ("127.255.255.254", Loopback),
        ("169.254.0.1", LinkLocal),
        ("169.254.169.254", Metadata),
        ("169.254.170.2", Metadata),
        ("169.254.170.23", Metadata),
        ("100.100.100.200", Metadata),
        ("192.0.0.192", Metadata),
        ("168.63.129.16", Metadata),
        ("0.0.0.0", Unspecified),
        ("0.1.2.3", Unspecified),
        ("224.0.0.1", Multicast),
        ("239.255.255.255", Multicast),
        ("255.255.255.255", Multicast),
        ("192.0.0.1", Reserved),
        ("192.0.2.1", Reserved),
        ("192.88.99.1", Reserved),
        ("198.18.0.1", Reserved),
        ("198.19.255.255", Reserved),
        ("198.51.100.1", Reserved),
        ("203.0.113.1", Reserved),
        ("240.0.0.1", Reserved),
        ("255.255.255.254", Reserved),
        ("2606:4700:4700::1111", Public),
        ("2001:4860:4860::8888", Public),
        ("::1", Loopback),
        ("::", Unspecified),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("fec0::1", Private),
        ("fc00::1", Private),
        ("fdff::1", Private),
        ("fd00:ec2::254", Metadata),
        ("fd00:ec2::23", Metadata),
        ("fd20:ce::254", Metadata),
        ("ff02::1", Multicast),
        ("2001:db8::1", Reserved),
        ("3fff::1", Reserved),
        ("3ffe::1", Reserved),
        ("2001:10::1", Reserved),
        ("100::1", Reserved),
        ("4000::1", Reserved),
        ("5f00::1", Reserved),
        // v4-mapped, v4-translated, v4-compatible.
        ("::ffff:1.1.1.1", Public),
        ("::ffff:127.0.0.1", Loopback),
        ("::ffff:169.254.169.254", Metadata),
        ("::ffff:0:10.0.0.1", Private),
        ("::10.0.0.1", Private),
        ("::7f00:1", Loopback),
        // NAT64, well known and local.
        ("64:ff9b::1.1.1.1", Public),
        ("64:ff9b::10.0.0.1", Private),
        ("64:ff9b::169.254.169.254", Metadata),
        ("64:ff9b:1::10.0.0.1", Private),
        ("64:ff9b:1::1.1.1.1", Public),
        ("64:ff9b:1:0a00:0:0100::", Private),
        ("64:ff9b:1::", Unspecified),
        // 6to4.
        ("2002:0101:0101::1", Public),
        ("2002:7f00:0001::1", Loopback),
        ("2002:a9fe:a9fe::", Metadata),
        // Teredo: the client is 127.0.0.1, then 1.1.1.1; the last one's server is 10.0.0.1.
        ("2001:0:0101:0101::80ff:fffe", Loopback),
        ("2001:0:0101:0101::fefe:fefe", Public),
        ("2001:0:0a00:0001::fefe:fefe", Private),
    ];
    for (text, class) in table {
        let address: IpAddr = text.parse().unwrap();
        assert_eq!(classify(address), *class, "{text}");
    }
}

#[test]
fn odd_spellings_of_a_literal_are_the_address_they_mean() {
    for spelling in ["2130706433", "0x7f000001", "017700000001", "127.1", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.1."] {
        let url = Url::parse(&format!("http://{spelling}/mcp")).unwrap();
        let Some(Host::Ipv4(address)) = url.host() else { panic!("{spelling} is no literal: {url}") };
        assert_eq!(classify(IpAddr::V4(address)), Loopback, "{spelling}");
    }
    let url = Url::parse("http://[::ffff:a9fe:a9fe]/").unwrap();
    let Some(Host::Ipv6(address)) = url.host() else { panic!("{url}") };
    assert_eq!(classify(IpAddr::V6(address)), Metadata);
}

/// Who chose it, how, the address; the configuration's list, the target's list, baseline's class, own class.
struct Case {
    destination: Destination,
    form: HostForm,
    address: &'static str,
    fleet: &'static str,
    target: &'static str,
    baseline: Option<AddressClass>,
    own: Option<AddressClass>,
    expected: Result<AddressClass, RefusalReason>,
}

const WRITTEN: Case = Case {
    destination: Destination::Written,
    form: HostForm::Name,
    address: "1.1.1.1",
    fleet: "",
    target: "",
    baseline: None,
    own: None,
    expected: Ok(Public),
};
const PEER: Case = Case { destination: Destination::PeerChosen, own: Some(Public), ..WRITTEN };

fn cases() -> Vec<Case> {
    let mut cases = vec![
        // A name that a person wrote.
        WRITTEN,
        Case { address: "10.0.0.1", expected: Ok(Private), ..WRITTEN },
        Case { address: "fd12::1", expected: Ok(Private), ..WRITTEN },
        Case { address: "127.0.0.1", expected: Ok(Loopback), ..WRITTEN },
        Case { address: "::1", expected: Ok(Loopback), ..WRITTEN },
        Case { address: "169.254.1.1", expected: Err(NameToSpecial), ..WRITTEN },
        Case { address: "fe80::1", expected: Err(NameToSpecial), ..WRITTEN },
        Case { address: "203.0.113.7", expected: Err(NameToSpecial), ..WRITTEN },
        Case { address: "::ffff:169.254.169.254", expected: Err(Never), ..WRITTEN },
        // Opened by the configuration, unless the target was public.
        Case { address: "169.254.1.1", fleet: "169.254.0.0/16", expected: Ok(LinkLocal), ..WRITTEN },
        Case {
            address: "169.254.1.1",
            fleet: "169.254.0.0/16",
            baseline: Some(Public),
            expected: Err(WasPublic),
            ..WRITTEN
        },
        Case { address: "203.0.113.7", target: "203.0.113.0/24", expected: Ok(Reserved), ..WRITTEN },
        Case { address: "169.254.169.254", target: "0.0.0.0/0", expected: Err(Never), ..WRITTEN },
        // Was public at the baseline.
        Case { baseline: Some(Public), ..WRITTEN },
        Case { address: "10.0.0.1", baseline: Some(Public), expected: Err(WasPublic), ..WRITTEN },
        Case { address: "127.0.0.1", baseline: Some(Public), expected: Err(WasPublic), ..WRITTEN },
        Case { address: "64:ff9b::10.0.0.1", baseline: Some(Public), expected: Err(WasPublic), ..WRITTEN },
        Case { address: "10.0.0.1", baseline: Some(Public), fleet: "10.0.0.0/8", expected: Err(WasPublic), ..WRITTEN },
        Case { address: "10.0.0.1", baseline: Some(Public), target: "10.0.0.0/8", expected: Ok(Private), ..WRITTEN },
        Case { address: "10.0.0.1", baseline: Some(Loopback), expected: Ok(Private), ..WRITTEN },
        // A literal that a person wrote is as written.
        Case { form: HostForm::Literal, address: "169.254.169.254", expected: Ok(Metadata), ..WRITTEN },
        Case { form: HostForm::Literal, address: "127.0.0.1", expected: Ok(Loopback), ..WRITTEN },
        Case { form: HostForm::Literal, address: "fe80::1", expected: Ok(LinkLocal), ..WRITTEN },
        Case { form: HostForm::Literal, address: "0.0.0.0", expected: Ok(Unspecified), ..WRITTEN },
        // What a peer chose is public, by name and by literal.
        PEER,
        Case { form: HostForm::Literal, ..PEER },
        Case { address: "10.0.0.1", fleet: "10.0.0.0/8", expected: Err(PeerToSpecial), ..PEER },
        Case { address: "10.0.0.1", fleet: "10.0.0.0/8", own: Some(Private), expected: Ok(Private), ..PEER },
        Case { address: "::ffff:10.0.0.1", fleet: "10.0.0.0/8", own: Some(Private), expected: Ok(Private), ..PEER },
        Case { address: "10.0.0.1", fleet: "10.0.0.0/8", own: None, expected: Err(PeerToSpecial), ..PEER },
        Case {
            address: "10.0.0.1",
            fleet: "10.0.0.0/8",
            own: None,
            baseline: Some(Loopback),
            expected: Ok(Private),
            ..PEER
        },
        Case { address: "10.0.0.1", target: "10.0.0.0/8", expected: Ok(Private), ..PEER },
        Case { address: "10.0.0.1", target: "192.168.0.0/16", expected: Err(PeerToSpecial), ..PEER },
        Case { address: "10.0.0.1", own: Some(Private), expected: Err(PeerToSpecial), ..PEER },
        Case { address: "169.254.169.254", target: "169.254.0.0/16", expected: Err(Never), ..PEER },
    ];
    for form in [HostForm::Literal, HostForm::Name] {
        for (address, why) in [
            ("10.0.0.1", PeerToSpecial),
            ("127.0.0.1", PeerToSpecial),
            ("169.254.1.1", PeerToSpecial),
            ("203.0.113.1", PeerToSpecial),
            ("2002:7f00:1::", PeerToSpecial),
            ("64:ff9b::7f00:1", PeerToSpecial),
            ("::127.0.0.1", PeerToSpecial),
            ("169.254.169.254", Never),
            ("fd00:ec2::254", Never),
            ("224.0.0.1", Never),
            ("0.0.0.0", Never),
            ("::", Never),
        ] {
            cases.push(Case { form, address, expected: Err(why), ..PEER });
        }
    }
    for address in ["169.254.169.254", "100.100.100.200", "192.0.0.192", "224.0.0.1", "0.0.0.0", "ff02::1", "::"] {
        cases.push(Case { address, expected: Err(Never), ..WRITTEN });
    }
    cases
}

#[test]
fn the_egress_rule_decides_each_case_of_its_table() {
    let nets = |text: &str| -> Vec<IpNet> { text.split_whitespace().map(|net| net.parse().unwrap()).collect() };
    for (number, case) in cases().into_iter().enumerate() {
        let (fleet, target) = (nets(case.fleet), nets(case.target));
        let egress = Egress { fleet: &fleet, target: &target, baseline: case.baseline, own: case.own };
        let decided = decide(case.destination, case.form, case.address.parse().unwrap(), &egress);
        let decided = decided.map_err(|refusal| refusal.why);
        assert_eq!(decided, case.expected, "case {number}: {:?} {:?} {}", case.destination, case.form, case.address);
    }
}

#[test]
fn only_scheme_host_and_port_together_are_the_targets_own_origin() {
    let written = Url::parse("https://mcp.example.com/mcp").unwrap();
    for (url, expected) in [
        ("https://mcp.example.com/other", Destination::Written),
        ("https://mcp.example.com:443/", Destination::Written),
        ("http://mcp.example.com/mcp", Destination::PeerChosen),
        ("https://mcp.example.com:8443/mcp", Destination::PeerChosen),
        ("https://example.com/mcp", Destination::PeerChosen),
        ("https://mcp.example.com./mcp", Destination::PeerChosen),
    ] {
        assert_eq!(Destination::toward(&Url::parse(url).unwrap(), Some(&written)), expected, "{url}");
    }
}
