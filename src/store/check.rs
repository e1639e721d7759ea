//! Whether a store is whole: SQLite's own check, references between rows, the ledger's chain, the digests of values,
//! and that everything living can be read.
//!
//! It only reads. Each part tells what it finds and keeps no other from looking; a part that SQLite breaks off is a
//! finding too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::columns::Columns as _;
use super::error::StoreError;
use super::values::Unpacker;
use super::views::LedgerCheck;
use super::{MessageFilter, Result, Store, ledger, memory, open, outbox, references, schema, snapshots, targets};
use crate::model::digest::Digest;

/// Problems that are told one by one; what is damaged throughout need not be told a thousand times.
const TOLD: usize = 50;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Version of the schema.
    pub schema: i64,
    /// Targets.
    pub targets: u64,
    /// Values of peers.
    pub values: u64,
    /// Entries of the ledger.
    pub ledger: u64,
    /// What is wrong, in our words; at most fifty.
    pub problems: Vec<String>,
    /// Further ones.
    pub more: u64,
}

impl Checked {
    /// Of a file that SQLite does not even open.
    fn closed(what: &str) -> Self {
        let problems = vec![format!("SQLite: {what}: nothing in it can be read")];
        Self { schema: 0, targets: 0, values: 0, ledger: 0, problems, more: 0 }
    }

    /// Whether nothing is wrong.
    pub const fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    fn told(&mut self, problem: String) {
        if self.problems.len() < TOLD {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Takes what a part found, or tells what broke it off.
    fn part<T: Default>(&mut self, what: &str, found: Result<T>) -> T {
        found.unwrap_or_else(|error| {
            self.told(format!("{what}: {}", inner(error)));
            T::default()
        })
    }
}

impl Store {
    /// Checks the store, beside whatever goes on in it.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub async fn check(&self) -> Result<Checked> {
        self.stands()?;
        checked(&mut *self.read().await?).await
    }

    /// Checks the file at `path`, which nobody writes, without changing it.
    ///
    /// # Errors
    /// When it is no database of ours, or of a newer driftd; what is damaged, however far, is an answer.
    pub async fn check_file(path: &Path) -> Result<Checked> {
        let mut conn = match open::reader(path).await {
            Err(StoreError::Damaged(what)) => return Ok(Checked::closed(&what)),
            opened => opened?,
        };
        let found = look_into(&mut conn).await;
        // It was only read.
        let _ = conn.close().await;
        found
    }
}

async fn look_into(conn: &mut SqliteConnection) -> Result<Checked> {
    // A damaged one may not tell whose it is: it is looked into all the same.
    if let Err(error) = schema::inspect(conn).await
        && !matches!(error, StoreError::Damaged(_) | StoreError::Corrupt(_))
    {
        return Err(error);
    }
    let mut view = conn.begin().await?;
    checked(&mut view).await
}

pub(super) async fn checked(conn: &mut SqliteConnection) -> Result<Checked> {
    let schema = match sqlx::query("PRAGMA user_version").fetch_one(&mut *conn).await.map_err(StoreError::from) {
        Err(StoreError::Damaged(what)) => return Ok(Checked::closed(&what)),
        row => row?.try_get(0)?,
    };
    let mut checked = Checked { schema, targets: 0, values: 0, ledger: 0, problems: Vec::new(), more: 0 };
    let pages = integrity(conn).await;
    for problem in checked.part("SQLite", pages) {
        checked.told(format!("SQLite: {problem}"));
    }
    let rows = foreign(conn).await;
    for ((table, parent), count) in checked.part("references between rows", rows) {
        checked.told(format!("{count} rows of {table} refer to rows of {parent} that are missing"));
    }
    match ledger::verify(conn).await {
        Ok(LedgerCheck::Whole { entries, .. }) => checked.ledger = entries,
        Ok(LedgerCheck::Broken { no, fault }) => {
            checked.told(format!("ledger: entry {no} {}", fault.words()));
        }
        Err(error) => checked.told(format!("ledger: {}", inner(error))),
    }
    values(conn, &mut checked).await;
    living(conn, &mut checked).await;
    Ok(checked)
}

async fn integrity(conn: &mut SqliteConnection) -> Result<Vec<String>> {
    let rows = sqlx::query("PRAGMA integrity_check(50)").fetch_all(conn).await?;
    let lines: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

async fn foreign(conn: &mut SqliteConnection) -> Result<BTreeMap<(String, String), u64>> {
    let mut missing = BTreeMap::new();
    let mut rows = sqlx::query("PRAGMA foreign_key_check").fetch(conn);
    while let Some(row) = rows.try_next().await? {
        *missing.entry((row.try_get(0)?, row.try_get(2)?)).or_insert(0) += 1;
    }
    Ok(missing)
}

/// Each value has its digest, and each that is referred to is there.
async fn values(conn: &mut SqliteConnection, checked: &mut Checked) {
    let mut present = BTreeSet::new();
    let read = each_value(conn, &mut present, checked).await;
    checked.part("values", read);
    checked.values = u64::try_from(present.len()).unwrap_or(u64::MAX);
    let mut missing = Vec::new();
    let looked = references::each(conn, |owner, digest| {
        if !present.contains(&digest) {
            missing.push(format!("{owner} refers to the value {digest}, which is missing"));
        }
    });
    let looked = looked.await;
    checked.part("references to values", looked);
    missing.into_iter().for_each(|problem| checked.told(problem));
}

async fn each_value(conn: &mut SqliteConnection, present: &mut BTreeSet<Digest>, checked: &mut Checked) -> Result<()> {
    let mut unpacker = Unpacker::new()?;
    let mut rows = sqlx::query("SELECT digest, size, body FROM blob").fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let digest = row.digest("digest")?;
        present.insert(digest);
        match unpacker.unpack("value", row.bytes("body")?, row.u64("size")?) {
            Ok(text) if Digest::of_bytes(&text) == digest => {}
            Ok(_) => checked.told(format!("the value {digest} is not the one that was stored")),
            Err(error) => checked.told(format!("the value {digest}: {}", inner(error))),
        }
    }
    Ok(())
}

/// What the core and the outbox go on from can be read.
async fn living(conn: &mut SqliteConnection, checked: &mut Checked) {
    let rows = targets::all(conn).await;
    let rows = checked.part("targets", rows);
    checked.targets = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    for row in &rows {
        let id = &row.summary.id;
        if let Err(error) = memory::load(conn, id, &[], None, Arc::default()).await {
            checked.told(format!("what is remembered of {id}: {}", inner(error)));
        }
        if let Err(error) = snapshots::latest(conn, id, None).await {
            checked.told(format!("the newest snapshot of {id}: {}", inner(error)));
        }
    }
    let messages = outbox::list(conn, &MessageFilter::default()).await;
    checked.part("messages", messages);
}

/// The damage, without the advice that stands with it elsewhere: this is the check it advises.
fn inner(error: StoreError) -> String {
    if let StoreError::Corrupt(what) | StoreError::Damaged(what) = error { what } else { error.to_string() }
}
