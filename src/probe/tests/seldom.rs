//! What is asked only now and then: GET, two connections, the odd requests of the negative tier.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::peer::{Asked, Legacy, Peer, empty, error, modern, result, text, tool, with_header};
use super::*;
use crate::model::inventory::Tier;

const ID: &str = "1868a90c-6f3e-4c5b-9d0a-3f6f6c1d2e3b";
const OTHER_ID: &str = "e8f1b2c4-0a6d-4f0e-8b1c-7a9d5e3c1f20";

fn legacy() -> Legacy {
    Legacy { session: Some(ID), ..Legacy::of("2025-11-25") }
}

/// A scan that looks at everything.
fn whole(peer: &Peer) -> Scan<'static> {
    Scan { kept: None, second_read: SecondRead::Fresh, ..scan(&peer.url) }
}

fn negative(peer: &Peer) -> Scan<'static> {
    let mut scan = whole(peer);
    scan.target.tier = Tier::Negative;
    scan
}

fn gets(peer: &Peer) -> Vec<Asked> {
    peer.asked_here().into_iter().filter(|asked| asked.verb == http::Method::GET).collect()
}

fn passed() -> Option<(CheckVerdict, String)> {
    Some((CheckVerdict::Passed, String::new()))
}

fn verdict(seen: &Observation, rule: &str) -> Option<CheckVerdict> {
    said(seen, rule).map(|(verdict, _)| verdict)
}

#[tokio::test]
async fn get_is_asked_once_in_the_session_and_the_stream_is_left() {
    let peer = Peer::endpoint(|asked, _| match asked.method() {
        "GET" => super::peer::open_events(vec![": hello\n\n".to_owned()]),
        _ => legacy().answer(asked),
    })
    .await;
    let seen = whole(&peer).run().await;
    assert_eq!(said(&seen, "mcp.get-not-sse"), passed());
    let asked = gets(&peer);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("mcp-session-id"), Some(ID));
    assert_eq!(asked[0].header("accept"), Some("text/event-stream"));
    assert_eq!(asked[0].header("mcp-protocol-version"), Some("2025-11-25"));
    let again = Scan { kept: seen.kept.clone(), second_read: SecondRead::Same, ..whole(&peer) }.run().await;
    assert_eq!(said(&again, "mcp.get-not-sse"), passed(), "it stands");
    assert_eq!(gets(&peer).len(), 1, "and is not asked again");
}

#[tokio::test]
async fn get_without_a_stream_is_found_and_a_refusal_says_nothing() {
    for (status, kind, wanted) in [
        (405, "text/plain", CheckVerdict::Passed),
        (200, "text/html", CheckVerdict::Finding),
        (404, "text/html", CheckVerdict::Finding),
        (403, "text/html", CheckVerdict::Skipped),
        (429, "text/html", CheckVerdict::Skipped),
        (500, "text/html", CheckVerdict::Skipped),
    ] {
        let peer = Peer::endpoint(move |asked, _| match asked.method() {
            "GET" => text(status, kind, "hello"),
            _ => legacy().answer(asked),
        })
        .await;
        let seen = whole(&peer).run().await;
        assert_eq!(verdict(&seen, "mcp.get-not-sse"), Some(wanted), "{status}");
        assert_eq!(seen.outcome, crate::model::observation::Outcome::Ok, "{status}");
    }
}

#[tokio::test]
async fn a_modern_server_is_not_asked_for_a_stream() {
    let peer = Peer::endpoint(|asked, _| modern(asked, &[tool("a")])).await;
    let seen = whole(&peer).run().await;
    assert_eq!((said(&seen, "mcp.get-not-sse"), gets(&peer).len()), (None, 0));
}

/// A server of sessions, with tools by session.
fn by_session(asked: &Asked, sessions: &AtomicUsize, odd: usize, even: usize) -> axum::response::Response {
    let tools = |count: usize| (0..count).map(|number| tool(&format!("t{number}"))).collect::<Vec<_>>();
    match asked.method() {
        "initialize" => {
            let id = if sessions.fetch_add(1, Ordering::Relaxed) == 0 { ID } else { OTHER_ID };
            let response = Legacy { session: None, ..legacy() }.answer(asked);
            with_header(response, "mcp-session-id", id)
        }
        "tools/list" if asked.header("mcp-session-id") == Some(ID) => result(asked, &json!({"tools": tools(odd)})),
        "tools/list" => result(asked, &json!({"tools": tools(even)})),
        _ => legacy().answer(asked),
    }
}

#[tokio::test]
async fn a_list_that_depends_on_the_connection_is_told_from_one_that_is_never_the_same() {
    let sessions = AtomicUsize::new(0);
    let peer = Peer::endpoint(move |asked, _| by_session(asked, &sessions, 2, 3)).await;
    let seen = whole(&peer).run().await;
    assert_eq!(verdict(&seen, "mcp.list-varies-by-connection"), Some(CheckVerdict::Finding));
    assert_eq!(verdict(&seen, "mcp.session-id-weak"), Some(CheckVerdict::Passed));
    assert_eq!(peer.asked_for("tools/list").len(), 3);

    let reads = AtomicUsize::new(0);
    let peer = Peer::endpoint(move |asked, _| match asked.method() {
        "tools/list" => {
            let count = if reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { 1 } else { 2 };
            let tools: Vec<_> = (0..count).map(|number| tool(&format!("t{number}"))).collect();
            result(asked, &json!({"tools": tools}))
        }
        _ => legacy().answer(asked),
    })
    .await;
    let seen = whole(&peer).run().await;
    assert_eq!(verdict(&seen, "mcp.list-varies-by-connection"), Some(CheckVerdict::Skipped));

    let sessions = AtomicUsize::new(0);
    let peer = Peer::endpoint(move |asked, _| by_session(asked, &sessions, 2, 2)).await;
    let seen = whole(&peer).run().await;
    assert_eq!(verdict(&seen, "mcp.list-varies-by-connection"), Some(CheckVerdict::Passed));
    assert_eq!(peer.asked_for("tools/list").len(), 2, "what agrees is not asked again");
}

