use serde_json::{Value, json};

use super::peer::{Legacy, Peer, empty, error, html, json_body, modern, result, text, tool, with_header};
use super::*;
use crate::model::observation::{DetectionState, Era, Outcome};
use crate::probe::dates;

#[tokio::test]
async fn a_modern_server_is_asked_without_any_session() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(peer.methods(), ["server/discover", "tools/list", "tools/list"]);
    for asked in peer.asked() {
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), Some(asked.method()));
        assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(asked.header("mcp-name"), None);
        assert_eq!(asked.header("user-agent").unwrap().split('/').next(), Some("driftd"));
        assert!(asked.header("user-agent").unwrap().ends_with("(+mailto:ops@example.com)"));
        let meta = &asked.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    }
    assert_eq!(seen.mcp.state, DetectionState::Confirmed);
    assert_eq!(seen.mcp.era, Some(Era::Stateless));
    assert_eq!(seen.asked.date.as_deref(), Some("2026-07-28"));
    assert_eq!(seen.requests, 3);
    let transport = page(&seen, "mcp.transport");
    assert_eq!(transport.member("http_version"), Some(&Json::from("1.1")));
    assert_eq!(transport.member("address_class"), Some(&Json::from("loopback")));
    assert_eq!(transport.member("framing"), Some(&Json::from("json")));
    assert_eq!(seen.address_class, Some(crate::model::observation::AddressClass::Loopback));
}

#[tokio::test]
async fn each_legacy_date_is_negotiated_and_sent_back() {
    for date in dates::LEGACY {
        let server = Legacy::of(date);
        let peer = Peer::start(move |asked, _| server.answer(asked)).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(seen.outcome, Outcome::Ok, "{date}");
        assert_eq!(
            peer.methods(),
            ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/list"]
        );
        let initialize = &peer.asked_for("initialize")[0];
        assert_eq!(initialize.body["params"]["protocolVersion"], "2025-11-25");
        assert_eq!(initialize.body["params"]["capabilities"], json!({}), "trap 2: nothing is declared");
        assert_eq!(initialize.header("mcp-protocol-version"), None);
        assert_eq!(initialize.header("mcp-method"), None);
        for method in ["notifications/initialized", "tools/list"] {
            assert_eq!(peer.asked_for(method)[0].header("mcp-protocol-version"), Some(date));
        }
        assert_eq!(seen.mcp.state, DetectionState::Confirmed);
        assert_eq!(seen.mcp.era, Some(Era::Session));
        assert_eq!(seen.mcp.version.as_deref(), Some(date));
        assert_eq!(seen.asked.offered, ["2026-07-28", "2025-11-25"]);
    }
}

/// Trap 4 of the real servers.
#[tokio::test]
async fn every_face_of_not_modern_falls_back_to_initialize() {
    let faces: [fn(&peer::Asked) -> axum::response::Response; 12] = [
        |_| error(400, &Value::Null, -32000),
        |_| error(400, &json!("server-error"), -32600),
        |asked| error(400, &asked.id(), -32602),
        |asked| error(404, &asked.id(), -32601),
        |asked| error(200, &asked.id(), -32601),
        |asked| error(200, &asked.id(), -32603),
        |_| html(404),
        |_| text(415, "text/plain", "no"),
        |_| html(401),
        |_| empty(204),
        |_| empty(200),
        |asked| result(asked, &json!({"tools": []})),
    ];
    for (number, face) in faces.into_iter().enumerate() {
        let server = Legacy::of("2025-06-18");
        let peer = Peer::start(
            move |asked, _| {
                if asked.method() == "server/discover" { face(asked) } else { server.answer(asked) }
            },
        )
        .await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(seen.outcome, Outcome::Ok, "face {number}");
        assert_eq!(seen.mcp.version.as_deref(), Some("2025-06-18"), "face {number}");
        assert!(matches!(seen.facets[&name("auth.challenge")], RawFacet::Absent { .. }), "face {number}");
    }
}

