//! Mail by relays that speak TLS from the first byte, or none at all.

use std::time::Duration;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::smtp::{PASSWORD, Smtp, USER};

#[tokio::test(flavor = "multi_thread")]
async fn mail_arrives_by_implicit_tls_and_by_a_relay_without_tls_or_login() {
    for tls in ["implicit", "none"] {
        let smtp = Smtp::start_with(tls).await;
        let peer = ScriptedPeer::start(Script::default()).await;
        let home = Home::new();
        let password = home.write("password", PASSWORD);
        let login = match tls {
            "implicit" => {
                format!("ca: {:?}, username: {USER}, password: {{ file: {password:?} }}", smtp.ca())
            }
            _ => String::new(),
        };
        home.write(
            "driftd.yaml",
            &format!(
                "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers:\n  \
                 - {{ name: owners, email: {{ from: driftd@example.com, to: [ owners@example.com ], \
                 smtp: {{ host: localhost, port: {}, tls: {tls}, {login} }} }} }}\n",
                smtp.port()
            ),
        );
        home.write(
            "inventory.yaml",
            &format!("targets:\n  - {{ id: peer, kind: mcp, url: {:?}, every: 24h }}\n", peer.url()),
        );
        let daemon = Daemon::start(&home).await;
        daemon.take_baseline("peer").await;
        peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
        daemon.scan_twice("peer", Duration::from_mins(5)).await;
        let mails = smtp.wait_for(1).await;
        let subject = mails[0].header("subject").unwrap_or_default();
        assert!(subject.starts_with("HIGH peer: "), "{tls}: {subject:?}");
        daemon.stop().await;
    }
}
