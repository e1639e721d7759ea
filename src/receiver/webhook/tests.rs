use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response as Answer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use hmac::{Hmac, KeyInit as _, Mac as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;
use crate::model::receiver::{Channel, Receiver};
use crate::receiver::Receivers;
use crate::receiver::sample::{self, Known};

const KEY: [u8; 32] = [42; 32];

type Request = (HeaderMap, Bytes);

/// An endpoint that answers as told and remembers what it was sent.
struct Peer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    _task: JoinSet<()>,
}

type Respond = Arc<dyn Fn() -> Answer + Send + Sync>;

impl Peer {
    async fn start(respond: impl Fn() -> Answer + Send + Sync + 'static) -> Self {
        async fn handle(
            State((requests, respond)): State<(Arc<Mutex<Vec<Request>>>, Respond)>,
            headers: HeaderMap,
            body: Bytes,
        ) -> Answer {
            requests.lock().unwrap().push((headers, body));
            respond()
        }
        let requests = Arc::new(Mutex::new(Vec::new()));
        let state: (_, Respond) = (Arc::clone(&requests), Arc::new(respond));
        let app = Router::new().fallback(handle).with_state(state);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, requests, _task: task }
    }

    async fn answering(status: u16) -> Self {
        Self::start(move || StatusCode::from_u16(status).unwrap().into_response()).await
    }

    fn url(&self) -> String {
        format!("http://{}/T0K3N/hook", self.address)
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn receivers(url: &str, secret: Option<&str>, limits: Limits) -> Receivers {
    let webhook = Webhook {
        url: TextOrSecret::Secret(SecretRef::Env("URL".to_owned())),
        secret: secret.map(|_| SecretRef::Env("SECRET".to_owned())),
    };
    let mut known = BTreeMap::from([("URL", url.to_owned())]);
    known.extend(secret.filter(|value| !value.is_empty()).map(|value| ("SECRET", value.to_owned())));
    let receiver = Receiver { name: "hook".to_owned(), channel: Channel::Webhook(webhook) };
    Receivers::new(&[receiver], Arc::new(Known(known)), limits).unwrap()
}

fn now() -> Timestamp {
    Timestamp::from_second(1_600_000_000).unwrap()
}

async fn outcome(peer: &Peer) -> Result<(), DeliveryError> {
    receivers(&peer.url(), None, sample::limits()).send(&sample::message("m-1", "hook"), now()).await
}

fn transient(reason: Reason, code: u16) -> DeliveryError {
    DeliveryError::Transient { reason, code: Some(code), retry_after: None }
}

#[tokio::test]
async fn a_message_arrives_signed_over_id_time_and_body() {
    let peer = Peer::answering(204).await;
    let key = format!("whsec_{}", STANDARD.encode(KEY));
    let receivers = receivers(&peer.url(), Some(&key), sample::limits());
    let message = sample::message("m-7c1e", "hook");
    receivers.send(&message, now()).await.unwrap();
    let (headers, body) = peer.requests().remove(0);
    assert_eq!(body, message::webhook(&message.body).unwrap().as_bytes());
    let header = |name: &str| headers[name].to_str().unwrap();
    assert_eq!((header("webhook-id"), header("webhook-timestamp")), ("m-7c1e", "1600000000"));
    assert_eq!(header("content-type"), "application/json");
    assert!(header("user-agent").starts_with("driftd/"));
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&KEY).unwrap();
    mac.update(&[b"m-7c1e.1600000000.", &body[..]].concat());
    let signature = header("webhook-signature").strip_prefix("v1,").unwrap();
    mac.verify_slice(&STANDARD.decode(signature).unwrap()).unwrap();
}

#[tokio::test]
async fn a_second_try_has_the_same_id_and_a_new_time() {
    let peer = Peer::answering(500).await;
    let receivers = receivers(&peer.url(), None, sample::limits());
    let message = sample::message("m-1", "hook");
    for second in [1_600_000_000, 1_600_000_005] {
        let error = receivers.send(&message, Timestamp::from_second(second).unwrap()).await;
        assert_eq!(error, Err(transient(Reason::ServerError, 500)));
    }
    let requests = peer.requests();
    let values = |name: &str| requests.iter().map(|(headers, _)| headers[name].clone()).collect::<Vec<_>>();
    assert_eq!(values("webhook-id"), ["m-1", "m-1"]);
    assert_eq!(values("webhook-timestamp"), ["1600000000", "1600000005"]);
    assert_eq!(requests[0].1, requests[1].1, "the body is the same on every try");
}

