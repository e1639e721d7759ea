//! Lines of `driftd history`: what happened, one sentence each.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, millis, path_text};
use super::error::StoreError;
use super::views::HistoryRow;
use crate::model::settlement::HistoryLine;
use crate::model::target::TargetId;

pub(super) const OF_TARGET: &str = "SELECT * FROM history WHERE target = ? ORDER BY no DESC LIMIT ?";
pub(super) const ALL: &str = "SELECT * FROM history ORDER BY no DESC LIMIT ?";

/// The newest lines, the newest first.
pub(super) async fn newest(
    conn: &mut SqliteConnection,
    target: Option<&TargetId>,
    limit: u32,
) -> Result<Vec<HistoryRow>, StoreError> {
    let query = match target {
        Some(target) => sqlx::query(OF_TARGET).bind(target.to_string()),
        None => sqlx::query(ALL),
    };
    let rows = query.bind(limit).fetch_all(conn).await?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<HistoryRow, StoreError> {
    let facet = row.maybe_parsed("facet")?;
    let line = HistoryLine {
        at: row.time("at")?,
        event: row.text("event")?.to_owned(),
        place: facet.zip(row.maybe_json("path")?),
        drift: row.maybe_digest("drift")?,
        incident: row.maybe_parsed("incident")?,
        text: row.text("text")?.to_owned(),
    };
    Ok(HistoryRow { no: row.int("no")?, target: row.maybe_parsed("target")?, line })
}

/// Adds a line; without a target it is about driftd itself.
pub(super) async fn append(
    conn: &mut SqliteConnection,
    target: Option<&TargetId>,
    line: &HistoryLine,
) -> Result<(), StoreError> {
    let (facet, path) = match &line.place {
        Some((facet, path)) => (Some(facet.to_string()), Some(path_text(path)?)),
        None => (None, None),
    };
    sqlx::query(
        "INSERT INTO history (at, target, event, facet, path, drift, incident, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(millis(line.at))
    .bind(target.map(TargetId::as_str))
    .bind(&line.event)
    .bind(facet)
    .bind(path)
    .bind(line.drift.as_ref().map(|digest| &digest.bytes()[..]))
    .bind(line.incident.map(|incident| incident.to_string()))
    .bind(&line.text)
    .execute(conn)
    .await?;
    Ok(())
}
