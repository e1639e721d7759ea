//! Where the endpoint is looked for, and what is seen of cards and catalogs on the way.

use serde_json::{Value, json};

use super::peer::{Asked, Legacy, Peer, empty, error, html, json_body, modern, result, text, tool, with_header};
use super::*;
use crate::model::observation::{DetectionState, FoundBy, Outcome};

const CATALOG: &str = "/.well-known/ai-catalog.json";
const WELL_KNOWN: &str = "/.well-known/mcp/server-card.json";
const CARD: &str = "/mcp/server-card";

/// A scan that looks at everything, of `path` at the peer's origin; the loopback is open to what the peer names.
fn search(peer: &Peer, path: &str) -> Scan<'static> {
    let mut ask = scan(&at(peer, path));
    ask.target.egress_allow = vec!["127.0.0.0/8".parse().unwrap()];
    ask.kept = None;
    ask
}

fn at(peer: &Peer, path: &str) -> Url {
    peer.url.join(path).unwrap()
}

fn card(url: &str) -> Value {
    json!({"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "example/ledger", "version": "1.0.0", "description": "Keeps a ledger.",
        "remotes": [{"type": "streamable-http", "url": url}]})
}

fn catalog(entry: &Value) -> Value {
    json!({"specVersion": "1.0", "entries": [entry]})
}

fn served(value: &Value) -> axum::response::Response {
    json_body(200, value)
}

/// What was asked for, as `VERB PATH`, without repetition.
fn ways(peer: &Peer) -> Vec<String> {
    let mut ways: Vec<String> = peer.asked().iter().map(|asked| format!("{} {}", asked.verb, asked.path)).collect();
    ways.dedup();
    ways
}

fn found(seen: &Observation) -> Option<(String, FoundBy)> {
    seen.mcp.endpoint.as_ref().map(|found| (found.url.clone(), found.found_by))
}

fn here(asked: &Asked) -> String {
    format!("http://{}", asked.header("host").unwrap())
}

/// Answers as an MCP server at `path` alone.
fn mcp_at(path: &'static str, asked: &Asked) -> axum::response::Response {
    if asked.path == path && asked.verb == "POST" { modern(asked, &[tool("a")]) } else { html(404) }
}

#[tokio::test]
async fn a_url_that_answers_is_taken_as_written_whatever_a_card_says() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        CARD => served(&card(&format!("{}/elsewhere", here(asked)))),
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let seen = search(&peer, "/mcp").run().await;
    assert_eq!((seen.outcome, found(&seen)), (Outcome::Ok, None));
    assert!(!ways(&peer).iter().any(|way| way.contains("elsewhere")));
    assert_eq!(page(&seen, "mcp.transport").member("found_by"), None);
    assert_eq!(page(&seen, "mcp.card").member("at").unwrap().as_str(), Some(at(&peer, CARD).as_str()));
    assert_eq!(
        page(&seen, "mcp.card").member("document").unwrap(),
        &Json::from(&card(&format!("{}elsewhere", at(&peer, "/"))))
    );
    assert_eq!(
        ways(&peer),
        ["POST /mcp", "GET /.well-known/ai-catalog.json", &format!("GET {WELL_KNOWN}"), "GET /mcp/server-card"]
    );
    assert!(matches!(seen.facets[&name("mcp.catalog")], RawFacet::Absent { .. }));
}

#[tokio::test]
async fn each_kind_of_document_leads_a_bare_origin_to_its_endpoint() {
    for (place, by) in [
        (CATALOG, FoundBy::AiCatalog),
        (WELL_KNOWN, FoundBy::ServerCard),
        (CARD, FoundBy::ServerCard),
        ("/server-card", FoundBy::ServerCard),
    ] {
        let peer = Peer::start(move |asked, _| {
            let card = card(&format!("{}/v2/rpc", here(asked)));
            match asked.path.as_str() {
                path if path == place && place == CATALOG => {
                    served(&catalog(&json!({"type": "application/mcp-server-card+json", "data": card})))
                }
                path if path == place => served(&card),
                _ => mcp_at("/v2/rpc", asked),
            }
        })
        .await;
        let seen = search(&peer, "/").run().await;
        assert_eq!(found(&seen), Some((at(&peer, "/v2/rpc").to_string(), by)), "{place}");
        assert_eq!((seen.outcome, seen.mcp.state), (Outcome::Ok, DetectionState::Confirmed), "{place}");
        let transport = page(&seen, "mcp.transport");
        assert_eq!(transport.member("found_by").unwrap().as_str(), Some(by.as_str()));
        assert_eq!(transport.member("endpoint"), transport.member("url"));
        assert!(matches!(seen.facets[&name("mcp.card")], RawFacet::Seen(_)), "{place}");
        assert!(seen.mcp.evidence.iter().any(|said| said.contains("/v2/rpc")), "{:?}", seen.mcp.evidence);
    }
}

