use super::peer::{Legacy, Peer, empty, modern, tool, with_header};
use super::*;
use crate::model::observation::Outcome;

/// Trap 5 of the real servers.
#[tokio::test]
async fn a_307_to_the_same_origin_is_followed_with_the_body_and_once() {
    let server = Legacy { session: Some("0123456789abcdef0123"), ..Legacy::of("2025-06-18") };
    let peer = Peer::start(move |asked, _| match asked.path.as_str() {
        "/mcp" => with_header(empty(307), "location", "/mcp/"),
        _ => server.answer(asked),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let paths: Vec<String> =
        peer.asked().into_iter().map(|asked| format!("{} {}", asked.path, asked.method())).collect();
    assert_eq!(
        paths,
        [
            "/mcp server/discover",
            "/mcp/ server/discover",
            "/mcp initialize",
            "/mcp/ initialize",
            "/mcp/ notifications/initialized",
            "/mcp/ tools/list",
            "/mcp/ tools/list",
            "/mcp/ DELETE",
        ]
    );
    let transport = page(&seen, "mcp.transport");
    assert_eq!(transport.member("url").unwrap().as_str(), Some(format!("{}/", peer.url).as_str()));
    let hop = &transport.member("redirects").unwrap().as_array().unwrap()[0];
    assert_eq!(hop.member("status"), Some(&Json::from(307)));
}

#[tokio::test]
async fn redirects_that_lose_the_body_are_told_and_not_followed() {
    for status in [301, 302, 303] {
        let peer = Peer::start(move |_, _| with_header(empty(status), "location", "/mcp/")).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(sights(&seen), ["scan.http-error/- /endpoint"]);
        assert_eq!(peer.asked_for("server/discover").len(), 1);
        assert!(peer.asked().iter().all(|asked| asked.verb == "GET" || asked.path == "/mcp"));
    }
}

#[tokio::test]
async fn a_redirect_to_special_space_is_refused_unless_it_is_opened() {
    let elsewhere = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let to = elsewhere.url.to_string();
    let peer = Peer::start(move |_, _| with_header(empty(308), "location", &to)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(elsewhere.asked().len(), 0, "another port is another origin");
    assert_eq!(seen.outcome, Outcome::Error);
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Refused);
    assert_eq!(sights(&seen), ["scan.error/- /endpoint"]);

    let mut ask = scan(&peer.url);
    ask.target.egress_allow = vec!["127.0.0.0/8".parse().unwrap()];
    assert_eq!(tools(&ask.run().await), [["a"], ["a"]]);
}

#[tokio::test]
async fn what_is_private_goes_to_the_origin_written_and_to_no_other() {
    let elsewhere = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let to = elsewhere.url.to_string();
    let peer = Peer::start(move |_, _| with_header(empty(307), "location", &to)).await;
    let mut ask = scan(&peer.url).with_token(Some("s3cret"));
    ask.target.egress_allow = vec!["127.0.0.0/8".parse().unwrap()];
    ask.headers = vec![("x-api-key".parse().unwrap(), "k3y".parse().unwrap())];
    let seen = ask.run().await;
    assert!(peer.asked().iter().any(|asked| asked.header("authorization") == Some("Bearer s3cret")));
    assert!(peer.asked().iter().all(|asked| asked.header("x-api-key") == Some("k3y")));
    assert!(!elsewhere.asked().is_empty());
    for asked in elsewhere.asked() {
        assert_eq!(asked.header("authorization"), None);
        assert_eq!(asked.header("x-api-key"), None);
    }
    assert_eq!(unseen(&seen, "mcp.tools@auth").0, UnseenKind::Refused, "an answer without it is not our face");
    assert_eq!(seen.outcome, Outcome::Partial);
}

#[tokio::test]
async fn a_circle_of_redirects_is_left_after_five() {
    let peer = Peer::start(|_, _| with_header(empty(307), "location", "/mcp")).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::TooLarge);
    assert_eq!(peer.asked().len(), 6);
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_refused() {
    for to in ["file:///etc/passwd", "http://", "http://169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/"] {
        let peer = Peer::start(move |_, _| with_header(empty(307), "location", to)).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Refused, "{to}");
        assert_eq!(peer.asked().len(), 1, "{to}");
    }
}
