//! TLS: who vouches for the server, for how long, and how the connection is protected.

use crate::model::rule::Class::{Security, Surface};
use crate::model::rule::Fold;
use crate::model::rule::Impact::{Breaking as B, Operational as O, Security as S};
use crate::model::rule::Severity::{Critical, High, Info, Low, Medium};
use crate::model::snapshot::CheckStatus::{Fail, Warning};

use crate::judge::rules::table::case;
use crate::judge::rules::{Kind, Rule};

const X509: &str = "https://www.rfc-editor.org/rfc/rfc5280#section-6";
const NAMES: &str = "https://www.rfc-editor.org/rfc/rfc9525";
const TLS: &str = "https://www.rfc-editor.org/rfc/rfc9325#section-3.1.1";

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "net.tls-expiring",
        aliases: &[],
        kind: Kind::CheckAndDrift,
        cases: &[
            case("30d", Some(Medium), &[O], Some(Warning), Fold::Value, Some(Surface)),
            case("14d", Some(Medium), &[O], Some(Warning), Fold::Value, Some(Surface)),
            case("7d", Some(Medium), &[O], Some(Warning), Fold::Value, Some(Surface)),
            case("1d", Some(High), &[O], Some(Fail), Fold::Value, Some(Surface)),
        ],
        title: "the server's certificate ends soon",
        head: "a certificate that ends",
        noun: "",
        why: "once it has ended no client connects any more, and whoever clicks that away learns to.",
        remedy: "renew it; if that is done by a program, find out why it was not.",
        spec: X509,
    },
    Rule {
        id: "net.tls-issuer-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Medium), &[S], None, Fold::Value, Some(Surface))],
        title: "the certificate was made by another authority",
        head: "another certificate authority",
        noun: "",
        why: "another authority vouches for this server: a move of its operator's, or somebody else who holds the name.",
        remedy: "did the operator change the authority? If the name has CAA records, compare.",
        spec: X509,
    },
    Rule {
        id: "net.tls-key-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("renewal", Some(Info), &[S], None, Fold::Value, Some(Surface)),
            case("other", Some(Low), &[S], None, Fold::Value, Some(Surface)),
        ],
        title: "the certificate holds another public key",
        head: "another key",
        noun: "",
        why: "a renewal with a new key is usual; clients that pin the key fail, and without a renewal it is another machine.",
        remedy: "nothing after a renewal; else ask who changed the key.",
        spec: X509,
    },
    Rule {
        id: "net.tls-chain-invalid",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Critical), &[B, S], None, Fold::Value, Some(Security))],
        title: "the certificate chain no longer verifies, or is for other names",
        head: "a certificate that does not verify",
        noun: "",
        why: "clients that verify cannot connect; those that do not may be talking to somebody in between.",
        remedy: "have it mended before anything is sent there; never switch verification off.",
        spec: NAMES,
    },
    Rule {
        id: "net.tls-version-lowered",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Medium), &[S], None, Fold::Value, Some(Surface))],
        title: "an older version of TLS is negotiated than before",
        head: "an older TLS",
        noun: "",
        why: "something older answers, or something in between holds the better version back.",
        remedy: "is a new proxy or load balancer in front? TLS 1.3 is what it spoke before.",
        spec: TLS,
    },
];