#[tokio::test]
async fn what_decides_nothing_never_falls_back() {
    for (response, outcome, sight) in [
        (500, Outcome::Unreachable, "scan.unreachable/- /endpoint"),
        (503, Outcome::Unreachable, "scan.unreachable/- /endpoint"),
        (408, Outcome::Unreachable, "scan.unreachable/- /endpoint"),
        (429, Outcome::RateLimited, "scan.rate-limited/- /endpoint"),
        (301, Outcome::Error, "scan.http-error/- /endpoint"),
    ] {
        let peer = Peer::start(move |_, _| html(response)).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(seen.outcome, outcome, "{response}");
        assert_eq!(sights(&seen), [sight], "{response}");
        let posts: Vec<String> = peer.methods().into_iter().filter(|method| method != "GET").collect();
        assert_eq!(posts, ["server/discover"], "{response}");
    }
}

#[tokio::test]
async fn an_unsupported_version_is_retried_with_a_date_that_the_server_names() {
    for status in [400, 200, 500] {
        let server = Legacy::of("2025-06-18");
        let peer = Peer::start(move |asked, _| match asked.method() {
            "server/discover" => {
                let data = json!({"supported": ["2025-03-26", "2025-06-18"], "requested": "2026-07-28"});
                json_body(status, &json!({"jsonrpc": "2.0", "error": {"code": -32022, "message": "", "data": data}}))
            }
            _ => server.answer(asked),
        })
        .await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(seen.outcome, Outcome::Ok, "{status}");
        assert_eq!(peer.asked_for("initialize")[0].body["params"]["protocolVersion"], "2025-06-18");
    }
}

#[tokio::test]
async fn modern_errors_are_no_reason_to_fall_back() {
    for code in [-32020, -32021, -32022] {
        let peer = Peer::start(move |asked, _| error(400, &asked.id(), code)).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(peer.methods(), ["server/discover"], "{code}");
        assert_eq!(seen.outcome, Outcome::Error);
        assert_eq!(seen.mcp.state, DetectionState::Indicated);
        assert_eq!(sights(&seen), ["scan.handshake-failed/- /endpoint"]);
    }
}

#[tokio::test]
async fn a_target_with_a_legacy_baseline_is_asked_for_its_date_first() {
    let server = Legacy::of("2025-03-26");
    let peer = Peer::start(move |asked, _| server.answer(asked)).await;
    let seen = Scan { date: Some("2025-03-26"), ..scan(&peer.url) }.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(peer.methods(), ["initialize", "notifications/initialized", "tools/list", "tools/list"]);
    assert_eq!(peer.asked_for("initialize")[0].body["params"]["protocolVersion"], "2025-03-26");
}

#[tokio::test]
async fn a_server_that_left_the_legacy_dates_is_asked_for_the_new_one() {
    let peer = Peer::start(|asked, _| match asked.method() {
        "initialize" => {
            let data = json!({"supported": ["2026-07-28"]});
            json_body(400, &json!({"jsonrpc": "2.0", "id": asked.id(), "error": {"code": -32022, "data": data}}))
        }
        _ => modern(asked, &[tool("a")]),
    })
    .await;
    let seen = Scan { date: Some("2025-06-18"), ..scan(&peer.url) }.run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(seen.mcp.version.as_deref(), Some("2026-07-28"));
}

#[tokio::test]
async fn a_newer_date_is_noticed_once_an_hour() {
    let server = Legacy::of("2025-06-18");
    let dual = move |asked: &peer::Asked, _| match asked.header("mcp-protocol-version") {
        Some("2026-07-28") => modern(asked, &[tool("a")]),
        _ => server.answer(asked),
    };
    let peer = Peer::start(dual).await;
    let mut ask = Scan { date: Some("2025-06-18"), ..scan(&peer.url) };
    assert_eq!(remarks(&ask.run().await), [""; 0]);
    ask.second_read = SecondRead::Fresh;
    let seen = ask.run().await;
    assert_eq!(remarks(&seen), ["mcp.newer-date-available"]);
    assert_eq!(seen.mcp.version.as_deref(), Some("2025-06-18"), "it is still asked for the date of its baseline");
}