#[tokio::test]
async fn a_catalog_may_say_where_its_card_is_and_a_card_may_have_a_url_alone() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        CATALOG => {
            let card = format!("{}/cards/ledger", here(asked));
            served(&catalog(&json!({"type": "application/mcp-server-card+json", "url": card})))
        }
        "/cards/ledger" => served(&json!({"name": "ledger", "url": format!("{}/rpc", here(asked))})),
        _ => mcp_at("/rpc", asked),
    })
    .await;
    let seen = search(&peer, "/").run().await;
    assert_eq!(found(&seen), Some((at(&peer, "/rpc").to_string(), FoundBy::AiCatalog)));
    let accepts: Vec<String> =
        peer.asked_for("GET").iter().map(|asked| asked.header("accept").unwrap().to_owned()).collect();
    assert_eq!(accepts[0], "application/ai-catalog+json, application/json");
    assert_eq!(accepts[1], "application/mcp-server-card+json, application/json");
}

#[tokio::test]
async fn without_documents_the_url_itself_comes_before_the_path_mcp() {
    let peer = Peer::start(|asked, _| mcp_at("/", asked)).await;
    let seen = search(&peer, "/").run().await;
    assert_eq!((seen.outcome, found(&seen)), (Outcome::Ok, None));
    assert!(!ways(&peer).contains(&"POST /mcp".to_owned()));

    let peer = Peer::start(|asked, _| mcp_at("/mcp", asked)).await;
    let seen = search(&peer, "/").run().await;
    assert_eq!(found(&seen), Some((peer.url.to_string(), FoundBy::McpPath)));
    assert_eq!(ways(&peer)[4..], ["POST /", "GET /", "POST /mcp"]);
}

#[tokio::test]
async fn what_answers_without_mcp_is_searched_and_what_fails_is_not() {
    for answer in [404, 405, 200] {
        let peer =
            Peer::start(move |asked, _| if asked.path == "/api" { html(answer) } else { mcp_at("/mcp", asked) }).await;
        let seen = search(&peer, "/api").run().await;
        assert_eq!(found(&seen), Some((peer.url.to_string(), FoundBy::McpPath)), "{answer}");
        assert_eq!(ways(&peer)[0], "POST /api", "as written comes first");
    }
    for answer in [403, 407, 429, 500, 503] {
        let peer =
            Peer::start(move |asked, _| if asked.path == "/api" { empty(answer) } else { mcp_at("/mcp", asked) }).await;
        let seen = search(&peer, "/api").run().await;
        assert_eq!(found(&seen), None, "{answer}");
        assert_eq!(ways(&peer), ["POST /api"], "{answer}");
        assert!(matches!(seen.facets[&name("mcp.card")], RawFacet::Unseen(_)), "{answer}");
    }
    let peer = Peer::start(|asked, _| error(404, &asked.id(), -32601)).await;
    search(&peer, "/api").run().await;
    assert!(!ways(&peer).contains(&"POST /mcp".to_owned()), "it speaks JSON-RPC");
}

#[tokio::test]
async fn a_401_ends_the_search() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        WELL_KNOWN => served(&card(&format!("{}/guarded", here(asked)))),
        "/guarded" => with_header(empty(401), "www-authenticate", "Bearer"),
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let seen = search(&peer, "/").run().await;
    assert_eq!((seen.outcome, seen.mcp.state), (Outcome::Ok, DetectionState::Indicated));
    assert_eq!(found(&seen), Some((at(&peer, "/guarded").to_string(), FoundBy::ServerCard)));
    assert!(!ways(&peer).iter().any(|way| way == "POST /mcp" || way == "POST /"), "{:?}", ways(&peer));
}

