//! The rows of the table, by family: severities and folds as the catalogue has them, words of our own.

use super::{Case, Rule};
use crate::model::rule::{Class, Fold, Impact, Severity};
use crate::model::snapshot::CheckStatus;

mod auth;
mod base;
mod cards;
mod conversation;
mod handshake;
mod hints;
mod negative;
mod network;
mod prompts;
mod resources;
mod scan;
mod schemas;
mod tls;
mod tools;

/// Every family, in the order of `docs/rules.md`.
pub(super) static FAMILIES: &[&[Rule]] = &[
    scan::RULES,
    network::RULES,
    tls::RULES,
    cards::RULES,
    conversation::RULES,
    negative::RULES,
    handshake::RULES,
    tools::RULES,
    schemas::RULES,
    hints::RULES,
    resources::RULES,
    prompts::RULES,
    auth::RULES,
    base::RULES,
];

const fn case(
    case: &'static str,
    severity: Option<Severity>,
    impact: &'static [Impact],
    status: Option<CheckStatus>,
    fold: Fold,
    class: Option<Class>,
) -> Case {
    Case { case, severity, impact, status, fold, class }
}
