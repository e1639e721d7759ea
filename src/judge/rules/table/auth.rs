//! What the door asks for.

use crate::model::rule::Impact::{Breaking as B, Security as S};
use crate::model::rule::Severity::{Critical, High};
use crate::model::rule::{Class, Fold};

use crate::judge::rules::table::case;
use crate::judge::rules::{Kind, Rule};

const SPEC: &str = "https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization";

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "auth.requirement-dropped",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(Critical), &[S], None, Fold::Value, Some(Class::Security))],
        title: "anonymous calls that were refused are served now",
        head: "open to strangers now",
        noun: "",
        why: "anybody who reaches the address can call it.",
        remedy: "was the door opened on purpose? If not, close it first and ask later.",
        spec: SPEC,
    },
    Rule {
        id: "auth.requirement-added",
        aliases: &[],
        kind: Kind::Drift,
        cases: &[case("-", Some(High), &[B], None, Fold::Value, Some(Class::Surface))],
        title: "anonymous calls that were served get 401 now",
        head: "a credential is needed now",
        noun: "",
        why: "agents without a credential fail.",
        remedy: "which agents have no credential yet, and where do they get one?",
        spec: SPEC,
    },
];