#[tokio::test]
async fn a_credential_goes_to_the_origin_written_and_never_where_a_card_leads() {
    let elsewhere = Peer::start(|asked, _| modern(asked, &[tool("b")])).await;
    let to = elsewhere.url.to_string();
    let peer = Peer::start(move |asked, _| match asked.path.as_str() {
        WELL_KNOWN => served(&card(&to)),
        _ => html(404),
    })
    .await;
    let mut ask = search(&peer, "/").with_token(Some("s3cret"));
    ask.headers = vec![("x-api-key".parse().unwrap(), "k3y".parse().unwrap())];
    let seen = ask.run().await;
    assert_eq!(found(&seen), Some((elsewhere.url.to_string(), FoundBy::ServerCard)));
    assert_eq!(tools(&seen), [["b"], ["b"]]);
    assert!(!elsewhere.asked().is_empty());
    for asked in elsewhere.asked() {
        assert_eq!((asked.header("authorization"), asked.header("x-api-key")), (None, None));
        assert!(!format!("{asked:?}").contains("s3cret"));
    }
    assert!(
        peer.asked().iter().all(|asked| asked.header("authorization").is_none()),
        "nobody there holds a conversation"
    );
    assert!(peer.asked().iter().all(|asked| asked.header("x-api-key") == Some("k3y")));
    assert!(seen.unwatched[&name("mcp.tools@auth")].contains("another origin"));
}

#[tokio::test]
async fn a_credential_goes_to_the_endpoint_found_at_the_origin_written() {
    let peer = Peer::start(|asked, _| match (asked.path.as_str(), asked.header("authorization")) {
        ("/mcp", None) => with_header(empty(401), "www-authenticate", "Bearer"),
        ("/mcp", Some(_)) => modern(asked, &[tool("ours")]),
        _ => html(404),
    })
    .await;
    let seen = search(&peer, "/").with_token(Some("s3cret")).run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{}", states(&seen, "@auth"));
    assert_eq!(page(&seen, "mcp.transport@auth").member("endpoint").unwrap().as_str(), Some(peer.url.as_str()));
    let with: Vec<String> = peer
        .asked()
        .into_iter()
        .filter(|asked| asked.header("authorization").is_some())
        .map(|asked| asked.path)
        .collect();
    assert!(!with.is_empty() && with.iter().all(|path| path == "/mcp"), "documents are asked as a stranger: {with:?}");
}

#[tokio::test]
async fn where_the_stranger_is_not_to_ask_our_credential_looks_at_its_origin_alone() {
    let peer = Peer::start(|asked, _| mcp_at("/mcp", asked)).await;
    let mut ask = search(&peer, "/").with_token(Some("s3cret"));
    ask.target.anonymous = false;
    let seen = ask.run().await;
    assert_eq!(ways(&peer), ["POST /", "GET /", "POST /mcp"], "no document is asked for");
    assert_eq!(found(&seen), Some((peer.url.to_string(), FoundBy::McpPath)));
    assert!(seen.unwatched[&name("mcp.card")].contains("anonymous: false"));
}

#[tokio::test]
async fn a_hostile_card_makes_us_ask_little_and_nowhere_that_is_closed() {
    let remotes: Vec<Value> =
        (0..20_000).map(|n| json!({"type": "streamable-http", "url": format!("http://127.0.0.1:1/{n}")})).collect();
    let crowd = json!({"name": "a", "version": "1", "remotes": remotes});
    let peer = Peer::start(move |asked, _| if asked.path == WELL_KNOWN { served(&crowd) } else { html(404) }).await;
    let seen = search(&peer, "/").run().await;
    assert!(seen.requests < 30, "{}", seen.requests);

    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://localhost:1/mcp",
        "http://0.0.0.0:1/",
        "http://10.0.0.1/mcp",
    ] {
        let peer = Peer::start(move |asked, _| if asked.path == CARD { served(&card(url)) } else { html(404) }).await;
        let mut ask = search(&peer, "/");
        ask.target.egress_allow = Vec::new();
        let seen = ask.run().await;
        assert_eq!(seen.mcp.state, DetectionState::Indicated, "{url}");
        assert_eq!(found(&seen), None, "{url}");
        assert!(
            seen.mcp.evidence.iter().any(|said| said.contains("not open") || said.contains("never")),
            "{url}: {:?}",
            seen.mcp.evidence
        );
    }
}