#[tokio::test]
async fn a_date_offered_in_an_initialize_error_is_tried_once() {
    let server = Legacy::of("2024-11-05");
    let peer = Peer::start(move |asked, _| {
        if asked.method() != "initialize" || asked.body["params"]["protocolVersion"] == "2024-11-05" {
            return server.answer(asked);
        }
        let data = json!({"supported": ["2024-11-05"], "requested": "2025-11-25"});
        json_body(200, &json!({"jsonrpc": "2.0", "id": asked.id(), "error": {"code": -32602, "data": data}}))
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(peer.asked_for("initialize").len(), 2);
    assert_eq!(seen.mcp.version.as_deref(), Some("2024-11-05"));
}

#[tokio::test]
async fn an_unknown_date_is_read_all_the_same_and_confirms_nothing() {
    let server = Legacy { session: Some("0123456789abcdef0123"), ..Legacy::of("2031-01-01") };
    let peer = Peer::start(move |asked, _| server.answer(asked)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.mcp.state, DetectionState::Indicated);
    assert_eq!(tools(&seen), [["a", "b"], ["a", "b"]]);
    assert_eq!(peer.asked_for("DELETE").len(), 0);
}

#[tokio::test]
async fn a_discover_without_a_common_date_is_seen_and_asked_no_further() {
    let peer = Peer::start(|asked, _| {
        result(
            asked,
            &json!({"resultType": "complete", "supportedVersions": ["2031-01-01"], "capabilities": {"tools": {}}}),
        )
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Error);
    assert_eq!(peer.methods(), ["server/discover"]);
    assert_eq!(seen.mcp.supported, ["2031-01-01"]);
    assert_eq!(reads(&seen, "mcp.handshake").len(), 1);
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::InvalidJsonrpc);
}

#[tokio::test]
async fn a_modern_server_without_discover_is_found_by_its_list() {
    let peer = Peer::start(|asked, _| match asked.method() {
        "tools/list" => modern(asked, &[tool("a")]),
        _ => error(404, &asked.id(), -32601),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Partial);
    assert_eq!(tools(&seen), [["a"], ["a"]]);
    assert_eq!(sights(&seen), ["scan.handshake-failed/- /mcp.handshake"]);
    assert_eq!(seen.mcp.state, DetectionState::Indicated);
}

#[tokio::test]
async fn a_website_is_no_server_whatever_words_it_uses() {
    let peer = Peer::start(|_, _| html(200)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Error);
    assert_eq!(sights(&seen), ["scan.handshake-failed/- /endpoint"]);
    assert_eq!(remarks(&seen), ["mcp.not-jsonrpc"]);
    assert_eq!(seen.mcp.state, DetectionState::NotDetected);

    let peer = Peer::start(|_, _| html(404)).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(sights(&seen), ["scan.http-error/- /endpoint"]);
    assert_eq!(remarks(&seen), ["mcp.no-endpoint"]);
    assert_eq!(seen.mcp.state, DetectionState::NotDetected);
}

#[tokio::test]
async fn nobody_listening_is_unreachable_and_unseen() {
    let url = Peer::start(|_, _| empty(200)).await.url.clone();
    let seen = scan(&url).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    assert_eq!(sights(&seen), ["scan.unreachable/- /endpoint"]);
    assert_eq!(seen.mcp.state, DetectionState::Unseen);
    assert!(states(&seen, "").matches("unseen unreachable").count() == 7, "{}", states(&seen, ""));
}

#[tokio::test]
async fn only_the_watched_headers_are_kept() {
    let peer = Peer::start(|asked, _| {
        let response = with_header(modern(asked, &[]), "server", "peer/1");
        let response = with_header(response, "access-control-allow-origin", "*");
        let response = with_header(response, "via", "1.1 a");
        let response = with_header(response, "via", "1.1 b");
        with_header(response, "x-request-id", "7f3a")
    })
    .await;
    let seen = scan(&peer.url).run().await;
    let headers = page(&seen, "mcp.transport").member("headers").unwrap();
    let expected = r#"{"access-control-allow-origin":"*","content-type":"application/json","server":"peer/1","via":"1.1 a, 1.1 b"}"#;
    assert_eq!(headers.canonical(), expected);
}
