use serde_json::json;

use super::peer::{Asked, Legacy, Peer, error, html, json_body, modern, tool, with_header};
use super::*;
use crate::model::observation::{DetectionState, Outcome};
use crate::model::secret::TextOrSecret;

const CHALLENGE: &str =
    r#"Bearer realm="mcp", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource""#;

fn is_authorized(asked: &Asked) -> bool {
    asked.header("authorization") == Some("Bearer s3cret")
}

/// Trap 6 of the real servers: the body is OAuth's, not JSON-RPC's.
fn challenge() -> axum::response::Response {
    let body = json!({"error": "invalid_token", "error_description": "no"});
    with_header(json_body(401, &body), "www-authenticate", CHALLENGE)
}

#[tokio::test]
async fn behind_a_401_the_lists_are_unwatched_and_the_challenge_is_kept() {
    let peer = Peer::start(|_, _| challenge()).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);
    assert_eq!(
        states(&seen, ""),
        "mcp.handshake: unwatched; mcp.tools: unwatched; mcp.prompts: unwatched; mcp.resources: unwatched; \
         mcp.resource_templates: unwatched; mcp.transport: unwatched; auth.challenge: seen 1"
    );
    assert_eq!(sights(&seen), [""; 0]);
    assert_eq!(seen.mcp.state, DetectionState::Indicated);
    let expected = r#"{"challenges":[{"params":{"realm":"mcp","resource_metadata":"https://mcp.example.com/.well-known/oauth-protected-resource"},"scheme":"Bearer"}],"status":401}"#;
    assert_eq!(page(&seen, "auth.challenge").canonical(), expected);
}

#[tokio::test]
async fn a_403_with_a_challenge_is_a_guard_too() {
    let peer = Peer::start(|_, _| with_header(html(403), "www-authenticate", "Bearer")).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let expected = r#"{"challenges":[{"params":{},"scheme":"Bearer"}],"status":403}"#;
    assert_eq!(page(&seen, "auth.challenge").canonical(), expected);
}

#[tokio::test]
async fn a_bare_401_is_a_challenge_without_any() {
    let peer = Peer::start(|_, _| html(401)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(page(&seen, "auth.challenge").canonical(), r#"{"challenges":[],"status":401}"#);
}

#[tokio::test]
async fn our_credential_sees_its_own_face() {
    let peer =
        Peer::start(|asked, _| if is_authorized(asked) { modern(asked, &[tool("a")]) } else { challenge() }).await;
    let seen = scan(&peer.url).with_token(Some("s3cret")).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert!(states(&seen, "").contains("mcp.tools: unwatched"));
    assert_eq!(
        states(&seen, "@auth"),
        "mcp.handshake: seen 1; mcp.tools: seen 2; mcp.prompts: absent; mcp.resources: absent; \
         mcp.resource_templates: absent; mcp.transport: seen 1; auth.challenge: -"
    );
    assert_eq!(seen.mcp.state, DetectionState::Confirmed);
    assert_eq!(seen.asked.credential.as_deref(), Some("env PEER_TOKEN"));
    assert!(!format!("{seen:?}").contains("s3cret"));
}

#[tokio::test]
async fn both_faces_are_seen_where_both_are_served() {
    let peer = Peer::start(|asked, _| {
        if is_authorized(asked) { modern(asked, &[tool("a"), tool("b")]) } else { modern(asked, &[tool("a")]) }
    })
    .await;
    let seen = scan(&peer.url).with_token(Some("s3cret")).run().await;
    let count = |facet| page(&seen, facet).member("tools").and_then(Json::as_array).unwrap().len();
    assert_eq!((count("mcp.tools"), count("mcp.tools@auth")), (1, 2));
}

#[tokio::test]
async fn a_stranger_that_is_switched_off_asks_nothing() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let mut ask = scan(&peer.url).with_token(Some("s3cret"));
    ask.target.anonymous = false;
    let seen = ask.run().await;
    assert!(peer.asked().iter().all(is_authorized));
    assert!(states(&seen, "").contains("auth.challenge: unwatched"));
    assert_eq!(seen.outcome, Outcome::Ok);
}

#[tokio::test]
async fn a_refused_credential_is_our_blindness_and_not_the_servers_drift() {
    for status in [401, 403] {
        let peer = Peer::start(move |asked, _| match asked.header("authorization") {
            Some(_) => html(status),
            None => modern(asked, &[tool("a")]),
        })
        .await;
        let seen = scan(&peer.url).with_token(Some("old")).run().await;
        assert_eq!(seen.outcome, Outcome::CredentialRejected, "{status}");
        assert_eq!(sights(&seen), ["scan.credential-rejected/- /mcp.handshake@auth"], "{status}");
        assert_eq!(unseen(&seen, "mcp.tools@auth").0, UnseenKind::CredentialRejected);
        assert_eq!(tools(&seen), [["a"], ["a"]]);
    }
}

#[tokio::test]
async fn a_credential_that_cannot_be_had_leaves_only_its_own_face_unseen() {
    for token in [None, Some("not\na header")] {
        let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
        let seen = scan(&peer.url).with_token(token).run().await;
        assert_eq!(seen.outcome, Outcome::Partial);
        assert_eq!(sights(&seen), ["scan.credential-unavailable/- /mcp.handshake@auth"]);
        assert_eq!(unseen(&seen, "mcp.tools@auth").0, UnseenKind::CredentialUnavailable);
        assert_eq!(tools(&seen), [["a"], ["a"]]);
        assert!(peer.asked().iter().all(|asked| asked.header("authorization").is_none()));
    }
}

#[tokio::test]
async fn a_list_behind_a_401_of_its_own_is_unwatched() {
    let server = Legacy { capabilities: json!({"tools": {}, "prompts": {}}), ..Legacy::of("2025-06-18") };
    let peer =
        Peer::start(move |asked, _| if asked.method() == "tools/list" { challenge() } else { server.answer(asked) })
            .await;
    let seen = scan(&peer.url).run().await;
    let states = states(&seen, "");
    assert!(states.contains("mcp.tools: unwatched; mcp.prompts: seen 1"), "{states}");
    assert!(states.contains("auth.challenge: seen 1"), "{states}");
    assert_eq!(seen.outcome, Outcome::Ok);
}

#[tokio::test]
async fn both_faces_of_no_server_are_told_once() {
    let peer = Peer::start(|_, _| error(200, &json!(null), -32603)).await;
    let seen = scan(&peer.url).with_token(Some("s3cret")).run().await;
    assert_eq!(seen.outcome, Outcome::Error);
    assert_eq!(sights(&seen), ["scan.handshake-failed/- /endpoint"]);
}

struct Hide(&'static str);

impl crate::net::Scrub for Hide {
    fn scrub<'b>(&self, bytes: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains(self.0) => text.replace(self.0, "‹secret env PEER_TOKEN›").into_bytes().into(),
            _ => bytes.into(),
        }
    }
}