#[tokio::test]
async fn documents_beyond_the_caps_are_unseen_and_the_endpoint_is_watched_all_the_same() {
    let deep = "[".repeat(100_000);
    let big = format!("{{\"remotes\": [{}]}}", vec!["{}"; 300_000].join(","));
    for (what, body) in
        [("deep", deep), ("big", big), ("long", "x".repeat(5 << 20)), ("cut", "{\"remotes\": [".to_owned())]
    {
        let peer = Peer::start(move |asked, _| match asked.path.as_str() {
            CARD => text(200, "application/json", body.clone()),
            _ => mcp_at("/mcp", asked),
        })
        .await;
        let seen = search(&peer, "/mcp").run().await;
        assert_eq!(tools(&seen), [["a"], ["a"]], "{what}");
        let (kind, _) = unseen(&seen, "mcp.card");
        assert!(matches!(kind, UnseenKind::TooLarge | UnseenKind::InvalidJson), "{what}: {kind:?}");
        assert_eq!(seen.outcome, Outcome::Partial, "{what}");
        assert!(sights(&seen).iter().any(|sight| sight.ends_with("/mcp.card")), "{what}: {:?}", sights(&seen));
    }
}

#[tokio::test]
async fn a_place_that_leads_in_circles_or_to_another_origin_is_told() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        WELL_KNOWN => with_header(empty(302), "location", WELL_KNOWN),
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let seen = search(&peer, "/mcp").run().await;
    assert_eq!(unseen(&seen, "mcp.card").0, UnseenKind::TooLarge);
    assert!(seen.requests < 15, "{}", seen.requests);

    let elsewhere = Peer::start(|asked, _| served(&card(&format!("{}/mcp", here(asked))))).await;
    let to = at(&elsewhere, "/card").to_string();
    let peer = Peer::start(move |asked, _| match asked.path.as_str() {
        CARD => with_header(empty(302), "location", &to),
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let seen = search(&peer, "/mcp").run().await;
    assert_eq!(page(&seen, "mcp.card").member("at").unwrap().as_str(), Some(at(&elsewhere, "/card").as_str()));
    assert!(remarks(&seen).contains(&"net.redirect-cross-origin"));
}

#[tokio::test]
async fn a_place_is_absent_unseen_or_not_watched_by_what_it_answers() {
    for (status, wanted) in [
        (404, "absent"),
        (410, "absent"),
        (405, "absent"),
        (200, "absent"),
        (401, "unseen guarded"),
        (403, "unseen blocked"),
        (407, "unseen blocked"),
        (429, "unseen rate_limited"),
        (500, "unseen server_error"),
    ] {
        let peer =
            Peer::start(move |asked, _| if asked.path == CARD { html(status) } else { mcp_at("/mcp", asked) }).await;
        let seen = search(&peer, "/mcp").run().await;
        let states = states(&seen, "");
        assert!(states.contains(&format!("mcp.card: {wanted};")), "{status}: {states}");
        assert!(states.contains("mcp.catalog: absent;"), "{status}: {states}");
        let is_whole = matches!(wanted, "absent" | "unseen guarded");
        assert_eq!(seen.outcome == Outcome::Ok, is_whole, "{status}");
    }
}

#[tokio::test]
async fn ordinary_pages_that_talk_about_mcp_are_no_sign_of_it() {
    let pages = [
        ("text/html", "<title>MCP tools/list server-card</title>"),
        (
            "application/json",
            r#"{"openapi":"3.1.0","info":{"title":"MCP server-card","version":"1"},"paths":{"/mcp":{}}}"#,
        ),
        ("application/json", r#"{"jsonrpc":"2.0","method":"tools/list","docs":"call initialize first"}"#),
        ("application/json", r#"{"url":"https://203.0.113.1/mcp"}"#),
        ("application/json", r#"[{"name":"mcp"}]"#),
        ("text/plain", "POST tools/list to /mcp; see /.well-known/mcp/server-card.json"),
    ];
    for (kind, body) in pages {
        let peer = Peer::start(move |_, _| text(200, kind, body)).await;
        for path in ["/", "/mcp"] {
            let mut ask = search(&peer, path);
            ask.target.egress_allow = Vec::new();
            ask.target.timeout = Duration::from_millis(300);
            let seen = ask.run().await;
            let states = [DetectionState::NotDetected, DetectionState::Unseen];
            assert!(states.contains(&seen.mcp.state), "{body}: {:?}", seen.mcp);
            assert_eq!(found(&seen), None, "{body}");
        }
    }
}

#[tokio::test]
async fn a_whole_card_without_an_endpoint_that_answers_is_a_sign_and_no_proof() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        CARD => served(&card(&format!("{}/gone", here(asked)))),
        _ => html(404),
    })
    .await;
    let seen = search(&peer, "/?key=k3y").run().await;
    assert_eq!((seen.outcome, seen.mcp.state), (Outcome::Error, DetectionState::Indicated));
    assert_eq!(remarks(&seen), ["mcp.no-endpoint"]);
    let said = &seen.remarks[0].evidence;
    assert!(!said.contains("k3y"), "{said}");
    assert!(["/gone", "/mcp", "/: "].iter().all(|part| said.contains(part)), "{said}");

    let entry = |kind: &str| json!({"type": kind, "url": "https://card.invalid/card"});
    for (kind, state) in [
        ("application/mcp-server-card+json", DetectionState::Indicated),
        ("application/a2a-agent-card+json", DetectionState::NotDetected),
    ] {
        let listed = catalog(&entry(kind));
        let peer = Peer::start(move |asked, _| if asked.path == CATALOG { served(&listed) } else { html(404) }).await;
        assert_eq!(search(&peer, "/").run().await.mcp.state, state, "{kind}");
    }
}

#[tokio::test]
async fn checks_follow_the_search_and_not_one_candidate() {
    let peer = Peer::start(|asked, _| if asked.path == "/" { html(200) } else { html(404) }).await;
    assert_eq!(remarks(&search(&peer, "/").run().await), ["mcp.not-jsonrpc"], "one of them gave a 2xx");
    let peer = Peer::start(|asked, _| if asked.path == "/" { html(200) } else { mcp_at("/mcp", asked) }).await;
    assert_eq!(remarks(&search(&peer, "/").run().await), Vec::<&str>::new(), "the next one is an endpoint");
    let peer = Peer::start(|asked, _| if asked.path == "/mcp" { empty(503) } else { html(404) }).await;
    let seen = search(&peer, "/").run().await;
    assert_eq!(remarks(&seen), Vec::<&str>::new(), "what could not be seen may be it");
    assert_eq!(seen.outcome, Outcome::Unreachable);
}

fn known(url: &Url, found_by: FoundBy) -> Option<Found> {
    Some(Found { url: url.to_string(), found_by })
}

#[tokio::test]
async fn between_searches_the_endpoint_found_before_is_asked_at_once() {
    let peer = Peer::start(|asked, _| mcp_at("/v2", asked)).await;
    let mut ask = search(&peer, "/");
    ask.endpoint = known(&at(&peer, "/v2"), FoundBy::ServerCard);
    ask.kept = scan(&peer.url).kept;
    let seen = ask.run().await;
    assert_eq!(ways(&peer), ["POST /v2"]);
    assert_eq!(found(&seen), Some((at(&peer, "/v2").to_string(), FoundBy::ServerCard)));
    assert!(seen.kept.is_none(), "what was kept serves");
}

#[tokio::test]
async fn an_outage_moves_nobody() {
    // The endpoint that is known is down: another that answers is not taken for it.
    let peer = Peer::start(|asked, _| if asked.path == "/v2" { empty(503) } else { mcp_at("/mcp", asked) }).await;
    for kept in [None, scan(&peer.url).kept] {
        let mut ask = search(&peer, "/v1");
        ask.endpoint = known(&at(&peer, "/v2"), FoundBy::ServerCard);
        let searches = kept.is_none();
        ask.kept = kept;
        let seen = ask.run().await;
        if searches {
            assert_eq!(found(&seen), Some((peer.url.to_string(), FoundBy::McpPath)), "nothing leads to /v2 any more");
        } else {
            assert_eq!((seen.outcome, seen.mcp.state), (Outcome::Unreachable, DetectionState::Unseen));
        }
    }
    // Where the documents cannot be seen, the endpoint that they led to stands.
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        WELL_KNOWN => empty(503),
        "/v2" | "/mcp" => modern(asked, &[tool("a")]),
        _ => html(404),
    })
    .await;
    let mut ask = search(&peer, "/");
    ask.endpoint = known(&at(&peer, "/v2"), FoundBy::ServerCard);
    let seen = ask.run().await;
    assert_eq!(found(&seen), Some((at(&peer, "/v2").to_string(), FoundBy::ServerCard)));
}

