//! Whether it depends on the connection which tools are listed (2026-07-28 forbids it).
//!
//! Told apart from a list that changes from read to read: the second connection is asked once more, and says the same.

use super::conversation::Conversation;
use super::jsonrpc;
use super::lists::{self, ListEnd};
use super::ready::Ready;
use crate::model::facet::Facet;
use crate::model::json::Json;
use crate::model::observation::{RawRead, Remark};
use crate::net::Visit;
use jiff::Timestamp;

const RULE: &str = "mcp.list-varies-by-connection";

/// Compares what the first connection showed with what `other` showed; asks it once more where they differ.
pub(super) async fn compare(
    other: &mut Conversation<'_>,
    ready: &Ready,
    first: &RawRead,
    second: &RawRead,
    at: Timestamp,
) -> Remark {
    let visit = other.visit();
    let (Some(one), Some(two)) = (tools(visit, first).await, tools(visit, second).await) else {
        return Remark::skipped(RULE, "the first read could not be compared");
    };
    if one == two {
        return Remark::passed(RULE);
    }
    if one.is_empty() || two.is_empty() {
        return Remark::skipped(RULE, "one list is empty: tool.list-unreliable");
    }
    match Box::pin(lists::read(other, Facet::McpTools, ready, None, at)).await {
        ListEnd::Seen(third) if tools(visit, &third).await.as_ref() == Some(&two) => {
            let (one, two) = (one.len(), two.len());
            Remark::finding(
                RULE,
                format!("a list of {one} tools on one connection, another of {two}, twice, on the next"),
            )
        }
        ListEnd::Seen(_) => Remark::skipped(RULE, "the list changes from read to read"),
        ListEnd::Missing | ListEnd::Guarded(_) | ListEnd::Unseen(_) => {
            Remark::skipped(RULE, "the second connection was not answered once more")
        }
    }
}

/// The tools of a read, in an order of ours.
async fn tools(visit: &Visit<'_>, read: &RawRead) -> Option<Vec<String>> {
    let unparsed = read.document.as_ref().and_then(|document| document.unparsed.as_ref());
    let parsed;
    let pages = match unparsed {
        Some(bytes) => {
            parsed = [jsonrpc::result_of(visit.parse(bytes).await.ok()?.value)?];
            parsed.as_slice()
        }
        None => read.pages.as_slice(),
    };
    let array = Facet::McpTools.list()?.array;
    let items = pages.iter().filter_map(|page| page.member(array).and_then(Json::as_array)).flatten();
    let mut items: Vec<String> = items.map(Json::canonical).collect();
    items.sort_unstable();
    Some(items)
}