#[tokio::test]
async fn a_secret_that_the_peer_echoes_is_replaced_before_anything_sees_it() {
    let peer = Peer::start(|asked, _| {
        let tools = [json!({"name": "s3cret/x", "description": "s3cret/x", "s3cret/x": ["s3cret/x"]})];
        let response = with_header(modern(asked, &tools), "server", "s3cret/x");
        let response = with_header(response, "www-authenticate", "Bearer realm=s3cret/x");
        let (parts, body) = response.into_parts();
        let body = futures_util::FutureExt::now_or_never(axum::body::to_bytes(body, 1 << 20)).unwrap().unwrap();
        // Escapes that hide the value in the bytes.
        let body = String::from_utf8(body.to_vec()).unwrap().replace(r#"n":"s3cret/x"#, r#"n":"s3\u0063ret\/x"#);
        axum::response::Response::from_parts(parts, body.into())
    })
    .await;
    let mut ask = scan(&peer.url).with_token(Some("s3cret/x"));
    ask.scrub = &Hide("s3cret/x");
    let seen = ask.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let text = format!("{:?}", seen.facets);
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(tools(&seen), [["‹secret env PEER_TOKEN›"], ["‹secret env PEER_TOKEN›"]]);
}

#[tokio::test]
async fn headers_of_the_inventory_go_with_each_request_and_never_over_ours() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let mut ask = scan(&peer.url);
    ask.headers = vec![
        ("x-team".parse().unwrap(), "payments".parse().unwrap()),
        (http::header::ACCEPT, "text/html".parse().unwrap()),
    ];
    let text = |name: &str, value: &str| (name.to_owned(), TextOrSecret::Text(value.to_owned()));
    ask.target.headers = vec![text("X-Team", "payments"), text("accept", "text/html")];
    let seen = ask.run().await;
    for asked in peer.asked() {
        assert_eq!(asked.header("x-team"), Some("payments"));
        assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
    }
    assert_eq!(seen.asked.headers, ["x-team", "accept"]);
}
