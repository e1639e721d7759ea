//! The handshake goes where a request may go and nowhere else, and tells what it was shown.

use std::sync::Arc;

use super::wire::{door, names, serve_tls};
use crate::model::observation::AddressClass;
use crate::net::guard::RefusalReason;
use crate::net::{Door, Handshake, NetError, NoSecrets, OwnPart, Trust, Verdict, VisitPlan};

/// A handshake with `url`, how many requests it counts as, and when the certificate ends.
async fn shake(
    door: &Door,
    url: &str,
    baseline: Option<AddressClass>,
    trust: Trust<'_>,
) -> (Result<Handshake, NetError>, u32, Option<jiff::Timestamp>) {
    let url = url::Url::parse(url).unwrap();
    let limit = std::time::Duration::from_secs(5);
    let visit = door.visit(VisitPlan {
        written: Some(&url),
        allow: &[],
        baseline,
        timeout: limit,
        scan_timeout: limit,
        scrub: &NoSecrets,
        trust,
    });
    let shaken = visit.handshake("2026-11-30T12:00:00Z".parse().unwrap()).await;
    (shaken, visit.requests(), visit.certificate_ends())
}

#[tokio::test]
async fn what_is_shown_is_told_whether_or_not_it_verifies() {
    let (port, certificate) = serve_tls();
    let url = format!("https://tls.test:{port}/");
    let names = names(&[("tls.test", &["127.0.0.1"]), ("other.test", &["127.0.0.1"])]);
    let trusting = door(Arc::clone(&names), vec![certificate]);
    let (shaken, requests, ends) = shake(&trusting, &url, None, Trust::Door).await;
    let shaken = shaken.unwrap();
    assert_eq!((shaken.verdict, shaken.version.as_str(), requests), (Verdict::Ok, "1.3", 1));
    assert_eq!(shaken.chain[0].says.as_ref().unwrap().names, ["tls.test"]);
    assert_eq!(ends, Some("4096-01-01T00:00:00Z".parse().unwrap()));
    let other = format!("https://other.test:{port}/");
    assert_eq!(shake(&trusting, &other, None, Trust::Door).await.0.unwrap().verdict, Verdict::WrongName);
    let nobody = door(names, Vec::new());
    let (shaken, _, ends) = shake(&nobody, &url, None, Trust::Door).await;
    assert_eq!((shaken.unwrap().verdict, ends.is_some()), (Verdict::SelfSigned, true));
}

#[tokio::test]
async fn it_connects_to_no_address_that_a_request_would_not() {
    let (port, _) = serve_tls();
    let names = names(&[
        ("metadata.test", &["169.254.169.254"]),
        ("rebound.test", &["127.0.0.1"]),
        ("both.test", &["169.254.169.254", "127.0.0.1"]),
        ("empty.test", &[]),
    ]);
    let door = door(names, Vec::new());
    let refusal = |answer: Result<Handshake, NetError>| match answer {
        Err(NetError::Refused(refusal)) => Some(refusal.why),
        Ok(_) | Err(_) => None,
    };
    let at = |name: &str| format!("https://{name}:{port}/");
    let (answer, requests, _) = shake(&door, &at("metadata.test"), None, Trust::Door).await;
    assert_eq!((refusal(answer), requests), (Some(RefusalReason::Never), 0));
    let (answer, requests, _) = shake(&door, &at("rebound.test"), Some(AddressClass::Public), Trust::Door).await;
    assert_eq!((refusal(answer), requests), (Some(RefusalReason::WasPublic), 0));
    assert!(shake(&door, &at("both.test"), None, Trust::Door).await.0.is_ok(), "by the address that is open");
    for name in ["empty.test", "unknown.test"] {
        assert_eq!(shake(&door, &at(name), None, Trust::Door).await.0, Err(NetError::Dns), "{name}");
    }
}

#[tokio::test]
async fn without_what_the_target_needs_nothing_is_asked() {
    let (port, _) = serve_tls();
    let door = door(names(&[]), Vec::new());
    let url = format!("https://127.0.0.1:{port}/");
    let (answer, requests, _) = shake(&door, &url, None, Trust::Lost(OwnPart::Authorities)).await;
    assert_eq!((answer, requests), (Err(NetError::OwnTls(OwnPart::Authorities)), 0));
}
