//! One conversation with a relay, and what each refusal in it means.
//!
//! It is held command by command rather than by `lettre`'s transport, for two reasons. A refusal means what the step
//! says that it answers: a 5xx to AUTH is for people to repair, a 5xx to the message is for ever. And one mailbox that
//! was closed must not keep a message from all others.

mod capped;
mod secure;

use std::net::SocketAddr;
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use secrecy::ExposeSecret as _;
use tokio::net::TcpStream;

use self::capped::Capped;
use self::secure::Secure;
use crate::model::receiver::{Smtp, SmtpTls};
use crate::receiver::error::{DeliveryError, Reason};
use crate::receiver::trail::{self, Trail};
use crate::receiver::{Limits, Secrets, resolve};

/// How long the farewell may take; the mail is delivered by then.
const FAREWELL: Duration = Duration::from_secs(2);

/// Tries after which a recipient that is put off (greylisted, over its quota) no longer holds up the others.
const PATIENCE: u32 = 3;

/// What is being done, hence what a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Greeting and EHLO.
    Connect,
    /// STARTTLS, the handshake included.
    Tls,
    /// AUTH.
    Auth,
    /// MAIL, RCPT, DATA and the mail itself.
    Mail,
}

/// Hands `mail` to the relay after `attempts` earlier tries; the number of recipients that it refused for good.
pub(super) async fn deliver(
    smtp: &Smtp,
    secrets: &dyn Secrets,
    mail: &lettre::Message,
    attempts: u32,
    limits: &Limits,
    trail: &mut Trail,
) -> Result<usize, DeliveryError> {
    let conversation = async {
        let credentials = credentials(smtp, secrets)?;
        let mut relay = connect(smtp, limits, trail).await?;
        match (credentials, &smtp.login) {
            (Some(credentials), Some(login)) => {
                log_in(&mut relay, &credentials).await?;
                trail.note(|| format!("logged in as {:?} with the password of {}", login.username, login.password));
            }
            (Some(_) | None, _) => trail.note(|| "no login: no `username` is configured".to_owned()),
        }
        let refused = hand_over(&mut relay, mail, attempts).await?;
        trail.note(|| "the relay took the mail".to_owned());
        Ok((relay, refused))
    };
    let (mut relay, refused) = tokio::time::timeout(limits.email, conversation)
        .await
        .unwrap_or(Err(DeliveryError::transient(Reason::Timeout)))?;
    // Outside the limit: a slow farewell must not make a delivered mail a failed one.
    let _ = tokio::time::timeout(FAREWELL, relay.quit()).await;
    Ok(refused)
}

fn credentials(smtp: &Smtp, secrets: &dyn Secrets) -> Result<Option<Credentials>, DeliveryError> {
    let Some(login) = &smtp.login else { return Ok(None) };
    let password = secrets.read(&login.password).ok_or(DeliveryError::transient(Reason::SecretUnavailable))?;
    Ok(Some(Credentials::new(login.username.clone(), password.expose_secret().to_owned())))
}

/// Connects, says hello and, unless told otherwise, is protected by TLS afterwards: nothing goes out in clear because
/// a relay, or somebody before it, says that it cannot.
async fn connect(smtp: &Smtp, limits: &Limits, trail: &mut Trail) -> Result<AsyncSmtpConnection, DeliveryError> {
    let hello = ClientId::default();
    let addresses = resolve::addresses(&smtp.host, smtp.port, limits.reachable).await;
    let addresses = addresses.map_err(|error| DeliveryError::transient(Reason::of_connection(&error)))?;
    trail.note(|| format!("{} leads to {}", smtp.host, trail::addresses(&addresses)));
    let stream = dial(&addresses, trail).await?;
    match smtp.tls {
        SmtpTls::None => {
            let relay = greet(stream, &hello, trail).await?;
            trail.note(|| "not protected: `tls: none`".to_owned());
            Ok(relay)
        }
        SmtpTls::StartTls => {
            let tls = tls(smtp).await?;
            let mut relay = greet(stream, &hello, trail).await?;
            relay.starttls(tls, &hello).await.map_err(|error| failed(Step::Tls, &error))?;
            trail.note(|| format!("protected by STARTTLS, with a trusted certificate for {}", smtp.host));
            Ok(relay)
        }
        SmtpTls::Implicit => {
            let tls = tls(smtp).await?;
            let secure = Secure::over(stream, tls).await.map_err(|error| failed(Step::Connect, &error))?;
            trail.note(|| format!("protected by TLS, with a trusted certificate for {}", smtp.host));
            greet(Box::new(secure), &hello, trail).await
        }
    }
}

async fn dial(addresses: &[SocketAddr], trail: &mut Trail) -> Result<Box<dyn AsyncTokioStream>, DeliveryError> {
    let stream =
        TcpStream::connect(addresses).await.map_err(|error| DeliveryError::transient(Reason::of_connection(&error)))?;
    if let Ok(peer) = stream.peer_addr() {
        trail.note(|| format!("connected to {peer}"));
    }
    Ok(Box::new(Capped::new(stream)))
}

