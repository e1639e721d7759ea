//! The chained record of decisions: entries are appended where they continue it, and never touched again (triggers
//! refuse it); following the chain tells whether somebody else did.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, count, millis, to_json, word};
use super::error::StoreError;
use super::views::{LedgerCheck, LedgerFault, LedgerRow};
use crate::model::digest::Digest;
use crate::model::ledger::LedgerEntry;
use crate::model::memory::LedgerHead;

pub(super) const HEAD: &str = "SELECT no, hash FROM ledger ORDER BY no DESC LIMIT 1";
pub(super) const RANGE: &str = "SELECT no, entry, hash FROM ledger WHERE no >= ? ORDER BY no LIMIT ?";

/// Entries read at a time while the chain is followed.
const STEP: u32 = 1000;

/// The newest entry.
pub(super) async fn head(conn: &mut SqliteConnection) -> Result<LedgerHead, StoreError> {
    match sqlx::query(HEAD).fetch_optional(conn).await? {
        Some(row) => Ok(LedgerHead { no: row.u64("no")?, hash: row.digest("hash")? }),
        None => Ok(LedgerHead::default()),
    }
}

/// Entries from number `from` on.
pub(super) async fn range(conn: &mut SqliteConnection, from: u64, limit: u32) -> Result<Vec<LedgerRow>, StoreError> {
    let rows = sqlx::query(RANGE).bind(count(from)).bind(limit).fetch_all(conn).await?;
    rows.iter().map(|row| Ok(LedgerRow { entry: row.json("entry")?, hash: row.digest("hash")? })).collect()
}

/// Appends `entries`, which have to continue the chain.
pub(super) async fn append(conn: &mut SqliteConnection, entries: &[LedgerEntry]) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut head = head(&mut *conn).await?;
    for entry in entries {
        let expected = head.no + 1;
        if entry.no != expected || entry.prev != head.hash {
            return Err(StoreError::Ledger { expected, found: entry.no });
        }
        head = LedgerHead { no: entry.no, hash: entry.hash() };
        sqlx::query(
            "INSERT INTO ledger (no, decision, at, target, action, who, entry, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(count(entry.no))
        .bind(&entry.decision)
        .bind(millis(entry.at))
        .bind(entry.target.as_str())
        .bind(word(entry.action)?)
        .bind(&entry.who)
        .bind(to_json(entry)?)
        .bind(&head.hash.bytes()[..])
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Follows the chain from the first entry to the last.
pub(super) async fn verify(conn: &mut SqliteConnection) -> Result<LedgerCheck, StoreError> {
    let mut head = LedgerHead::default();
    loop {
        let rows = sqlx::query(RANGE).bind(count(head.no + 1)).bind(STEP).fetch_all(&mut *conn).await?;
        if rows.is_empty() {
            return Ok(LedgerCheck::Whole { entries: head.no, head: head.hash });
        }
        for row in &rows {
            match follow(head, row) {
                Ok(next) => head = next,
                Err(fault) => return Ok(LedgerCheck::Broken { no: head.no + 1, fault }),
            }
        }
    }
}

fn follow(head: LedgerHead, row: &SqliteRow) -> Result<LedgerHead, LedgerFault> {
    let no = row.u64("no").map_err(|_| LedgerFault::Unreadable)?;
    if no != head.no + 1 {
        return Err(LedgerFault::Missing);
    }
    let entry: LedgerEntry = row.json("entry").map_err(|_| LedgerFault::Unreadable)?;
    let hash: Digest = row.digest("hash").map_err(|_| LedgerFault::Unreadable)?;
    if entry.hash() != hash || entry.no != no {
        return Err(LedgerFault::Changed);
    }
    if entry.prev != head.hash {
        return Err(LedgerFault::Unchained);
    }
    Ok(LedgerHead { no, hash })
}
