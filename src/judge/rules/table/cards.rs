//! Where the endpoint is found, and what cards and catalogs say of it.

use crate::model::rule::Class::{Security, Surface};
use crate::model::rule::Fold;
use crate::model::rule::Impact::{
    Breaking as B, Conformance as Q, Cosmetic as C, Exposure as A, Operational as O, Security as S,
};
use crate::model::rule::Severity::{High, Info, Low, Medium};
use crate::model::snapshot::CheckStatus;

use crate::judge::rules::table::case;
use crate::judge::rules::{Kind, Rule};

const CARDS: &str = "https://github.com/modelcontextprotocol/experimental-ext-server-card/blob/main/docs/discovery.md";
const HTTP: &str = "https://www.rfc-editor.org/rfc/rfc9110";
const CACHING: &str = "https://www.rfc-editor.org/rfc/rfc9111";

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "mcp.endpoint-moved",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("host", Some(High), &[B, S], None, Fold::Value, Some(Security)),
            case("path", Some(Medium), &[B, S], None, Fold::Value, Some(Surface)),
        ],
        title: "the endpoint that is found is another one",
        head: "another endpoint",
        noun: "",
        why: "whoever finds the server by its address, a card or a catalog talks to another endpoint now.",
        remedy: "is the new endpoint meant? Then accept it, and write it into the clients that have the old one.",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-versions-disagree",
        aliases: &["37A-McpServerAuditor-301"],
        kind: Kind::Check,
        cases: &[case("-", Some(Medium), &[Q], Some(CheckStatus::Warning), Fold::Case, None)],
        title: "the server card lists other protocol dates than the server speaks",
        head: "a card that disagrees with its server",
        noun: "",
        why: "clients that believe the card start a conversation that fails, or use an older date than they could.",
        remedy: "list the dates that the server speaks in the card's supportedProtocolVersions.",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-added",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Low), &[A], None, Fold::Case, Some(Surface))],
        title: "a server card appeared",
        head: "a new server card",
        noun: "",
        why: "clients and registries find the server by it, and go where it says.",
        remedy: "is it the server's own, and does it lead where it should?",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-removed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Medium), &[B], None, Fold::Case, Some(Surface))],
        title: "the server card is gone",
        head: "no server card",
        noun: "",
        why: "clients that find the server by its card do not find it any more.",
        remedy: "was it taken away on purpose?",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-remote-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("host", Some(High), &[S, B], None, Fold::Value, Some(Security)),
            case("path", Some(Medium), &[B], None, Fold::Value, Some(Surface)),
        ],
        title: "the server card leads to other addresses",
        head: "where the card leads",
        noun: "",
        why: "clients that are set up by the card talk to whoever it names, and send what it asks for.",
        remedy: "are the new addresses the vendor's own?",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-header-required",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("required", Some(High), &[B], None, Fold::Value, Some(Surface)),
            case("not_secret", Some(Medium), &[S], None, Fold::Value, Some(Surface)),
        ],
        title: "the server card asks for a further header, or takes one for no secret",
        head: "what the card has clients send",
        noun: "",
        why: "clients without the header are refused; a value that is called no secret is stored and shown in clear.",
        remedy: "which value is meant, and who may see it?",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-text-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Low), &[C, S], None, Fold::Case, Some(Surface))],
        title: "title or description of the server card differ",
        head: "the card's words",
        noun: "",
        why: "people and models choose a server by these words.",
        remedy: "do the words still tell what the server does?",
        spec: CARDS,
    },
    Rule {
        id: "mcp.card-version-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Info), &[A], None, Fold::Value, Some(Surface))],
        title: "the server card names another version",
        head: "the card's version",
        noun: "",
        why: "a release was announced.",
        remedy: "nothing, if that is known.",
        spec: CARDS,
    },
    Rule {
        id: "mcp.catalog-changed",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[
            case("host", Some(High), &[S], None, Fold::Value, Some(Security)),
            case("other", Some(Low), &[A], None, Fold::Value, Some(Surface)),
        ],
        title: "the AI catalog lists something else",
        head: "the catalog",
        noun: "",
        why: "whoever looks for servers at this origin is led by its catalog.",
        remedy: "who publishes the entries that it has now?",
        spec: CARDS,
    },
    Rule {
        id: "net.redirect-cross-origin",
        aliases: &[],
        kind: Kind::Check,
        cases: &[case("-", Some(High), &[S], Some(CheckStatus::Fail), Fold::Case, None)],
        title: "a metadata document came from another origin by way of a redirect",
        head: "a document from elsewhere",
        noun: "",
        why: "whoever holds the other origin writes what is believed of this one.",
        remedy: "serve the document at its own origin.",
        spec: HTTP,
    },
    Rule {
        id: "net.cache-policy-changed",
        aliases: &[],
        kind: Kind::Note,
        cases: &[case("-", Some(Info), &[O], None, Fold::Value, None)],
        title: "Cache-Control or ETag of a metadata document differ",
        head: "how a document may be cached",
        noun: "",
        why: "clients keep the document for another time than before.",
        remedy: "nothing, if that is known.",
        spec: CACHING,
    },
];