/// The relay's greeting, and what it can do.
async fn greet(
    stream: Box<dyn AsyncTokioStream>,
    hello: &ClientId,
    trail: &mut Trail,
) -> Result<AsyncSmtpConnection, DeliveryError> {
    let relay = AsyncSmtpConnection::connect_with_transport(stream, hello)
        .await
        .map_err(|error| failed(Step::Connect, &error))?;
    trail.note(|| "the relay speaks SMTP".to_owned());
    Ok(relay)
}

/// The platform's roots, and the private authority as it is in its file now.
async fn tls(smtp: &Smtp) -> Result<TlsParameters, DeliveryError> {
    let misconfigured = DeliveryError::transient(Reason::Misconfigured);
    let mut parameters = TlsParameters::builder(smtp.host.clone());
    if let Some(path) = &smtp.ca {
        let pem = tokio::fs::read(path).await.map_err(|_| misconfigured)?;
        parameters = parameters.add_root_certificate(Certificate::from_pem(&pem).map_err(|_| misconfigured)?);
    }
    parameters.build_rustls().map_err(|_| misconfigured)
}

async fn log_in(relay: &mut AsyncSmtpConnection, credentials: &Credentials) -> Result<(), DeliveryError> {
    let mechanisms = [Mechanism::Plain, Mechanism::Login];
    relay.auth(&mechanisms, credentials).await.map(drop).map_err(|error| failed(Step::Auth, &error))
}

/// MAIL to the end of DATA. Up to DATA a failed try has delivered nothing, so that is where recipients are judged.
async fn hand_over(
    relay: &mut AsyncSmtpConnection,
    mail: &lettre::Message,
    attempts: u32,
) -> Result<usize, DeliveryError> {
    let failed = |error: Error| failed(Step::Mail, &error);
    let envelope = mail.envelope();
    let ascii =
        envelope.from().into_iter().chain(envelope.to()).all(|address| AsRef::<str>::as_ref(address).is_ascii());
    let beyond_ascii = !ascii && relay.server_info().supports_feature(Extension::SmtpUtfEight);
    let parameters = if beyond_ascii { vec![MailParameter::SmtpUtfEight] } else { Vec::new() };
    relay.command(Mail::new(envelope.from().cloned(), parameters)).await.map_err(failed)?;
    let mut refused = Vec::new();
    for recipient in envelope.to() {
        match relay.command(Rcpt::new(recipient.clone(), Vec::new())).await.map_err(failed) {
            Ok(_) => {}
            Err(error) if holds_back(&error, attempts) => return Err(error),
            Err(error) => refused.push(error),
        }
    }
    if let Some(error) = refused.first().filter(|_| refused.len() == envelope.to().len()) {
        return Err(*error);
    }
    relay.command(Data).await.map_err(failed)?;
    relay.message(&mail.formatted()).await.map_err(failed)?;
    Ok(refused.len())
}

/// Whether a recipient's refusal keeps the mail from the others too: it may take it later, or it was not the recipient
/// that failed but the relay.
fn holds_back(error: &DeliveryError, attempts: u32) -> bool {
    let put_off = error.reason() == Reason::Deferred && attempts >= PATIENCE;
    !(error.is_permanent() || put_off)
}

/// What a failure at `step` means.
fn failed(step: Step, error: &Error) -> DeliveryError {
    let Some(status) = error.status() else {
        return DeliveryError::transient(unanswered(step, error));
    };
    let code = u16::from(status);
    let transient = |reason| DeliveryError::Transient { reason, code: Some(code), retry_after: None };
    match (step, code) {
        // 530, 534, 535, 538 (RFC 4954, section 6) may answer MAIL too.
        (Step::Auth, _) | (_, 530 | 534 | 535 | 538) => transient(Reason::Auth),
        (Step::Tls, _) => transient(Reason::Tls),
        // Closing: it is shutting down or has too many connections.
        (_, 421) => transient(Reason::Unavailable),
        (_, 400..=499) => transient(Reason::Deferred),
        // It refuses us, not the message.
        (Step::Connect, _) => transient(Reason::Rejected),
        (Step::Mail, _) => DeliveryError::Permanent { reason: Reason::Rejected, code: Some(code) },
    }
}

/// The reason why there is no answer with a status.
fn unanswered(step: Step, error: &Error) -> Reason {
    if error.is_response() {
        Reason::Protocol
    } else if error.is_tls() {
        Reason::Tls
    } else if error.is_client() {
        match step {
            Step::Tls => Reason::Tls,
            Step::Auth => Reason::Auth,
            Step::Connect | Step::Mail => Reason::Misconfigured,
        }
    } else {
        Reason::of_connection(error)
    }
}

#[cfg(test)]
mod tests;