#[tokio::test]
async fn a_search_whose_card_leads_elsewhere_moves_and_one_that_leads_nowhere_stays() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        WELL_KNOWN => served(&card(&format!("{}/v3", here(asked)))),
        "/v2" | "/v3" => modern(asked, &[tool("a")]),
        _ => html(404),
    })
    .await;
    let mut ask = search(&peer, "/");
    ask.endpoint = known(&at(&peer, "/v2"), FoundBy::ServerCard);
    assert_eq!(found(&ask.run().await), Some((at(&peer, "/v3").to_string(), FoundBy::ServerCard)));
    let peer = Peer::start(|asked, _| mcp_at("/v2", asked)).await;
    let mut ask = search(&peer, "/");
    ask.endpoint = known(&at(&peer, "/v2"), FoundBy::ServerCard);
    assert_eq!(found(&ask.run().await), Some((at(&peer, "/v2").to_string(), FoundBy::ServerCard)));
}

#[tokio::test]
async fn who_wants_fewer_requests_is_asked_no_more_and_who_blocks_once() {
    let peer = Peer::start(|_, _| with_header(empty(429), "retry-after", "60")).await;
    let seen = search(&peer, "/").run().await;
    assert_eq!((seen.outcome, peer.asked().len()), (Outcome::RateLimited, 1));
    assert_eq!(seen.not_before, Some("2026-11-30T12:01:00Z".parse().unwrap()));
    let peer = Peer::start(|_, _| empty(403)).await;
    let mut ask = search(&peer, "/");
    ask.probe_only = true;
    let seen = ask.run().await;
    assert_eq!((seen.outcome, peer.asked().len()), (Outcome::Blocked, 1));
}

