//! The door over real sockets: names through an injected resolver, TLS, redirects.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Url;

use crate::model::observation::AddressClass;
use crate::net::guard::RefusalReason;
use crate::net::{Door, DoorSettings, NetError, NoSecrets, Request, Resolver, Roots, Trust, VisitPlan};

/// Names as a test says; it counts how often it is asked.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<&'static str, Vec<&'static str>>,
    asked: AtomicUsize,
}

impl Resolver for Names {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let found = self.known.get(name).cloned();
        Box::pin(async move {
            let found = found.ok_or(io::ErrorKind::NotFound)?;
            Ok(found.into_iter().map(|address| address.parse().unwrap()).collect())
        })
    }
}

pub(super) fn names(known: &[(&'static str, &[&'static str])]) -> Arc<Names> {
    let known = known.iter().map(|(name, addresses)| (*name, addresses.to_vec())).collect();
    Arc::new(Names { known, asked: AtomicUsize::new(0) })
}

pub(super) fn door(resolver: Arc<Names>, roots: Vec<rustls::pki_types::CertificateDer<'static>>) -> Door {
    Door::new(DoorSettings { contact: None, allow: Vec::new(), resolver, roots: Roots::Only(roots) }).unwrap()
}

async fn get(door: &Door, url: &str, baseline: Option<AddressClass>) -> Result<(u16, AddressClass), NetError> {
    fetch(door, url, baseline).await.map(|(status, class, _)| (status, class))
}

/// Status, class of the address, and when the certificate ends.
async fn fetch(
    door: &Door,
    url: &str,
    baseline: Option<AddressClass>,
) -> Result<(u16, AddressClass, Option<jiff::Timestamp>), NetError> {
    let url = Url::parse(url).unwrap();
    let visit = door.visit(VisitPlan {
        written: Some(&url),
        allow: &[],
        baseline,
        timeout: Duration::from_secs(5),
        scan_timeout: Duration::from_secs(5),
        scrub: &NoSecrets,
        trust: Trust::Door,
    });
    let answer = visit.line().send(Request::get(url.clone())).await?;
    Ok((answer.status.as_u16(), answer.class.unwrap(), visit.certificate_ends()))
}

/// Answers each connection with `answer`, on a thread of its own; the port.
fn serve(answer: String) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    port
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_name_is_connected_to_by_the_addresses_that_the_guard_let_through() {
    let port = serve(OK.to_owned());
    let names = names(&[("mixed.test", &["169.254.169.254", "127.0.0.1"])]);
    let door = door(names, Vec::new());
    let answer = get(&door, &format!("http://mixed.test:{port}/"), None).await;
    assert_eq!(answer, Ok((200, AddressClass::Loopback)));
}

#[tokio::test]
async fn a_name_that_leads_where_it_must_not_is_refused_by_type() {
    let names = names(&[("meta.test", &["::ffff:169.254.169.254"]), ("home.test", &["127.0.0.1"]), ("none.test", &[])]);
    let door = door(names, Vec::new());
    let refused = |answer: Result<_, NetError>| match answer {
        Err(NetError::Refused(refusal)) => (refusal.class, refusal.why),
        other => panic!("{other:?}"),
    };
    let answer = get(&door, "http://meta.test/", None).await;
    assert_eq!(refused(answer), (AddressClass::Metadata, RefusalReason::Never));
    let answer = get(&door, "http://home.test/", Some(AddressClass::Public)).await;
    assert_eq!(refused(answer), (AddressClass::Loopback, RefusalReason::WasPublic));
    assert_eq!(get(&door, "http://none.test/", None).await, Err(NetError::Dns));
    assert_eq!(get(&door, "http://unknown.test/", None).await, Err(NetError::Dns));
}

#[tokio::test]
async fn a_redirect_to_a_name_is_checked_as_the_peers_choice() {
    let port = serve("HTTP/1.1 307 X\r\nlocation: http://inner.test/\r\ncontent-length: 0\r\n\r\n".to_owned());
    let names = names(&[("outer.test", &["127.0.0.1"]), ("inner.test", &["127.0.0.1"])]);
    let door = door(Arc::clone(&names), Vec::new());
    let answer = get(&door, &format!("http://outer.test:{port}/"), None).await;
    let Err(NetError::Refused(refusal)) = answer else { panic!("{answer:?}") };
    assert_eq!(refusal.why, RefusalReason::PeerToSpecial);
    assert_eq!(names.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn nobody_listening_is_no_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(get(&door(names(&[]), Vec::new()), &url, None).await, Err(NetError::Connect));
}

/// A TLS server for `tls.test`, on a thread of its own; its port and certificate.
pub(super) fn serve_tls() -> (u16, rustls::pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["tls.test".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket.unwrap());
            if stream.read(&mut [0; 4096]).is_ok() {
                let _ = stream.write_all(OK.as_bytes());
            }
        }
    });
    (port, certificate)
}

#[tokio::test]
async fn a_certificate_is_verified_and_its_failure_is_told_apart() {
    let (port, certificate) = serve_tls();
    let names = names(&[("tls.test", &["127.0.0.1"]), ("other.test", &["127.0.0.1"])]);
    let trusting = door(Arc::clone(&names), vec![certificate]);
    let answer = get(&trusting, &format!("https://tls.test:{port}/"), None).await;
    assert_eq!(answer, Ok((200, AddressClass::Loopback)));
    let answer = get(&trusting, &format!("https://other.test:{port}/"), None).await;
    assert_eq!(answer, Err(NetError::TlsCertificate));
    let answer = get(&door(names, Vec::new()), &format!("https://tls.test:{port}/"), None).await;
    assert_eq!(answer, Err(NetError::TlsCertificate));
}

#[tokio::test]
async fn the_end_of_the_certificate_is_noticed_and_plain_http_has_none() {
    let (port, certificate) = serve_tls();
    let names = names(&[("tls.test", &["127.0.0.1"])]);
    let answer = fetch(&door(Arc::clone(&names), vec![certificate]), &format!("https://tls.test:{port}/"), None).await;
    // What rcgen writes where nothing else is asked for.
    assert_eq!(answer.unwrap().2, Some("4096-01-01T00:00:00Z".parse().unwrap()));
    let port = serve(OK.to_owned());
    let answer = fetch(&door(names, Vec::new()), &format!("http://127.0.0.1:{port}/"), None).await;
    assert_eq!(answer.unwrap().2, None);
}

#[tokio::test]
async fn plain_http_where_tls_was_wanted_is_a_failed_handshake() {
    let port = serve(OK.to_owned());
    let answer = get(&door(names(&[]), Vec::new()), &format!("https://127.0.0.1:{port}/"), None).await;
    assert_eq!(answer, Err(NetError::Tls));
}

#[test]
fn a_contact_that_no_header_can_carry_is_refused() {
    let settings = DoorSettings {
        contact: Some("mailto:a@example.com\r\nx: y".to_owned()),
        allow: Vec::new(),
        resolver: names(&[]),
        roots: Roots::Only(Vec::new()),
    };
    assert!(Door::new(settings).is_err());
}
