//! CPU of an unchanged scan beside that of a bare loop that sends the same requests, in one run (design, section 7:
//! at most 1.5 times). The peer is another process; what is counted is all that this one uses.
//!
//! Beside each other in turns, so that what else the machine does falls on both: `scan` is `Scanner::scan`; `bare`
//! sends the same requests with one client over one connection for each pass, as the scan does, and reads the
//! bodies; `bare, kept` keeps its connection for good.

#![expect(clippy::expect_used, reason = "a bench that cannot set up has nothing to measure")]
#![expect(clippy::print_stdout, reason = "its figures")]

use std::sync::Arc;
use std::time::Duration;

use driftd::clock::{Clock, Hand};
use driftd::judge::rules;
use driftd::metrics::Metrics;
use driftd::model::inventory::{Cadence, Target};
use driftd::model::observation::Outcome;
use driftd::model::target::Kind;
use driftd::net::{Door, DoorSettings, Roots, SystemResolver};
use driftd::plan::{InForce, Live, Plan};
use driftd::scan::{Conversations, Scanner};
use driftd::secret::Environment;
use driftd::store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[path = "support/peer.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "each bench uses a part of it")]
mod peer;
#[path = "support/usage.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "each bench uses a part of it")]
mod usage;

use peer::{Peer, Recorded};

const ROUNDS: u32 = 20;
const PASSES: u32 = 50;

fn main() {
    let peer = Peer::start();
    // `cargo test --benches` runs each bench once to see that it works.
    let (rounds, passes) =
        if std::env::args().any(|argument| argument == "--bench") { (rounds(), PASSES) } else { (1, 1) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure(&peer, rounds, passes));
}

fn rounds() -> u32 {
    std::env::var("DRIFTD_BENCH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

async fn measure(peer: &Peer, rounds: u32, passes: u32) {
    let home = tempfile::tempdir().expect("a directory");
    let bench = Bench::new(peer, &Store::open(&home.path().join("driftd.db")).await.expect("a store"));
    let client = plain_client();
    bench.settle().await;
    peer.forget(&client).await;
    bench.scan().await;
    let requests = peer.recorded(&client).await;
    let (mut scan, mut bare, mut kept) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        let start = usage::cpu();
        for _ in 0..passes {
            bench.scan().await;
        }
        let scanned = usage::cpu();
        for _ in 0..passes {
            replay(peer, &client, &requests, true).await;
        }
        let replayed = usage::cpu();
        for _ in 0..passes {
            replay(peer, &client, &requests, false).await;
        }
        scan += scanned.saturating_sub(start);
        bare += replayed.saturating_sub(scanned);
        kept += usage::cpu().saturating_sub(replayed);
    }
    let each = |all: Duration| all.as_secs_f64() * 1e6 / f64::from(rounds * passes);
    println!("an unchanged scan of {} requests, CPU each, of {} passes:", requests.len(), rounds * passes);
    println!("  scan        {:8.1} us", each(scan));
    println!("  bare        {:8.1} us   scan / bare       = {:.2}", each(bare), each(scan) / each(bare));
    println!("  bare, kept  {:8.1} us   scan / bare, kept = {:.2}", each(kept), each(scan) / each(kept));
}

/// A client like the door's, but for what guards it. Its TLS, which is not used, is given: by itself it would read the
/// platform's roots.
fn plain_client() -> reqwest::Client {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let roots = rustls::RootCertStore::empty();
    let tls = versions.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    builder.build().expect("a client")
}

/// The same requests; with `ends`, the last one ends the connection.
async fn replay(peer: &Peer, client: &reqwest::Client, requests: &[Recorded], ends: bool) {
    let url = peer.url("/mcp");
    for (nth, request) in requests.iter().enumerate() {
        let mut builder = client.post(&url);
        for (name, value) in request.headers.iter().filter(|(name, _)| name != "host" && name != "content-length") {
            builder = builder.header(name, value);
        }
        if ends && nth + 1 == requests.len() {
            builder = builder.header("connection", "close");
        }
        let answer = builder.body(request.body.clone()).send().await.expect("an answer");
        let body = answer.bytes().await.expect("a body");
        std::hint::black_box(body);
    }
}

struct Bench {
    scanner: Scanner,
    store: Store,
    target: Target,
    hand: Hand,
}

impl Bench {
    fn new(peer: &Peer, store: &Store) -> Self {
        let (clock, hand) = Clock::manual("2026-11-30T12:00:00Z".parse().expect("an instant"));
        let settings = DoorSettings {
            contact: Some("mailto:ops@example.com".to_owned()),
            allow: Vec::new(),
            resolver: Arc::new(SystemResolver),
            roots: Roots::Platform,
        };
        let target = target(&peer.url("/mcp"));
        let mut plan = Plan::default();
        plan.targets.insert(target.id.clone(), Arc::new(target.clone()));
        let door = Live::new(Door::new(settings).expect("a door"));
        let environment = Environment::from_map::<&str, &str>([]);
        let scanner = Scanner::new(
            Box::new(Conversations { door: door.clone(), environment }),
            door,
            store.clone(),
            clock,
            Arc::new(Metrics::new(&[], rules::all().count()).expect("metrics")),
            Arc::new(Notify::new()),
            InForce::new(plan).1,
        );
        Self { scanner, store: store.clone(), target, hand }
    }

    /// Scans until there is a baseline and nothing is on its way.
    async fn settle(&self) {
        let store_target = [self.target.summary()];
        self.store.sync_targets(&store_target, self.hand.now()).await.expect("a target");
        for _ in 0..10 {
            self.scan().await;
            self.hand.advance(Duration::from_mins(6));
        }
    }

    async fn scan(&self) {
        let report = self.scanner.scan(&self.target, &CancellationToken::new()).await.expect("a scan");
        assert!(report.outcome == Outcome::Ok && report.open == 0, "not what is to be measured: {report:?}");
    }
}

fn target(url: &str) -> Target {
    let id = "fifty-things".parse().expect("an id");
    let every = Cadence::Every(Duration::from_mins(5));
    Target { cadence: every, ..Target::at(id, Kind::Mcp, url.parse().expect("a URL")) }
}
