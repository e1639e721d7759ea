use serde_json::json;

use super::peer::{Asked, Legacy, Peer, empty, error, modern, result, tool, with_header};
use super::*;
use crate::model::observation::Outcome;

const ID: &str = "3f2a9c1e77d04b6c8a5e";

/// Trap 1 of the real servers: DELETE kills what negotiates an older date.
#[tokio::test]
async fn a_session_is_ended_only_from_2025_06_18_on() {
    for (date, ended) in [("2025-11-25", 1), ("2025-06-18", 1), ("2025-03-26", 0), ("2024-11-05", 0)] {
        let server = Legacy { session: Some(ID), ..Legacy::of(date) };
        let peer = Peer::start(move |asked, _| server.answer(asked)).await;
        scan(&peer.url).run().await;
        let deletes = peer.asked_for("DELETE");
        assert_eq!(deletes.len(), ended, "{date}");
        for delete in deletes {
            assert_eq!(delete.header("mcp-session-id"), Some(ID));
            assert_eq!(delete.header("mcp-protocol-version"), Some(date));
        }
    }
}

#[tokio::test]
async fn a_target_can_keep_its_sessions_from_being_ended() {
    let server = Legacy { session: Some(ID), ..Legacy::of("2025-11-25") };
    let peer = Peer::start(move |asked, _| server.answer(asked)).await;
    let mut ask = scan(&peer.url);
    ask.target.end_session = false;
    ask.run().await;
    assert_eq!(peer.asked_for("DELETE").len(), 0);
}

#[tokio::test]
async fn without_a_session_nothing_is_ended() {
    let peer = Peer::start(|asked, _| Legacy::of("2025-11-25").answer(asked)).await;
    scan(&peer.url).run().await;
    assert_eq!(peer.asked_for("DELETE").len(), 0);
}

#[tokio::test]
async fn the_session_goes_with_every_request_after_initialize() {
    let server = Legacy { session: Some(ID), ..Legacy::of("2025-06-18") };
    let peer = Peer::start(move |asked, _| server.answer(asked)).await;
    let seen = scan(&peer.url).run().await;
    for asked in peer.asked() {
        let expected = (!["server/discover", "initialize"].contains(&asked.method())).then_some(ID);
        assert_eq!(asked.header("mcp-session-id"), expected, "{}", asked.method());
    }
    assert_eq!(page(&seen, "mcp.transport").member("session"), Some(&Json::from(true)));
}

