//! The faces of one scan, put together: one outcome, one detection, one list of sights.

use super::Ask;
use super::face::{End, FaceReport, not_before};
use super::pinned;
use super::trouble::Trouble;
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::observation::{
    Asked, Detection, DetectionState, Observation, Outcome, Remark, SightFact, SightPlace,
};
use crate::model::text;
use crate::net::Visit;

/// What the scan brought home.
pub(super) fn observation(visit: &Visit<'_>, ask: &Ask<'_>, mcp: Detection, reports: Vec<FaceReport>) -> Observation {
    let outcome = outcome(&reports);
    let sights = sights(&reports, outcome);
    let asked = asked(ask, &reports);
    let not_before = not_before(&reports);
    let mut observation = Observation {
        at: ask.at,
        duration: visit.elapsed(),
        requests: visit.requests(),
        outcome,
        sights,
        mcp,
        facets: std::collections::BTreeMap::new(),
        unwatched: std::collections::BTreeMap::new(),
        asked,
        remarks: Vec::new(),
        not_before,
        address_class: visit.own_class(),
        certificate_ends: visit.certificate_ends(),
        stderr: None,
        kept: None,
        echo: None,
    };
    for report in reports {
        observation.stderr = observation.stderr.or(report.stderr);
        observation.facets.extend(report.facets);
        observation.unwatched.extend(report.unwatched);
        for remark in report.remarks {
            if !observation.remarks.contains(&remark) {
                observation.remarks.push(remark);
            }
        }
    }
    // Blocked comes first, and alone: a refusal says nothing about conformance but how it refuses.
    if matches!(outcome, Outcome::Blocked | Outcome::RateLimited) {
        observation.remarks.retain(|remark| remark.rule == "auth.blocked-by-gateway");
    }
    if let Some(package) = ask.target.endpoint.command().and_then(pinned::unpinned) {
        let evidence = format!("no version of {}", text::quoted(package, 200));
        observation.remarks.push(Remark::finding("scan.command-unpinned", evidence));
    }
    observation
}

fn troubles(reports: &[FaceReport]) -> impl Iterator<Item = (&FaceReport, &Trouble)> {
    reports.iter().filter_map(|report| match &report.end {
        End::Failed(trouble) => Some((report, trouble)),
        End::Ready | End::Guarded | End::Unavailable | End::Off => None,
    })
}

fn any(reports: &[FaceReport], end: &End) -> bool {
    reports.iter().any(|report| report.end == *end)
}

fn outcome(reports: &[FaceReport]) -> Outcome {
    let failed = |outcome| troubles(reports).any(|(_, trouble)| trouble.outcome() == outcome);
    let stands = any(reports, &End::Ready);
    for first in [Outcome::Blocked, Outcome::RateLimited] {
        if failed(first) {
            return first;
        }
    }
    if !stands && failed(Outcome::Unreachable) {
        return Outcome::Unreachable;
    }
    if failed(Outcome::CredentialRejected) {
        return Outcome::CredentialRejected;
    }
    if !stands && (failed(Outcome::Error) || !any(reports, &End::Guarded)) {
        return Outcome::Error;
    }
    if reports.iter().any(FaceReport::is_partial) { Outcome::Partial } else { Outcome::Ok }
}

fn sights(reports: &[FaceReport], outcome: Outcome) -> Vec<SightFact> {
    // One refusal stands for everything else that the scan would say.
    if matches!(outcome, Outcome::Blocked | Outcome::RateLimited) {
        let first = troubles(reports).find(|(_, trouble)| trouble.outcome() == outcome);
        return first.map(|(_, trouble)| at_endpoint(trouble)).into_iter().collect();
    }
    let stands = any(reports, &End::Ready);
    let mut sights: Vec<SightFact> = Vec::new();
    for report in reports {
        let sight = match &report.end {
            End::Failed(trouble) if trouble.outcome() == Outcome::CredentialRejected || stands => {
                Some(at_face(report.face, trouble))
            }
            End::Failed(trouble) => Some(at_endpoint(trouble)),
            End::Unavailable => Some(SightFact {
                rule: "scan.credential-unavailable",
                case: "-",
                place: SightPlace::Facet(FacetName::of(Facet::McpHandshake, report.face)),
                detail: "the credential's reference gives no usable token".to_owned(),
            }),
            End::Ready | End::Guarded | End::Off => None,
        };
        for sight in sight.into_iter().chain(report.sights.iter().cloned()) {
            // Two faces that fail alike are one sight.
            if !sights.iter().any(|known| known.place == sight.place && known.rule == sight.rule) {
                sights.push(sight);
            }
        }
    }
    sights
}

fn at_endpoint(trouble: &Trouble) -> SightFact {
    let (rule, case) = trouble.endpoint_rule();
    SightFact { rule, case, place: SightPlace::Endpoint, detail: trouble.detail.clone() }
}

/// One face failed while the endpoint answers: it is told at that face's handshake.
fn at_face(face: Face, trouble: &Trouble) -> SightFact {
    let (rule, case) = trouble.facet_rule();
    let place = SightPlace::Facet(FacetName::of(Facet::McpHandshake, face));
    SightFact { rule, case, place, detail: trouble.detail.clone() }
}

/// The face that shows most.
pub(super) fn detection(reports: &[FaceReport]) -> Detection {
    let rank = |state: DetectionState| match state {
        DetectionState::Unseen => 0,
        DetectionState::NotDetected => 1,
        DetectionState::Indicated => 2,
        DetectionState::Confirmed => 3,
    };
    let best = reports.iter().rev().max_by_key(|report| rank(report.detection.state));
    best.map_or_else(
        || Detection {
            state: DetectionState::Unseen,
            transport: None,
            era: None,
            version: None,
            supported: Vec::new(),
            endpoint: None,
            evidence: Vec::new(),
        },
        |report| report.detection.clone(),
    )
}

fn asked(ask: &Ask<'_>, reports: &[FaceReport]) -> Asked {
    let mut offered: Vec<String> = Vec::new();
    for date in reports.iter().flat_map(|report| &report.offered) {
        if !offered.contains(date) {
            offered.push(date.clone());
        }
    }
    let tls = ask.target.tls.as_ref();
    let written = |parts: &[&str]| Digest::of_parts(parts);
    Asked {
        date: reports.iter().find_map(|report| report.date.clone()),
        offered,
        place: Some(Digest::of_bytes(ask.target.endpoint.to_string().as_bytes())),
        // As written, also when a value cannot be had this time: what is missing then is not another way of asking.
        headers: ask.target.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect(),
        authorities: tls.and_then(|tls| tls.ca.as_ref()).map(|path| written(&[&path.to_string_lossy()])),
        identity: tls
            .and_then(|tls| tls.identity.as_ref())
            .map(|identity| written(&[&identity.certificate.to_string_lossy(), &identity.key.to_string()])),
        tier: ask.target.tier.as_str().to_owned(),
        credential: ask.credential.map(|credential| credential.name.clone()),
        anonymous: ask.credential.is_none() || ask.target.anonymous,
    }
}
