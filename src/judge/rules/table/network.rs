//! What carries the conversation below MCP: drift of address, redirects, HTTP and its header fields.

use crate::model::rule::Class::{Security, Surface};
use crate::model::rule::Fold;
use crate::model::rule::Impact::{Breaking as B, Conformance as Q, Cosmetic as C, Operational as O, Security as S};
use crate::model::rule::Severity::{Critical, High, Info, Low, Medium};

use crate::judge::rules::table::case;
use crate::judge::rules::{Kind, Rule};

const HTTP: &str = "https://www.rfc-editor.org/rfc/rfc9110";
const TLS: &str = "https://modelcontextprotocol.io/specification/2026-07-28/basic/security_best_practices";
const CORS: &str = "https://fetch.spec.whatwg.org/#http-cors-protocol";

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "net.scheme-downgraded",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Critical), &[S], None, Fold::Value, Some(Security))],
        title: "https became http in the URL or along a redirect",
        head: "TLS is gone",
        noun: "",
        why: "whoever stands on the way reads what agents send, tokens included, and may answer in the server's place.",
        remedy: "why does the way lead over plain HTTP? Stop sending credentials until it does not.",
        spec: TLS,
    },
    Rule {
        id: "net.redirect-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("host", Some(High), &[B, S], None, Fold::Value, Some(Security)),
            case("path", Some(Medium), &[B, S], None, Fold::Value, Some(Surface)),
        ],
        title: "a redirect appeared, vanished or moved",
        head: "another way to the endpoint",
        noun: "",
        why: "many clients follow no redirect of a POST, and those that do talk to whoever it names.",
        remedy: "is the new address meant? Then write it into the inventory and into the clients.",
        spec: HTTP,
    },
    Rule {
        id: "net.address-class-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Critical), &[S], None, Fold::Value, Some(Security))],
        title: "a name that was public resolves to a special address",
        head: "a rebound name",
        noun: "",
        why: "a name that leads into a private network makes its clients ask machines there (DNS rebinding).",
        remedy: "who changed the name's records? driftd does not follow it.",
        spec: TLS,
    },
    Rule {
        id: "net.http-version-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Info), &[O], None, Fold::Value, Some(Surface))],
        title: "the endpoint speaks another HTTP version",
        head: "another HTTP version",
        noun: "",
        why: "a proxy or a server in front was changed.",
        remedy: "nothing, if that is known.",
        spec: HTTP,
    },
    Rule {
        id: "net.content-type-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Medium), &[B, Q], None, Fold::Value, Some(Surface))],
        title: "the endpoint answers in another content type",
        head: "another content type",
        noun: "",
        why: "clients that read one of application/json and text/event-stream alone cannot read the other.",
        remedy: "do your clients read both, as the transport asks?",
        spec: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports",
    },
    Rule {
        id: "net.security-header-lost",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("lost", Some(Low), &[S], None, Fold::Value, Some(Surface)),
            case("cors_widened", Some(Low), &[S], None, Fold::Value, Some(Surface)),
            case("cors_credentials", Some(Critical), &[S], None, Fold::Value, Some(Security)),
        ],
        title: "a protecting header is gone, or CORS allows more",
        head: "a protecting header",
        noun: "",
        why: "browsers protected this server's users by it.",
        remedy: "was the proxy in front changed on purpose?",
        spec: CORS,
    },
    Rule {
        id: "net.server-header-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Info), &[C], None, Fold::Value, Some(Surface))],
        title: "another product or version stands in Server, Via or X-Powered-By",
        head: "another server software",
        noun: "",
        why: "what answers was updated or replaced.",
        remedy: "nothing, if that is known.",
        spec: HTTP,
    },
];
