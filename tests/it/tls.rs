//! What a server shows in a TLS handshake is seen whether or not it verifies, and what changes of it is told right.

use std::time::Duration;

use driftd::clock::Clock;
use driftd::operations::document::Incident;
use rcgen::KeyPair;
use serde_json::Value;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::tls::{Authority, Show, TlsFront, Wish, self_signed};
use crate::support::webhook::Hook;

const OURS: &str = "every: 24h, timeout: 5s, scan_timeout: 30s, tls: { ca: ca.pem }";

/// A peer behind TLS, and a home in which `ca.pem` holds who vouches for it.
async fn fronted(
    show: Show,
    authorities: &[&Authority],
    hook: &Hook,
    settings: &str,
) -> (ScriptedPeer, TlsFront, Home) {
    let peer = ScriptedPeer::start(Script::default()).await;
    let front = TlsFront::of(peer.port(), show).await;
    let home = crate::sight::home_with(&front.url(), hook, settings);
    home.write("ca.pem", &authorities.iter().map(|authority| authority.pem()).collect::<String>());
    (peer, front, home)
}

async fn snapshot(home: &Home) -> Value {
    let output = home.driftd(&["scan", "peer", "--output", "json"]).await;
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn rules(incidents: &[Incident]) -> Vec<String> {
    let units = incidents.iter().flat_map(|incident| incident.units.iter());
    units.map(|unit| format!("{} {}", unit.rule, unit.severity)).collect()
}

/// Scans until what is shown is confirmed.
async fn confirm(daemon: &Daemon) {
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_wrong_certificate_is_seen_and_said_by_its_word() {
    let (trusted, stranger) = (Authority::new("Shop"), Authority::new("Elsewhere"));
    let between = trusted.below("Between");
    let right = Wish::default();
    let hook = Hook::start().await;
    let (_peer, front, home) = fronted(Show::Plain, &[&trusted], &hook, OURS).await;
    for (show, verified) in [
        (Show::Chain(trusted.make(&right)), "ok"),
        (Show::Chain(trusted.make(&Wish { until: (2021, 1, 1), ..right.clone() })), "expired"),
        (Show::Chain(trusted.make(&Wish { from: (2110, 1, 1), ..right.clone() })), "not_yet_valid"),
        (Show::Chain(trusted.make(&Wish { names: vec!["other.example"], ..right.clone() })), "wrong_name"),
        (Show::Chain(self_signed(&right)), "self_signed"),
        (Show::Chain(stranger.make(&right)), "unknown_issuer"),
        (Show::Chain(between.make(&right)), "unknown_issuer"),
        (Show::Chain(between.completed(between.make(&right))), "ok"),
        (Show::Older(trusted.make(&right)), "ok"),
        // It tells so when the handshake is over.
        (Show::Demanding(trusted.make(&right), trusted.der()), "ok"),
    ] {
        front.show(show.clone());
        let snapshot = snapshot(&home).await;
        let tls = &snapshot["facets"]["tls"];
        assert_eq!((tls["state"].as_str(), tls["value"]["verified"].as_str()), (Some("seen"), Some(verified)), "{tls}");
        let version = if matches!(show, Show::Older(_)) { "1.2" } else { "1.3" };
        assert_eq!(tls["value"]["version"], version);
        let answers = verified == "ok" && !matches!(show, Show::Demanding(..));
        assert_eq!(snapshot["facets"]["mcp.tools"]["state"] == "seen", answers, "{verified}: {snapshot}");
        if !answers {
            assert_eq!(snapshot["facets"]["mcp.tools"]["state"], "unseen", "{verified}: {snapshot}");
        }
        let names = tls["value"]["names"].as_array().unwrap();
        assert_eq!(names.contains(&"localhost".into()), verified != "wrong_name");
        assert_eq!(tls["value"]["chain"].as_array().unwrap()[0]["key"], tls["value"]["key"]);
        assert!(tls["value"].get("certificates").is_none(), "what each renewal changes is not compared: {tls}");
        let ends = snapshot["checks"].as_array().unwrap().iter().find(|check| check["case"] == "1d").unwrap();
        assert_eq!((&ends["rule"], &ends["verdict"]), (&"net.tls-expiring".into(), &expected(verified).into()));
    }
}

fn expected(verified: &str) -> &'static str {
    if verified == "expired" { "finding" } else { "passed" }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_handshake_is_made_tls_is_unseen_and_says_why() {
    let trusted = Authority::new("Shop");
    let hook = Hook::start().await;
    let settings = "every: 24h, timeout: 1s, scan_timeout: 5s, tls: { ca: ca.pem }";
    let (_peer, front, home) = fronted(Show::Plain, &[&trusted], &hook, settings).await;
    let older = Show::OlderDemanding(trusted.make(&Wish::default()), trusted.der());
    for (show, reason) in [
        (Show::Plain, "unreachable: the TLS handshake failed"),
        (Show::Silence, "timeout: no whole answer within the time limit"),
        (older, "unreachable: the TLS handshake failed"),
    ] {
        front.show(show);
        let snapshot = snapshot(&home).await;
        let tls = &snapshot["facets"]["tls"];
        assert_eq!(
            (&tls["state"], &snapshot["coverage"]["tls"]["reason"]),
            (&"unseen".into(), &reason.into()),
            "{tls}"
        );
        let skipped = snapshot["checks"].as_array().unwrap().iter().filter(|check| check["rule"] == "net.tls-expiring");
        assert!(skipped.clone().count() == 4 && skipped.clone().all(|check| check["verdict"] == "skipped"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_has_no_tls_to_look_at() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = crate::sight::home(&peer.url(), &hook);
    let tls = &snapshot(&home).await["facets"]["tls"];
    assert_eq!((&tls["state"], &tls["note"]), (&"absent".into(), &"plain http".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_is_told_by_what_it_changes() {
    let (one, two) = (Authority::new("Shop"), Authority::new("Other"));
    let (key, right) = (KeyPair::generate().unwrap(), Wish::default());
    let hook = Hook::start().await;
    let (_peer, front, home) = fronted(Show::Chain(one.make_with(&right, &key)), &[&one, &two], &hook, OURS).await;
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    // Other instants and another serial number, with the same key by the same authority.
    front.show(Show::Chain(one.make_with(&Wish { until: (2121, 1, 1), ..right.clone() }, &key)));
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    for (show, said) in [
        (Show::Chain(one.make(&right)), "net.tls-key-changed/renewal info"),
        (Show::Chain(two.make(&right)), "net.tls-issuer-changed medium"),
        (Show::Older(one.make_with(&right, &key)), "net.tls-version-lowered medium"),
        (
            Show::Chain(one.make_with(&Wish { names: vec!["127.0.0.1", "new.example"], ..right.clone() }, &key)),
            "x.other-changed low",
        ),
    ] {
        front.show(show);
        confirm(&daemon).await;
        assert_eq!(rules(&daemon.drifts().await), [said]);
        front.show(Show::Chain(one.make_with(&right, &key)));
        confirm(&daemon).await;
        assert_eq!(rules(&daemon.drifts().await), [""; 0], "after {said}");
        // Long enough that it is no fleet of which each machine shows its own.
        daemon.advance(Duration::from_hours(7));
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_does_not_verify_any_more_is_told_before_the_target_counts_as_lost() {
    let trusted = Authority::new("Shop");
    let (key, right) = (KeyPair::generate().unwrap(), Wish::default());
    let hook = Hook::start().await;
    let (_peer, front, home) = fronted(Show::Chain(trusted.make_with(&right, &key)), &[&trusted], &hook, OURS).await;
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    daemon.advance(Duration::from_mins(5));
    daemon.scan("peer").await;
    front.show(Show::Chain(trusted.make_with(&Wish { until: (2021, 1, 1), ..right.clone() }, &key)));
    let scanned = daemon.scan_twice("peer", Duration::from_secs(30)).await;
    assert_eq!(scanned.outcome, "unreachable", "{scanned:?}");
    // It stands at once, beside the sight that is on its way.
    assert_eq!(rules(&daemon.incidents().await), ["net.tls-chain-invalid critical"]);
    let told = &hook.wait_for(1).await[0];
    assert_eq!((told.kind(), &told.body["data"]["severity"]), ("drift.opened", &"critical".into()));
    let ends = daemon.metric("driftd_tls_certificate_not_after_timestamp_seconds").await;
    assert_eq!(ends, 1_609_459_200.0, "2021-01-01");
    for _ in 0..3 {
        daemon.advance(Duration::from_mins(5));
        daemon.scan("peer").await;
    }
    let stands = rules(&daemon.incidents().await);
    assert_eq!(stands, ["net.tls-chain-invalid critical", "scan.unreachable high"]);
    // Mended: both end, the sight at once, the drift when it has been seen as often as it took to open.
    front.show(Show::Chain(trusted.make_with(&right, &key)));
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_secs(30)).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_comes_near_is_told_once_at_each_bound_and_ends_with_the_renewal() {
    let trusted = Authority::new("Shop");
    let key = KeyPair::generate().unwrap();
    let now = Clock::system().now();
    let hook = Hook::start().await;
    let ending = |days| Show::Chain(trusted.make_with(&Wish::ending(now, days), &key));
    let (_peer, front, home) = fronted(ending(40), &[&trusted], &hook, OURS).await;
    let daemon = Daemon::start_at(&home, now).await;
    daemon.take_baseline("peer").await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    for (days, said) in [
        (12, "net.tls-expiring/30d medium"),
        (2, "net.tls-expiring/30d medium"),
        (14, "net.tls-expiring/14d medium"),
        (6, "net.tls-expiring/7d medium"),
        (5, "net.tls-expiring/1d high"),
    ] {
        daemon.advance(Duration::from_hours(24 * days));
        confirm(&daemon).await;
        assert_eq!(rules(&daemon.drifts().await), [said], "{days} days later");
    }
    let id = daemon.incidents().await[0].reference.clone();
    assert!(id.ends_with(".4"), "one revision for each bound: {id}");
    front.show(ending(400));
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_certificate_is_shown_to_the_origin_written_and_to_nobody_else() {
    let trusted = Authority::new("Shop");
    let right = Wish::default();
    let client = trusted.make(&Wish { names: vec!["driftd.example"], ..right.clone() });
    let hook = Hook::start().await;
    let settings = "every: 24h, timeout: 5s, scan_timeout: 30s, egress: { allow: [ 127.0.0.0/8 ] }, \
                    tls: { ca: ca.pem, client_cert: client.pem, client_key: { file: client.key } }";
    let demanding = || Show::Demanding(trusted.make(&right), trusted.der());
    let (peer, front, home) = fronted(demanding(), &[&trusted], &hook, settings).await;
    home.write("client.pem", &client.pem);
    home.write("client.key", &client.key_pem);
    let seen = snapshot(&home).await;
    assert_eq!(seen["facets"]["mcp.tools"]["state"], "seen", "{seen}");
    assert_eq!(seen["facets"]["tls"]["value"]["verified"], "ok");
    assert!(!front.shown().is_empty() && front.shown().iter().all(|shown| *shown));
    // Where the written origin sends us, nobody is shown anything.
    let elsewhere = TlsFront::of(peer.port(), demanding()).await;
    let redirect = crate::support::server::Server::start(axum::Router::new().fallback({
        let to = elsewhere.url();
        move || async move { axum::response::Redirect::temporary(&to) }
    }))
    .await;
    let leading = TlsFront::of(redirect.port(), Show::Chain(trusted.make(&right))).await;
    let home = crate::sight::home_with(&leading.url(), &hook, settings);
    for (name, text) in [("ca.pem", trusted.pem()), ("client.pem", client.pem), ("client.key", client.key_pem)] {
        home.write(name, &text);
    }
    let seen = snapshot(&home).await;
    assert_eq!(seen["facets"]["mcp.tools"]["state"], "unseen", "{seen}");
    assert_eq!(elsewhere.shown(), [false; 0], "it asked, and got nothing");
    assert_eq!(seen["facets"]["tls"]["value"]["verified"], "ok", "the handshake is with the origin written");
    let output = home.driftd(&["--output", "json", "scan", "peer"]).await;
    assert!(!String::from_utf8_lossy(&output.stdout).contains("PRIVATE KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_lost_is_what_keeps_us_from_seeing() {
    let trusted = Authority::new("Shop");
    let hook = Hook::start().await;
    let (peer, _front, home) = fronted(Show::Chain(trusted.make(&Wish::default())), &[&trusted], &hook, OURS).await;
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    std::fs::remove_file(home.path().join("ca.pem")).unwrap();
    let asked = peer.asked().len();
    daemon.advance(Duration::from_mins(5));
    let scanned = daemon.scan("peer").await;
    let why = scanned.unseen.join("\n");
    assert!(why.contains("credential_unavailable: what `tls.ca` names cannot be used"), "{why}");
    assert_eq!(peer.asked().len(), asked, "nothing is asked without it");
    assert_eq!(rules(&daemon.drifts().await), ["scan.credential-unavailable high"]);
    home.write("ca.pem", &trusted.pem());
    daemon.advance(Duration::from_mins(5));
    assert_eq!(daemon.scan("peer").await.outcome, "ok");
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_used_are_mistakes_of_the_configuration() {
    let hook = Hook::start().await;
    let home = crate::sight::home_with("https://mcp.example.com/mcp", &hook, OURS);
    home.write("ca.pem", "no certificate\n");
    let output = home.driftd(&["config", "check"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no certificate in it"), "{said}");
    let home = crate::sight::home_with("http://mcp.example.com/mcp", &hook, OURS);
    home.write("ca.pem", &Authority::new("Shop").pem());
    let output = home.driftd(&["config", "check"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("nothing of it is used over plain http"), "{said}");
}
