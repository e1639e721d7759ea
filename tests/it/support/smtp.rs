//! A real SMTP server (`aiosmtpd`) that insists on STARTTLS and AUTH, and keeps each mail.

use std::fs;
use std::path::PathBuf;

use rcgen::CertifiedKey;
use tempfile::TempDir;

use super::mail::Mail;
use super::peers::installed;
use super::ports::free_port;
use super::process::{Process, Program};
use super::{checkout, until};

/// The user that may send.
pub(crate) const USER: &str = "driftd";
/// Its password.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// The server and its mail. Its port stays the same over stops and starts, its mail stays too.
#[derive(Debug)]
pub(crate) struct Smtp {
    port: u16,
    tls: &'static str,
    files: TempDir,
    process: Option<Process>,
}

impl Smtp {
    /// A server that is up, with a certificate of its own for `localhost` and `127.0.0.1`.
    pub(crate) async fn start() -> Self {
        Self::start_with("starttls").await
    }

    /// One whose `tls` is `starttls`, `implicit`, or `none`; the last wants no login either.
    pub(crate) async fn start_with(tls: &'static str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        fs::write(files.path().join("certificate.pem"), cert.pem()).unwrap();
        fs::write(files.path().join("key.pem"), signing_key.serialize_pem()).unwrap();
        fs::create_dir(files.path().join("mail")).unwrap();
        let mut smtp = Self { port: free_port(), tls, files, process: None };
        smtp.up().await;
        smtp
    }

    /// Its port on `localhost`.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The certificate to trust (PEM).
    pub(crate) fn ca(&self) -> PathBuf {
        self.files.path().join("certificate.pem")
    }

    /// Starts the server, unless it runs.
    pub(crate) async fn up(&mut self) {
        if self.process.is_some() {
            return;
        }
        let at = |name: &str| self.files.path().join(name).into_os_string();
        let program = Program::new(
            self.files.path(),
            [
                installed("python").join("aiosmtpd-1.4.6/bin/python").into_os_string(),
                checkout("tests/peers/python/smtp.py").into_os_string(),
                self.port.to_string().into(),
                at("certificate.pem"),
                at("key.pem"),
                at("mail"),
                USER.into(),
                PASSWORD.into(),
                self.tls.into(),
            ],
        );
        let mut process = Process::start("aiosmtpd", &program);
        if let Err(status) = process.listening(self.port).await {
            panic!("aiosmtpd does not stay up ({status}): {}", process.log());
        }
        self.process = Some(process);
    }

    /// Kills the server: connections are refused from here on.
    pub(crate) fn down(&mut self) {
        self.process = None;
    }

    /// The mails so far, in order; reports of first rounds apart.
    pub(crate) fn mails(&self) -> Vec<Mail> {
        let entries = fs::read_dir(self.files.path().join("mail")).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "eml"));
        paths.sort();
        let mails = paths.iter().map(|path| Mail::parse(&fs::read(path).unwrap()));
        mails.filter(|mail| !mail.header("Subject").is_some_and(|subject| super::is_of_first_round(&subject))).collect()
    }

    /// Waits until at least `count` mails are there, and gives them all.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Mail> {
        let what = format!("{count} mails arrive");
        until(&what, || Some(self.mails()).filter(|mails| mails.len() >= count)).await
    }
}
