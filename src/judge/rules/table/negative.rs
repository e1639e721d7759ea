//! What a server lets pass that it should refuse: asked of targets of the negative tier alone.

use crate::model::rule::Fold;
use crate::model::rule::Impact::{Conformance as Q, Security as S};
use crate::model::rule::Severity::{High, Low, Medium};
use crate::model::snapshot::CheckStatus;

use crate::judge::rules::table::case;
use crate::judge::rules::{Kind, Rule};

const TRANSPORTS: &str = "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports";
const LIFECYCLE: &str = "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle";
const HEADERS: &str = "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports";

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "mcp.ordering-not-enforced",
        aliases: &[],
        kind: Kind::Check,
        cases: &[case("-", Some(Medium), &[Q], Some(CheckStatus::Warning), Fold::Case, None)],
        title: "a list is served before the session stands",
        head: "order not kept",
        noun: "",
        why: "what client and server agree on in the handshake does not hold for such a request.",
        remedy: "serve nothing but ping until notifications/initialized has come.",
        spec: LIFECYCLE,
    },
    Rule {
        id: "mcp.origin-not-validated",
        aliases: &[],
        kind: Kind::Check,
        cases: &[case("-", Some(Medium), &[S], Some(CheckStatus::Warning), Fold::Case, None)],
        title: "a request of a foreign Origin is served",
        head: "origin not checked",
        noun: "",
        why: "a web page that a name is rebound for can talk to the server through the browser of whoever reads it.",
        remedy: "answer 403 to an Origin that is not expected.",
        spec: TRANSPORTS,
    },
    Rule {
        id: "mcp.version-header-not-checked",
        aliases: &[],
        kind: Kind::Check,
        cases: &[case("-", Some(Low), &[Q], Some(CheckStatus::Warning), Fold::Case, None)],
        title: "a request of a protocol date that does not exist is served",
        head: "version header not checked",
        noun: "",
        why: "client and server may speak two dates without noticing.",
        remedy: "answer 400 to a date in MCP-Protocol-Version that the server does not speak.",
        spec: TRANSPORTS,
    },
    Rule {
        id: "mcp.header-mismatch-accepted",
        aliases: &[],
        kind: Kind::Check,
        cases: &[case("-", Some(High), &[S], Some(CheckStatus::Fail), Fold::Case, None)],
        title: "a request whose headers contradict its body is served",
        head: "headers that contradict the body",
        noun: "",
        why: "a gateway that decides by the headers lets calls pass that it should stop.",
        remedy: "answer 400 with error -32020 to a request whose Mcp headers are not those of its body.",
        spec: HEADERS,
    },
];
