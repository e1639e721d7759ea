//! `listen`: what changes something over TCP, for people with a token.
//!
//! `POST /-/reload` takes `Authorization: Bearer TOKEN` of a person who may decide. Without `people` nothing can be
//! changed. Tokens are read at each use, and compared in a time that tells nothing of them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use super::{LIMITS, only_our_host};
use crate::model::settings::{Person, Right};
use crate::operations::{Answer, Office, Refused, Request};
use crate::secret::Environment;
use crate::serving;

/// Who answers, and where tokens are read.
#[derive(Clone, Debug)]
pub struct Desk {
    /// Answers.
    pub office: Arc<Office>,
    /// Has the tokens.
    pub environment: Environment,
}

/// Why somebody may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Barred {
    /// There are no people.
    Nobody,
    /// No token, or nobody's.
    Unknown,
    /// A person who may not decide.
    ReadsOnly,
}

/// Serves until `stop` completes.
///
/// # Errors
/// When accepting fails for good.
pub async fn serve(
    listener: TcpListener,
    desk: Desk,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/-/reload", post(reload))
        .with_state(desk)
        .layer(from_fn_with_state(address, only_our_host));
    serving::serve(listener, router, |router, _| router, LIMITS, stop).await;
    Ok(())
}

async fn reload(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let people = desk.office.plan.plan();
    let who = match decider(&people.people, &headers, &desk.environment) {
        Ok(person) => format!("person:{}", person.name),
        Err(barred) => return barred.answer(),
    };
    match desk.office.answer(Request::Reload {}, &who).await {
        Ok(Answer::Reloaded(reloaded)) => Json(reloaded).into_response(),
        Ok(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Err(refused) => (status(&refused), Json(refused)).into_response(),
    }
}

const fn status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::Mistakes(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refused::NeedsDaemon(_) => StatusCode::SERVICE_UNAVAILABLE,
        Refused::NotFound(_) | Refused::Usage(_) | Refused::Conflict(_) | Refused::Store(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

impl Barred {
    fn answer(self) -> Response {
        match self {
            Self::Nobody => {
                (StatusCode::FORBIDDEN, "nothing can be changed here: driftd.yaml names no `people`\n").into_response()
            }
            Self::Unknown => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"driftd\"")];
                (StatusCode::UNAUTHORIZED, challenge, "this takes a person's token\n").into_response()
            }
            Self::ReadsOnly => {
                (StatusCode::FORBIDDEN, "this person may not decide: `may: [decide]` in driftd.yaml\n").into_response()
            }
        }
    }
}

/// The person whose token it is, if they may decide.
fn decider<'p>(people: &'p [Person], headers: &HeaderMap, environment: &Environment) -> Result<&'p Person, Barred> {
    if people.is_empty() {
        return Err(Barred::Nobody);
    }
    let token = bearer(headers).ok_or(Barred::Unknown)?;
    let given = Sha256::digest(token.as_bytes());
    let mut found = None;
    // All of them, whoever is found: how long it takes says nothing.
    for person in people {
        let Ok(own) = environment.read(&person.token) else { continue };
        if alike(&given, &Sha256::digest(own.expose_secret().as_bytes())) {
            found = Some(person);
        }
    }
    let person = found.ok_or(Barred::Unknown)?;
    if person.may.contains(&Right::Decide) { Ok(person) } else { Err(Barred::ReadsOnly) }
}

/// The one bearer token of a request; a second field is a trick.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut fields = headers.get_all(header::AUTHORIZATION).iter();
    let (field, more) = (fields.next()?, fields.next());
    let (scheme, token) = field.to_str().ok()?.split_once(' ')?;
    (more.is_none() && scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim()).filter(|token| !token.is_empty())
}

/// Whether two digests are the same, looked at to their ends.
fn alike(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::secret::SecretRef;

    fn person(name: &str, may: &[Right]) -> Person {
        Person { name: name.to_owned(), token: SecretRef::Env(name.to_uppercase()), may: may.to_vec() }
    }

    fn headers(fields: &[&str]) -> HeaderMap {
        fields.iter().map(|field| (header::AUTHORIZATION, field.parse().unwrap())).collect()
    }

    #[test]
    fn only_the_token_of_who_may_decide_decides() {
        let people =
            [person("oncall", &[Right::Read, Right::Decide]), person("guest", &[Right::Read]), person("gone", &[])];
        let environment = Environment::from_map([("ONCALL", "s3cret-one"), ("GUEST", "s3cret-two")]);
        for (fields, expected) in [
            (&["Bearer s3cret-one"][..], Ok("oncall")),
            (&["bearer  s3cret-one "], Ok("oncall")),
            (&["Bearer s3cret-two"], Err(Barred::ReadsOnly)),
            (&["Bearer s3cret-on"], Err(Barred::Unknown)),
            (&["Bearer s3cret-one2"], Err(Barred::Unknown)),
            (&["Bearer"], Err(Barred::Unknown)),
            (&["Bearer "], Err(Barred::Unknown)),
            (&["Basic s3cret-one"], Err(Barred::Unknown)),
            (&["Bearer s3cret-one", "Bearer s3cret-one"], Err(Barred::Unknown)),
            (&[], Err(Barred::Unknown)),
        ] {
            let found = decider(&people, &headers(fields), &environment).map(|person| person.name.as_str());
            assert_eq!(found, expected, "{fields:?}");
        }
        assert_eq!(decider(&[], &headers(&["Bearer s3cret-one"]), &environment), Err(Barred::Nobody));
    }
}
