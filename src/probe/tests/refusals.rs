use super::peer::{Legacy, Peer, html, modern, tool, with_header};
use super::*;
use crate::model::observation::{DetectionState, Outcome};

#[tokio::test]
async fn a_403_page_is_one_sight_and_nothing_else() {
    for status in [403, 407, 451] {
        let peer = Peer::start(move |_, _| html(status)).await;
        let seen = scan(&peer.url).with_token(Some("s3cret")).run().await;
        assert_eq!(seen.outcome, Outcome::Blocked, "{status}");
        assert_eq!(sights(&seen), ["scan.blocked/under_24h /endpoint"], "{status}");
        let told: &[&str] = if status == 451 { &[] } else { &["auth.blocked-by-gateway"] };
        assert_eq!(remarks(&seen), told, "{status}");
        assert_eq!(states(&seen, "").matches("unseen blocked").count(), 7);
        assert_eq!(states(&seen, "@auth").matches("unseen blocked").count(), 6);
        assert_eq!(seen.mcp.state, DetectionState::Unseen);
        let asked = peer.asked();
        assert!(asked.iter().all(|asked| asked.header("authorization").is_none()), "who refuses is asked less");
        assert_eq!(asked.len(), if status == 403 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_confirmed_block_is_asked_with_one_request_until_it_answers() {
    let peer = Peer::start(|_, _| html(403)).await;
    let seen = Scan { probe_only: true, ..scan(&peer.url) }.run().await;
    assert_eq!((seen.outcome, seen.requests), (Outcome::Blocked, 1));

    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let seen = Scan { probe_only: true, ..scan(&peer.url) }.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(tools(&seen), [["a"], ["a"]]);
}

#[tokio::test]
async fn a_refusal_in_the_middle_ends_the_scan() {
    let server = Legacy { capabilities: serde_json::json!({"tools": {}, "prompts": {}}), ..Legacy::of("2025-03-26") };
    let peer =
        Peer::start(move |asked, _| if asked.method() == "prompts/list" { html(403) } else { server.answer(asked) })
            .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Blocked);
    assert_eq!(sights(&seen), ["scan.blocked/under_24h /endpoint"]);
    assert_eq!(peer.methods().last().unwrap(), "prompts/list");
    assert_eq!(unseen(&seen, "mcp.resources").0, UnseenKind::Blocked);
}

#[tokio::test]
async fn too_many_requests_says_when_to_come_back() {
    let peer = Peer::start(|_, _| with_header(html(429), "retry-after", "90")).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::RateLimited);
    assert_eq!(sights(&seen), ["scan.rate-limited/- /endpoint"]);
    assert_eq!(seen.not_before, Some("2026-11-30T12:01:30Z".parse().unwrap()));
    assert_eq!(peer.asked().len(), 1);
}

#[tokio::test]
async fn a_server_error_may_say_so_too() {
    let peer = Peer::start(|_, _| with_header(html(503), "retry-after", "Mon, 30 Nov 2026 13:00:00 GMT")).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    assert_eq!(seen.not_before, Some("2026-11-30T13:00:00Z".parse().unwrap()));
}