#[tokio::test]
async fn nobody_listening_costs_one_request() {
    let url = Peer::start(|_, _| empty(200)).await.url.join("/").unwrap();
    let mut ask = scan(&url);
    ask.kept = None;
    let seen = ask.run().await;
    assert_eq!((seen.outcome, seen.mcp.state, seen.requests), (Outcome::Unreachable, DetectionState::Unseen, 1));
    assert_eq!(sights(&seen), ["scan.unreachable/- /endpoint"]);
}

#[tokio::test]
async fn the_same_card_is_the_same_whatever_its_seconds_and_tags() {
    let peer = Peer::start(|asked, number| match asked.path.as_str() {
        CARD => {
            let response = with_header(served(&card("https://203.0.113.1/mcp")), "etag", &format!("\"{number}\""));
            with_header(response, "cache-control", &format!("public, max-age={}", 600 - number))
        }
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let (first, second) = (search(&peer, "/mcp").run().await, search(&peer, "/mcp").run().await);
    assert_eq!(page(&first, "mcp.card"), page(&second, "mcp.card"));
    let cache = page(&first, "mcp.card").member("cache").unwrap().canonical();
    assert_eq!(cache, r#"{"control":["max-age","public"],"etag":true}"#);
}

#[tokio::test]
async fn what_is_ambiguous_in_a_card_is_said() {
    let peer = Peer::start(|asked, _| match asked.path.as_str() {
        CARD => text(200, "application/json", r#"{"name":"a","name":"b","version":"1","remotes":[]}"#),
        _ => mcp_at("/mcp", asked),
    })
    .await;
    let seen = search(&peer, "/mcp").run().await;
    assert_eq!(reads(&seen, "mcp.card")[0].ambiguities, ["duplicate member name (1)"]);
}

#[tokio::test]
async fn a_server_of_a_legacy_date_is_found_like_any_other() {
    let server = Legacy::of("2025-06-18");
    let peer = Peer::start(move |asked, _| match (asked.path.as_str(), asked.verb.as_str()) {
        ("/mcp", "POST") => server.answer(asked),
        ("/", "POST") => result(asked, &json!({})),
        _ => html(404),
    })
    .await;
    let seen = search(&peer, "/").run().await;
    assert!(seen.mcp.version.is_some(), "{:?}", seen.mcp);
}
