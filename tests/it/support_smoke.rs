//! The supports do what the tests take them to do: a test on a broken support proves nothing.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::StatusCode;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use serde_json::json;
use sha2::Sha256;

use crate::support::client::Client;
use crate::support::front::Front;
use crate::support::peer::{Quirk, Script, ScriptedPeer, tool};
use crate::support::ports::free_port;
use crate::support::process::{Process, Program};
use crate::support::smtp::{self, Smtp};
use crate::support::webhook::Hook;
use crate::support::{checkout, until};

fn named(name: &str) -> Script {
    Script { name: name.to_owned(), ..Script::default() }
}

async fn name_behind(url: &str) -> Option<String> {
    let discovered = Client::of(url).discover().await;
    let info = &discovered.message["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    info["name"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_front_keeps_its_address_while_the_server_behind_is_swapped() {
    let (older, newer) = (ScriptedPeer::start(named("older")).await, ScriptedPeer::start(named("newer")).await);
    let mut front = Front::of(older.port()).await;
    let url = front.url();
    assert_eq!(name_behind(&url).await.as_deref(), Some("older"));
    front.swap(newer.port());
    assert_eq!(name_behind(&url).await.as_deref(), Some("newer"));
    assert_eq!(front.requests(), 2);

    front.down().await;
    assert!(reqwest::get(&url).await.is_err_and(|error| error.is_connect()));
    front.up().await;
    assert_eq!(name_behind(&url).await.as_deref(), Some("newer"));
}

#[tokio::test]
async fn a_front_whose_server_is_gone_says_bad_gateway() {
    let mut peer = ScriptedPeer::start(Script::default()).await;
    let front = Front::of(peer.port()).await;
    peer.down().await;
    assert_eq!(Client::of(&front.url()).discover().await.status, 502);
    peer.up().await;
    assert_eq!(Client::of(&front.url()).discover().await.status, 200);
}

/// Sends a webhook as the specification says, signed with `secret`.
async fn send(hook: &Hook, id: &str, secret: &str) -> Result<u16, reqwest::Error> {
    let body = json!({"type": "test", "timestamp": "2026-11-30T13:00:00Z", "data": {}}).to_string();
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.1796043600.{body}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let client = reqwest::Client::builder().no_proxy().build()?;
    let request = client.post(hook.url()).body(body);
    let request = request.header("webhook-id", id).header("webhook-timestamp", "1796043600");
    Ok(request.header("webhook-signature", signature).send().await?.status().as_u16())
}

#[tokio::test]
async fn a_hook_knows_a_right_signature_from_a_wrong_one_and_counts_refused_tries() {
    let mut hook = Hook::start().await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let secret = hook.secret();
    hook.refuse(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(send(&hook, "m1", &secret).await.unwrap(), 503);
    hook.accept();
    hook.down().await;
    assert!(send(&hook, "m1", &secret).await.is_err());
    hook.up().await;
    assert_eq!(send(&hook, "m1", &secret).await.unwrap(), 204);
    assert_eq!(send(&hook, "m2", "whsec_b3RoZXI=").await.unwrap(), 204);

    let kept = hook.wait_for(2).await;
    assert_eq!(kept.iter().map(|one| (one.id.as_str(), one.signed)).collect::<Vec<_>>(), [("m1", true), ("m2", false)]);
    assert_eq!((kept[0].kind(), kept[0].timestamp), ("test", 1_796_043_600));
    assert_eq!(kept[0].body["data"], json!({}));
    assert_eq!(hook.tries(), ["m1", "m1", "m2"]);
}

async fn mail(smtp: &Smtp, password: &str, tls: bool) -> Result<(), lettre::transport::smtp::Error> {
    let ca = Certificate::from_pem(&std::fs::read(smtp.ca()).unwrap()).unwrap();
    let parameters = TlsParameters::builder("localhost".to_owned())
        .certificate_store(CertificateStore::None)
        .add_root_certificate(ca)
        .build_rustls()?;
    let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("localhost")
        .port(smtp.port())
        .tls(if tls { Tls::Required(parameters) } else { Tls::None })
        .credentials(Credentials::new(smtp::USER.to_owned(), password.to_owned()))
        .build();
    let message = Message::builder()
        .from("driftd@example.com".parse().unwrap())
        .to("ops@example.com".parse().unwrap())
        .subject("HIGH one: two")
        .body("One line.\nAnother, with \u{e9}.\n".to_owned())
        .unwrap();
    transport.send(message).await.map(drop)
}

#[tokio::test]
async fn the_mail_server_insists_on_starttls_and_auth_and_keeps_mail_over_a_restart() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut server = Smtp::start().await;
    assert!(mail(&server, smtp::PASSWORD, false).await.is_err(), "it took a mail in clear");
    assert!(mail(&server, "wrong", true).await.is_err(), "it took a mail with a wrong password");
    assert!(server.mails().is_empty());
    mail(&server, smtp::PASSWORD, true).await.unwrap();

    server.down();
    assert!(mail(&server, smtp::PASSWORD, true).await.is_err(), "it took a mail while down");
    server.up().await;
    mail(&server, smtp::PASSWORD, true).await.unwrap();

    let mails = server.wait_for(2).await;
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[1].header("Subject").unwrap(), "HIGH one: two");
    assert_eq!(mails[1].header("X-Envelope-To").unwrap(), "ops@example.com");
    assert_eq!(mails[1].text().trim_end(), "One line.\nAnother, with \u{e9}.");
}