#[tokio::test]
async fn what_two_connections_showed_stands_in_scans_that_have_but_one() {
    let known = Arc::new(kept(&[Remark::finding("mcp.session-id-weak", "two sessions have one id")]));
    let peer = Peer::endpoint(|asked, _| legacy().answer(asked)).await;
    let seen = Scan { before: Some(known), second_read: SecondRead::Same, ..whole(&peer) }.run().await;
    assert_eq!(verdict(&seen, "mcp.session-id-weak"), Some(CheckVerdict::Finding));
    assert_eq!(verdict(&seen, "mcp.get-not-sse"), Some(CheckVerdict::Finding), "the rest is looked at anew");
}

const RULES: [&str; 5] = [
    "mcp.ordering-not-enforced",
    "mcp.origin-not-validated",
    "mcp.version-header-not-checked",
    "mcp.header-mismatch-accepted",
    "mcp.jsonrpc-lax",
];

fn verdicts(seen: &Observation) -> Vec<Option<CheckVerdict>> {
    RULES.iter().map(|rule| verdict(seen, rule)).collect()
}

use CheckVerdict::{Finding, Passed, Skipped};

#[tokio::test]
async fn nothing_odd_is_asked_of_a_target_that_does_not_want_it() {
    let peer = Peer::endpoint(|asked, _| modern(asked, &[tool("a")])).await;
    let seen = whole(&peer).run().await;
    assert_eq!(verdicts(&seen), [None; 5]);
    assert!(peer.asked_here().iter().all(|asked| asked.header("origin").is_none() && !asked.body["id"].is_null()));
}

#[tokio::test]
async fn a_server_that_takes_everything_is_found_out() {
    let peer = Peer::endpoint(|asked, _| modern(asked, &[tool("a")])).await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Skipped), Some(Finding), Some(Finding), Some(Finding), Some(Finding)]);
    let odd: Vec<Asked> = peer.asked_here().into_iter().skip(3).collect();
    assert_eq!(odd.len(), 4, "a few, and each once");
    assert_eq!(odd[0].header("origin"), Some("https://origin.invalid"));
    assert_eq!(odd[1].header("mcp-protocol-version"), Some("1900-01-01"));
    assert_eq!(odd[2].header("mcp-method"), Some("prompts/list"));
    assert!(odd[3].body["id"].is_null());

    let peer = Peer::endpoint(|asked, _| legacy().answer(asked)).await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Finding), Some(Finding), Some(Finding), Some(Skipped), Some(Finding)]);
    assert_eq!(peer.methods().last().map(String::as_str), Some("DELETE"), "its session is ended");
}

#[tokio::test]
async fn a_server_that_refuses_what_is_odd_passes() {
    let peer = Peer::endpoint(|asked, _| {
        let by_body = asked.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if asked.header("origin").is_some() {
            return empty(403);
        }
        if by_body != Some("2026-07-28") {
            return error(400, &asked.id(), -32022);
        }
        if asked.header("mcp-method") != Some(asked.method()) {
            return error(400, &asked.id(), -32020);
        }
        if asked.id().is_null() {
            return error(400, &serde_json::Value::Null, -32600);
        }
        modern(asked, &[tool("a")])
    })
    .await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Skipped), Some(Passed), Some(Passed), Some(Passed), Some(Passed)]);

    let initialized = AtomicUsize::new(0);
    let peer = Peer::endpoint(move |asked, _| {
        let stands = match asked.method() {
            "initialize" => {
                initialized.store(0, Ordering::Relaxed);
                true
            }
            "notifications/initialized" => {
                initialized.store(1, Ordering::Relaxed);
                true
            }
            _ => initialized.load(Ordering::Relaxed) == 1,
        };
        let version = asked.header("mcp-protocol-version").is_none_or(|date| date == "2025-11-25");
        if asked.header("origin").is_some() {
            empty(403)
        } else if !stands || !version {
            error(400, &asked.id(), -32600)
        } else if asked.verb == http::Method::POST && asked.body.get("id").is_some_and(serde_json::Value::is_null) {
            error(400, &serde_json::Value::Null, -32600)
        } else {
            legacy().answer(asked)
        }
    })
    .await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Passed), Some(Passed), Some(Passed), Some(Skipped), Some(Passed)]);
}

#[tokio::test]
async fn who_slows_us_down_is_asked_nothing_more_and_passes_nothing() {
    let peer = Peer::endpoint(|asked, _| match asked.header("origin") {
        Some(_) => empty(429),
        None => modern(asked, &[tool("a")]),
    })
    .await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Skipped); 5]);
    assert_eq!(peer.asked_here().len(), 4, "the one that was answered 429 is the last");
    assert_eq!(seen.outcome, crate::model::observation::Outcome::Ok, "what is odd says nothing of the scan");
}

#[tokio::test]
async fn behind_a_door_nothing_odd_is_asked() {
    let peer = Peer::endpoint(|_, _| with_header(empty(401), "www-authenticate", "Bearer")).await;
    let seen = negative(&peer).run().await;
    assert_eq!(verdicts(&seen), [Some(Skipped); 5]);
    assert_eq!(peer.asked_here().len(), 2);
}