#[tokio::test]
async fn a_session_of_the_new_date_is_ignored() {
    let peer = Peer::start(|asked, _| with_header(modern(asked, &[tool("a")]), "mcp-session-id", ID)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert!(peer.asked().iter().all(|asked| asked.header("mcp-session-id").is_none()));
    assert_eq!(peer.asked_for("DELETE").len(), 0);
}

#[tokio::test]
async fn a_lost_session_is_opened_anew_once() {
    let server = Legacy { session: Some(ID), ..Legacy::of("2025-06-18") };
    let lists = std::sync::atomic::AtomicUsize::new(0);
    let peer = Peer::start(move |asked, _| match asked.method() {
        "tools/list" if lists.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => {
            error(404, &json!(null), -32001)
        }
        _ => server.answer(asked),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(tools(&seen), [["a", "b"], ["a", "b"]]);
    assert_eq!(peer.asked_for("initialize").len(), 2);

    let server = Legacy { session: Some(ID), ..Legacy::of("2025-06-18") };
    let peer = Peer::start(move |asked, _| match asked.method() {
        "tools/list" => error(404, &json!(null), -32001),
        _ => server.answer(asked),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::HttpStatus);
    assert_eq!(peer.asked_for("initialize").len(), 2);
}

/// Each `initialize` opens a session of its own.
fn minting(asked: &Asked, number: usize) -> axum::response::Response {
    let response = Legacy::of("2025-11-25").answer(asked);
    match asked.method() {
        "initialize" => with_header(response, "mcp-session-id", &format!("{ID}-{number:04}")),
        _ => response,
    }
}

#[tokio::test]
async fn a_fresh_second_read_has_its_own_connection_and_session() {
    let peer = Peer::start(minting).await;
    let seen = Scan { second_read: SecondRead::Fresh, ..scan(&peer.url) }.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let lists = peer.asked_for("tools/list");
    assert_eq!(lists.len(), 2);
    assert_ne!(lists[0].connection, lists[1].connection);
    assert_ne!(lists[0].header("mcp-session-id"), lists[1].header("mcp-session-id"));
    assert_eq!(peer.asked_for("DELETE").len(), 2, "both sessions are ended");
    let fresh: Vec<bool> = reads(&seen, "mcp.tools").iter().map(|read| read.fresh).collect();
    assert_eq!(fresh, [false, true]);
}

#[tokio::test]
async fn an_ordinary_second_read_has_those_of_the_first() {
    let peer = Peer::start(minting).await;
    let seen = scan(&peer.url).run().await;
    let lists = peer.asked_for("tools/list");
    assert_eq!(lists[0].connection, lists[1].connection);
    assert_eq!(lists[0].header("mcp-session-id"), lists[1].header("mcp-session-id"));
    assert!(reads(&seen, "mcp.tools").iter().all(|read| !read.fresh));
}

#[tokio::test]
async fn a_fresh_second_read_of_the_new_date_is_a_new_connection() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    Scan { second_read: SecondRead::Fresh, ..scan(&peer.url) }.run().await;
    let lists = peer.asked_for("tools/list");
    assert_ne!(lists[0].connection, lists[1].connection);
    assert_eq!(peer.methods(), ["server/discover", "tools/list", "tools/list"]);
}

#[tokio::test]
async fn a_server_of_one_session_is_read_twice_in_it() {
    let opened = std::sync::atomic::AtomicBool::new(false);
    let peer = Peer::start(move |asked, _| match asked.method() {
        "initialize" if opened.swap(true, std::sync::atomic::Ordering::Relaxed) => error(400, &asked.id(), -32000),
        _ => Legacy { session: Some(ID), ..Legacy::of("2025-03-26") }.answer(asked),
    })
    .await;
    let seen = Scan { second_read: SecondRead::Fresh, ..scan(&peer.url) }.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(tools(&seen), [["a", "b"], ["a", "b"]]);
    assert!(reads(&seen, "mcp.tools").iter().all(|read| !read.fresh));
}

#[tokio::test]
async fn weak_session_ids_are_remarked_and_never_told() {
    let cases: [(&str, SecondRead, &[&str]); 4] = [
        ("7", SecondRead::Same, &["a session id has 1 bytes"]),
        ("tab\tin-a-long-session-id", SecondRead::Same, &["a session id is not visible ASCII"]),
        (ID, SecondRead::Same, &[]),
        (ID, SecondRead::Fresh, &["two sessions have one id"]),
    ];
    for (session, second_read, expected) in cases {
        let server = Legacy { session: Some(session), ..Legacy::of("2025-03-26") };
        let peer = Peer::start(move |asked, _| server.answer(asked)).await;
        let seen = Scan { second_read, ..scan(&peer.url) }.run().await;
        let found = seen.remarks.iter().filter(|remark| remark.verdict == CheckVerdict::Finding);
        let evidence: Vec<&str> = found.clone().map(|remark| remark.evidence.as_str()).collect();
        assert_eq!(evidence, expected);
        assert!(found.clone().all(|remark| remark.rule == "mcp.session-id-weak"));
    }
}

#[tokio::test]
async fn another_date_in_the_second_session_is_not_compared() {
    let opened = std::sync::atomic::AtomicUsize::new(0);
    let peer = Peer::start(move |asked, _| match asked.method() {
        "initialize" => {
            let number = opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let date = if number == 0 { "2025-11-25" } else { "2025-03-26" };
            let capabilities = json!({"tools": {}});
            result(asked, &json!({"protocolVersion": date, "capabilities": capabilities, "serverInfo": {}}))
        }
        "notifications/initialized" => empty(202),
        "tools/list" => result(asked, &json!({"tools": [tool("a")]})),
        _ => empty(404),
    })
    .await;
    let seen = Scan { second_read: SecondRead::Fresh, ..scan(&peer.url) }.run().await;
    assert!(reads(&seen, "mcp.tools").iter().all(|read| !read.fresh));
}