#[tokio::test]
async fn a_killed_process_leaves_nothing_of_its_group_behind() {
    let port = free_port();
    let listen = format!("import socket,time; s=socket.create_server(('127.0.0.1',{port})); time.sleep(600)");
    let script = format!("python3 -c \"{listen}\" & wait");
    let mut process = Process::start("group", &Program::new(checkout("."), ["sh", "-c", &script]));
    process.listening(port).await.unwrap();
    process.kill();
    until("the port is free", || std::net::TcpListener::bind(("127.0.0.1", port)).ok()).await;
}

#[tokio::test]
async fn a_process_that_ends_early_says_how_and_keeps_what_it_printed() {
    let mut process = Process::start("early", &Program::new(checkout("."), ["sh", "-c", "echo so long; exit 3"]));
    assert_eq!(process.end().await.code(), Some(3));
    assert_eq!(process.log(), "so long\n");
    assert_eq!(process.listening(free_port()).await.map_err(|status| status.code()), Err(Some(3)));
}

#[tokio::test]
async fn a_process_does_not_outlive_the_program_that_started_it() {
    let port = free_port();
    // Stands for a test program that is killed: its end of the leader's input closes without a destructor.
    let listen = format!("import socket,time; s=socket.create_server(('127.0.0.1',{port})); time.sleep(600)");
    let mut process = Process::start("orphan", &Program::new(checkout("."), ["python3", "-c", &listen]));
    process.listening(port).await.unwrap();
    process.abandon();
    until("the port is free", || std::net::TcpListener::bind(("127.0.0.1", port)).ok()).await;
    assert!(!process.end().await.success());
}

#[tokio::test]
async fn ports_are_given_out_once_and_are_below_the_systems_own_range() {
    let ports: Vec<u16> = (0..50).map(|_| free_port()).collect();
    let distinct: std::collections::BTreeSet<u16> = ports.iter().copied().collect();
    assert_eq!(distinct.len(), ports.len());
    assert!(ports.iter().all(|port| (20_000..32_000).contains(port)), "{ports:?}");
}

#[tokio::test]
async fn a_scripted_peer_speaks_both_eras_pages_and_swaps_its_tools() {
    let peer = ScriptedPeer::start(Script { page: Some(1), sse: true, ..Script::default() }).await;
    let mut client = Client::of(&peer.url());
    assert_eq!(client.discover().await.message["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(client.list("tools/list", "tools").await.len(), 2);
    assert_eq!(client.request("prompts/list", json!({})).await.message["error"]["code"], -32601);

    peer.change(|script| {
        script.date = "2025-06-18";
        script.tools = Some(vec![tool("only", "One.")]);
        script.resources = Some(vec![json!({"uri": "file:///a", "name": "a"})]);
    });
    assert_eq!(client.discover().await.status, 400);
    assert_eq!(client.initialize("2025-11-25").await.message["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(client.list("tools/list", "tools").await[0]["name"], "only");
    assert_eq!(client.list("resources/list", "resources").await.len(), 1);
    assert!(client.list("resources/templates/list", "resourceTemplates").await.is_empty());
    assert_eq!(peer.asked().first().map(String::as_str), Some("server/discover"));
}

#[tokio::test]
async fn a_scripted_peer_misbehaves_as_told() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let mut client = Client::of(&peer.url());
    client.discover().await;
    let quirk = |quirk: Quirk| peer.change(|script| script.quirk = quirk);
    let ask = || client.request("tools/list", json!({}));

    quirk(Quirk::ListStatus(500));
    assert_eq!(ask().await.status, 500);
    quirk(Quirk::ListWithoutArray);
    assert!(ask().await.message["result"]["tools"].is_null());
    quirk(Quirk::HalfAStream);
    assert!(ask().await.message.is_null());
    quirk(Quirk::CursorLoop);
    assert_eq!(ask().await.message["result"]["nextCursor"], "again");
    quirk(Quirk::ForbiddenPage);
    assert_eq!(ask().await.status, 403);
    quirk(Quirk::Unauthorized(Some("Bearer realm=\"x\"")));
    assert_eq!(ask().await.status, 401);
    quirk(Quirk::Unauthorized(None));
    assert_eq!(ask().await.status, 401);
    quirk(Quirk::RateLimited(7));
    assert_eq!(ask().await.status, 429);

    let first = |answer: &crate::support::client::Answer| answer.message["result"]["tools"][0].clone();
    quirk(Quirk::Shuffle);
    assert_ne!(first(&ask().await), first(&ask().await));
    quirk(Quirk::EverySecondRead(vec![tool("list_invoices", "Poisoned.")]));
    assert_ne!(first(&ask().await), first(&ask().await));

    quirk(Quirk::ListStalls);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), ask()).await.is_err());
    quirk(Quirk::Stalls);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), ask()).await.is_err());
}

#[test]
fn promtool_is_there_and_finds_fault() {
    let promtool = checkout(".peers/debian/usr/bin/promtool");
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let metric = b"# TYPE things counter\nthings 1\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), metric).unwrap();
    assert!(!child.wait().unwrap().success(), "a counter without _total and help has faults");
}