#[tokio::test]
async fn only_2xx_is_success_and_only_410_is_for_ever() {
    let cases = [
        (200, Ok(())),
        (202, Ok(())),
        (302, Err(transient(Reason::Redirected, 302))),
        (400, Err(transient(Reason::Rejected, 400))),
        (401, Err(transient(Reason::Auth, 401))),
        (403, Err(transient(Reason::Auth, 403))),
        (404, Err(transient(Reason::Rejected, 404))),
        (410, Err(DeliveryError::Permanent { reason: Reason::Gone, code: Some(410) })),
        (413, Err(transient(Reason::Rejected, 413))),
        (429, Err(transient(Reason::RateLimited, 429))),
        (500, Err(transient(Reason::ServerError, 500))),
        (503, Err(transient(Reason::Unavailable, 503))),
        (799, Err(transient(Reason::Protocol, 799))),
    ];
    for (status, expected) in cases {
        let peer = Peer::answering(status).await;
        assert_eq!(outcome(&peer).await, expected, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Peer::answering(200).await;
    let target = elsewhere.url();
    let peer =
        Peer::start(move || (StatusCode::PERMANENT_REDIRECT, [("location", target.clone())]).into_response()).await;
    assert_eq!(outcome(&peer).await, Err(transient(Reason::Redirected, 308)));
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_wait_that_the_peer_names_is_passed_on() {
    let cases = [
        ("120", Some(120)),
        ("Sun, 13 Sep 2020 12:27:40 GMT", Some(60)),
        ("Sun, 13 Sep 2020 12:00:00 GMT", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("99999999999999999999999", None),
        ("soon", None),
    ];
    for (value, seconds) in cases {
        let peer = Peer::start(move || (StatusCode::TOO_MANY_REQUESTS, [("retry-after", value)]).into_response()).await;
        let Err(DeliveryError::Transient { reason: Reason::RateLimited, retry_after, .. }) = outcome(&peer).await
        else {
            panic!("{value} is not a rate limit");
        };
        assert_eq!(retry_after, seconds.map(Duration::from_secs), "{value}");
    }
}

#[tokio::test]
async fn a_peer_that_never_answers_is_too_slow() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limits = Limits { webhook: Duration::from_millis(50), ..sample::limits() };
    let receivers = receivers(&format!("http://{}/", listener.local_addr().unwrap()), None, limits);
    let error = receivers.send(&sample::message("m-1", "hook"), now()).await;
    assert_eq!(error, Err(DeliveryError::transient(Reason::Timeout)));
}

#[tokio::test]
async fn a_body_without_end_changes_nothing_about_the_status() {
    let endless =
        || Body::from_stream(stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 4096]))));
    let peer = Peer::start(move || endless().into_response()).await;
    assert_eq!(outcome(&peer).await, Ok(()));
}

#[tokio::test]
async fn a_body_that_hangs_changes_nothing_about_the_status() {
    let hanging = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let peer = Peer::start(move || hanging().into_response()).await;
    assert_eq!(outcome(&peer).await, Ok(()));
}

#[tokio::test]
async fn nobody_there_is_told_apart_from_a_peer_that_speaks_no_http() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let send =
        async |url: &str| receivers(url, None, sample::limits()).send(&sample::message("m-1", "hook"), now()).await;
    let speaks_smtp = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Its banner must not come before the request: an answer to nothing is another mistake.
        stream.read_u8().await.unwrap();
        stream.write_all(b"500 command not recognized\r\n").await.unwrap();
        stream
    };
    let (error, stream) = tokio::join!(send(&url), speaks_smtp);
    assert_eq!(error, Err(DeliveryError::transient(Reason::Protocol)));
    drop((stream, listener));
    assert_eq!(send(&url).await, Err(DeliveryError::transient(Reason::Refused)));
}

#[tokio::test]
async fn a_peer_without_tls_is_no_trusted_connection() {
    let peer = Peer::answering(200).await;
    let url = peer.url().replace("http:", "https:");
    let error = receivers(&url, None, sample::limits()).send(&sample::message("m-1", "hook"), now()).await;
    assert_eq!(error, Err(DeliveryError::transient(Reason::Tls)));
}

#[tokio::test]
async fn a_name_that_leads_where_names_may_not_is_never_asked() {
    let peer = Peer::answering(200).await;
    let url = peer.url().replace("127.0.0.1", "localhost");
    let limits = Limits { reachable: |address| !address.is_loopback(), ..sample::limits() };
    let error = receivers(&url, None, limits).send(&sample::message("m-1", "hook"), now()).await;
    assert_eq!(error, Err(DeliveryError::transient(Reason::Forbidden)));
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_secret_that_is_missing_or_no_key_sends_nothing() {
    let peer = Peer::answering(200).await;
    for (secret, reason) in [("", Reason::SecretUnavailable), ("hunter2", Reason::Misconfigured)] {
        let receivers = receivers(&peer.url(), Some(secret), sample::limits());
        let error = receivers.send(&sample::message("m-1", "hook"), now()).await;
        assert_eq!(error, Err(DeliveryError::transient(reason)), "{secret:?}");
    }
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn no_error_shows_the_url() {
    for url in [
        "http://T0K3N.invalid/T0K3N",
        "T0K3N",
        "ftp://T0K3N/",
        "http://127.0.0.1:1/T0K3N",
        "https://user:T0K3N@[::1]:1/",
    ] {
        let receivers = receivers(url, None, sample::limits());
        let error = receivers.send(&sample::message("m-1", "hook"), now()).await.unwrap_err();
        assert!(!format!("{error} {error:?} {receivers:?}").contains("T0K3N"), "{error:?}");
        assert!(!error.is_permanent(), "people repair it: {error:?}");
    }
}
