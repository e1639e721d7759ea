//! `POST /-/reload`: a person's token, our own name as the host, and the mistakes in the answer.

use serde_json::Value;

use super::{DRIFTD, home, rename_over, targets};
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};

/// With `listen` and `people`, whose tokens are files of `home`.
async fn start(home: &Home, people: &str) -> Daemon {
    home.write("driftd.yaml", &format!("{DRIFTD}listen: 127.0.0.1:0\n{people}"));
    Daemon::start(home).await
}

async fn post(daemon: &Daemon, host: Option<&str>, token: Option<&str>) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.post(format!("http://{}/-/reload", daemon.listen.unwrap()));
    if let Some(host) = host {
        request = request.header("host", host);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_person_who_may_decide_reloads_and_reads_the_mistakes() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    home.write("oncall", "a-token-of-some-length-one");
    home.write("guest", "a-token-of-some-length-two");
    let daemon = start(
        &home,
        "people:\n\
         - { name: oncall, token: { file: oncall }, may: [ read, decide ] }\n\
         - { name: guest, token: { file: guest }, may: [ read ] }\n",
    )
    .await;
    let right = std::fs::read_to_string(home.path().join("inventory.yaml")).unwrap();
    rename_over(&home, "inventory.yaml", "targets: [ { id: a, kind: mcp } ]\n");
    for (host, token, status) in [
        (None, None, 401),
        (None, Some("a-token-of-some-length-on"), 401),
        (None, Some("a-token-of-some-length-two"), 403),
        (Some("driftd.evil.example"), Some("a-token-of-some-length-one"), 421),
    ] {
        let (answered, said) = post(&daemon, host, token).await;
        assert_eq!(answered, status, "{host:?} {token:?}: {said}");
        assert!(!said.contains("inventory"), "who may not is told nothing: {said}");
    }
    let (status, said) = post(&daemon, None, Some("a-token-of-some-length-one")).await;
    assert_eq!(status, 422, "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["kind"], "mistakes");
    assert!(said["message"][0].as_str().unwrap().contains("inventory.yaml:1:"), "{said}");

    // A token is read at each use.
    home.write("oncall", "a-token-of-some-length-three");
    assert_eq!(post(&daemon, None, Some("a-token-of-some-length-one")).await.0, 401);
    rename_over(&home, "inventory.yaml", &format!("{right}{}", targets(&peer.url(), &["b"])));
    let (status, said) = post(&daemon, Some("localhost"), Some("a-token-of-some-length-three")).await;
    assert_eq!(status, 200, "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["added"][0], &said["targets"]), (&Value::from("b"), &Value::from(2)), "{said}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_people_nothing_can_be_changed_over_tcp() {
    let home = home("http://127.0.0.1:9/mcp", &[]);
    home.write("inventory.yaml", "targets: []\n");
    let daemon = start(&home, "").await;
    for token in [None, Some("anything")] {
        let (status, said) = post(&daemon, None, token).await;
        assert_eq!((status, said.contains("no `people`")), (403, true), "{said}");
    }
    daemon.stop().await;
}
