//! `kill -9` of a process that writes: what it was told is committed is there, and nothing is there by half.
//!
//! The child is this test binary itself, told by a variable of its environment to write until it is killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::fixtures::{at, entry, id, incident, incident_id, notice, quiet, summary};
use crate::model::alert::AlertType;
use crate::model::settlement::{HistoryLine, Settlement};
use crate::store::{LedgerCheck, Store};

const VARIABLE: &str = "DRIFTD_TEST_STORE_OF_THE_CHILD";

/// One entry, one notice, one line of history and one scan, for ever; says after each commit how far it is.
async fn write_until_killed(path: &Path) {
    let _lock = Store::lock(path).unwrap();
    let store = Store::open(path).await.unwrap();
    store.sync_targets(&[summary("a")], at(0)).await.unwrap();
    loop {
        let mut writer = store.writer().await;
        let memory = writer.memory(&id("a")).await.unwrap();
        let entry = entry(memory.ledger);
        let no = u32::try_from(entry.no).unwrap();
        let line = HistoryLine {
            at: at(0),
            event: "base.facet-created".to_owned(),
            place: None,
            drift: None,
            incident: Some(incident_id()),
            text: no.to_string(),
        };
        let mut grown = incident();
        grown.revision = no;
        let settlement = Settlement {
            incidents: vec![grown],
            notices: vec![notice("mail", no, AlertType::DriftChanged, 0)],
            ledger: vec![entry],
            history: vec![line],
            ..quiet(u64::from(no), 0)
        };
        writer.commit(&settlement, None, at(0)).await.unwrap();
        println!("committed {no}");
        std::io::stdout().flush().unwrap();
    }
}

#[tokio::test]
async fn the_child_of_the_crash_test() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        write_until_killed(Path::new(&path)).await;
    }
}

/// Starts the child on `path`, kills it once it has said `commits` times that it committed; the last number it said.
fn run_and_kill(path: &Path, commits: u32) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "store::tests::crash::the_child_of_the_crash_test"])
        .env(VARIABLE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let number = |line: std::io::Result<String>| {
        let line = line.unwrap();
        let (_, number) = line.split_once("committed ")?;
        number.parse::<u64>().ok()
    };
    said.extend(lines.by_ref().filter_map(number).take(usize::try_from(commits).unwrap()));
    child.kill().unwrap();
    said.extend(lines.filter_map(number));
    child.wait().unwrap();
    said.last().copied().unwrap()
}

#[tokio::test]
async fn a_killed_writer_leaves_whole_settlements_and_the_lock_free() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    let mut before = 0;
    for commits in [1, 2, 5, 11] {
        let said = run_and_kill(&path, commits);
        let _lock = Store::lock(&path).unwrap();
        let store = Store::open(&path).await.unwrap();
        let head = store.ledger_head().await.unwrap();
        assert!(said >= before + u64::from(commits));
        assert!(head.no == said || head.no == said + 1, "said {said}, found {}", head.no);
        let whole = LedgerCheck::Whole { entries: head.no, head: head.hash };
        assert_eq!(store.verify_ledger().await.unwrap(), whole);

        let count = usize::try_from(head.no).unwrap();
        assert_eq!(store.due_notices(at(9000)).await.unwrap().len(), count);
        assert_eq!(store.history(None, 10_000).await.unwrap().len(), count);
        let memory = store.memory(&id("a")).await.unwrap();
        assert_eq!((memory.scans.seq, u64::from(memory.incidents[0].revision)), (head.no, head.no));
        before = head.no;
    }
}
