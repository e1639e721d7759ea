//! What is owed and what pays it: notices wait, are folded into messages, and messages go out in order.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sqlx::sqlite::{SqliteQueryResult, SqliteRow};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::columns::{Columns as _, instant, millis, to_json};
use super::error::StoreError;
use super::values::{pack_json, unpack_json};
use super::views::{Found, MessageFilter, NoticeRow, Pending, Retry};
use crate::model::bulletin::Bulletin;
use crate::model::condition::Fate;
use crate::model::incident::IncidentId;
use crate::model::notice::{Fold, Message, MessageState, Notice, Told};

/// Messages handed out at a time, so that what is held in memory does not grow with what is owed.
const BATCH: u32 = 256;

/// A message's id may be shortened to this many characters.
const LEAST_ID: usize = 8;

pub(super) const DUE_NOTICES: &str = "SELECT notice.* FROM \
     (SELECT DISTINCT receiver, incident FROM notice WHERE message IS NULL AND dropped = 0 AND due_at <= ?) AS due \
     JOIN notice ON notice.receiver = due.receiver AND notice.incident = due.incident \
     WHERE notice.message IS NULL AND notice.dropped = 0 ORDER BY notice.at, notice.revision, notice.rowid";
/// Of each receiver the one message that is due longest: a backlog of one neither crowds out another nor fills memory.
pub(super) const DUE_MESSAGES: &str = "SELECT message.* FROM ( \
     SELECT seq, row_number() OVER (PARTITION BY receiver ORDER BY next_at, seq) AS place FROM message AS mine \
     WHERE state = 'pending' AND next_at <= ?1 AND NOT EXISTS (SELECT 1 FROM condition \
     WHERE condition.receiver = mine.receiver AND condition.not_before > ?1) \
     AND NOT EXISTS (SELECT 1 FROM message AS earlier \
     WHERE earlier.state = 'pending' AND earlier.receiver = mine.receiver AND earlier.incident IS mine.incident \
     AND earlier.seq < mine.seq)) AS due CROSS JOIN message ON message.seq = due.seq WHERE due.place = 1 \
     ORDER BY message.next_at, message.seq LIMIT ?2";
const WAKE: &str = "UPDATE condition SET not_before = NULL WHERE EXISTS (SELECT 1 FROM message \
     WHERE message.receiver = condition.receiver AND message.state = 'pending' AND message.attempts = 0)";
const PAY: &str = "UPDATE notice SET message = ? WHERE id = ? AND receiver = ? AND message IS NULL AND dropped = 0";
const PUT_OFF: &str = "UPDATE notice SET lane = ?, due_at = ? WHERE id = ? AND message IS NULL AND dropped = 0";
pub(super) const UNDELIVERED: &str = "SELECT DISTINCT receiver, incident FROM message INDEXED BY message_due \
     WHERE state = 'pending' AND incident IS NOT NULL";
pub(super) const NEXT_NOTICE: &str = "SELECT min(due_at) AS due FROM notice WHERE message IS NULL AND dropped = 0";
/// Of a receiver that rests, when its rest ends.
pub(super) const NEXT_MESSAGE: &str = "SELECT next_at AS due FROM message AS mine WHERE state = 'pending' \
     AND NOT EXISTS (SELECT 1 FROM condition WHERE condition.receiver = mine.receiver AND condition.not_before > ?) \
     AND NOT EXISTS (SELECT 1 FROM message AS earlier WHERE earlier.state = 'pending' \
     AND earlier.receiver = mine.receiver AND earlier.incident IS mine.incident AND earlier.seq < mine.seq) \
     ORDER BY next_at LIMIT 1";
const NEXT_REST: &str = "SELECT min(not_before) AS due FROM condition WHERE not_before > ? AND EXISTS \
     (SELECT 1 FROM message WHERE message.receiver = condition.receiver AND message.state = 'pending')";
pub(super) const TOLD: &str = "SELECT told.* FROM json_each(?) AS wanted \
     CROSS JOIN told ON told.incident = wanted.value";
pub(super) const BY_ID: &str = "SELECT * FROM message WHERE id >= ? AND id < ? LIMIT 2";
/// What waits for a digest is owed only then, and a reminder only if nobody decides: neither counts as waiting.
const PENDING: &str = "SELECT receiver, sum(messages) AS messages, sum(notices) AS notices, sum(dead) AS dead, \
     min(oldest) AS oldest FROM ( \
     SELECT receiver, count(*) AS messages, 0 AS notices, 0 AS dead, min(at) AS oldest FROM message \
     WHERE state = 'pending' GROUP BY receiver \
     UNION ALL SELECT receiver, 0, count(*), 0, min(at) FROM notice \
     WHERE message IS NULL AND dropped = 0 AND lane = 'message' AND event <> 'drift.reminder' GROUP BY receiver \
     UNION ALL SELECT receiver, 0, 0, count(*), NULL FROM message WHERE state = 'dead' GROUP BY receiver \
     ) GROUP BY receiver ORDER BY receiver";

/// Writes what is owed. A notice that is there already is the same one: its id says so.
pub(super) async fn owe(conn: &mut SqliteConnection, notice: &Notice) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO notice (id, receiver, incident, revision, event, lane, due_at, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(&notice.id)
    .bind(&notice.receiver)
    .bind(notice.incident.to_string())
    .bind(notice.revision)
    .bind(notice.event.as_str())
    .bind(notice.lane.as_str())
    .bind(millis(notice.due_at))
    .bind(millis(notice.at))
    .execute(conn)
    .await?;
    Ok(())
}

/// All waiting notices of each receiver and incident of which one is due: a message says all that happened.
pub(super) async fn due_notices(conn: &mut SqliteConnection, now: Timestamp) -> Result<Vec<Notice>, StoreError> {
    let rows = sqlx::query(DUE_NOTICES).bind(millis(now)).fetch_all(conn).await?;
    rows.iter().map(read_notice).collect()
}

/// Pays a notice by a message that tells of several incidents, and notes what its receiver will have been told.
pub(super) async fn pay(
    conn: &mut SqliteConnection,
    notice: &Notice,
    message: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let done = sqlx::query("UPDATE notice SET message = ? WHERE id = ? AND message IS NULL AND dropped = 0")
        .bind(message)
        .bind(&notice.id)
        .execute(&mut *conn)
        .await?;
    if done.rows_affected() != 1 {
        return Err(StoreError::NotWaiting(notice.id.clone()));
    }
    sqlx::query(
        "INSERT INTO told (incident, receiver, revision, event, at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (incident, receiver) DO UPDATE SET revision = max(revision, excluded.revision), \
         event = excluded.event, at = excluded.at",
    )
    .bind(notice.incident.to_string())
    .bind(&notice.receiver)
    .bind(notice.revision)
    .bind(notice.event.as_str())
    .bind(millis(now))
    .execute(conn)
    .await?;
    Ok(())
}

/// A notice.
pub(super) fn read_notice(row: &SqliteRow) -> Result<Notice, StoreError> {
    Ok(Notice {
        id: row.text("id")?.to_owned(),
        receiver: row.text("receiver")?.to_owned(),
        incident: row.parsed("incident")?,
        revision: row.u32("revision")?,
        event: row.variant("event")?,
        lane: row.variant("lane")?,
        due_at: row.time("due_at")?,
        at: row.time("at")?,
    })
}

/// All notices of one incident, the oldest first.
pub(super) async fn notices_of(
    conn: &mut SqliteConnection,
    incident: IncidentId,
) -> Result<Vec<NoticeRow>, StoreError> {
    let query = sqlx::query("SELECT * FROM notice WHERE incident = ? ORDER BY at, revision, rowid");
    let rows = query.bind(incident.to_string()).fetch_all(conn).await?;
    let row = |row: &SqliteRow| {
        let message = row.maybe_text("message")?.map(str::to_owned);
        Ok(NoticeRow { notice: read_notice(row)?, message, dropped: row.u32("dropped")? != 0 })
    };
    rows.iter().map(row).collect()
}

/// Makes messages of notices, and notes what their receivers will have been told.
///
/// Told when folded, not when sent: messages of one incident reach a receiver in order, so whatever is folded later
/// is read later.
pub(super) async fn fold(conn: &mut SqliteConnection, fold: &Fold) -> Result<(), StoreError> {
    for payment in &fold.payments {
        put(&mut *conn, &payment.message).await?;
        for notice in &payment.notices {
            let paid = sqlx::query(PAY)
                .bind(&payment.message.id)
                .bind(notice)
                .bind(&payment.message.receiver)
                .execute(&mut *conn)
                .await?;
            waited(notice, &paid)?;
        }
        for told in &payment.told {
            tell(&mut *conn, told).await?;
        }
    }
    for notice in &fold.dropped {
        let dropped = sqlx::query("UPDATE notice SET dropped = 1 WHERE id = ? AND message IS NULL AND dropped = 0")
            .bind(notice)
            .execute(&mut *conn)
            .await?;
        waited(notice, &dropped)?;
    }
    for later in &fold.put_off {
        let put_off = sqlx::query(PUT_OFF)
            .bind(later.lane.as_str())
            .bind(millis(later.due_at))
            .bind(&later.id)
            .execute(&mut *conn)
            .await?;
        waited(&later.id, &put_off)?;
    }
    for notice in &fold.owed {
        owe(&mut *conn, notice).await?;
    }
    Ok(())
}

/// A notice is paid, dropped or put off only while it waits.
fn waited(notice: &str, done: &SqliteQueryResult) -> Result<(), StoreError> {
    if done.rows_affected() == 1 { Ok(()) } else { Err(StoreError::NotWaiting(notice.to_owned())) }
}

async fn tell(conn: &mut SqliteConnection, told: &Told) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO told (incident, receiver, revision, event, at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (incident, receiver) DO UPDATE SET revision = excluded.revision, event = excluded.event, \
         at = excluded.at",
    )
    .bind(told.incident.to_string())
    .bind(&told.receiver)
    .bind(told.revision)
    .bind(told.event.as_str())
    .bind(millis(told.at))
    .execute(conn)
    .await?;
    Ok(())
}

async fn put(conn: &mut SqliteConnection, message: &Message) -> Result<(), StoreError> {
    let packed = pack_json(&message.body)?;
    sqlx::query(
        "INSERT INTO message (id, receiver, incident, body, body_size, state, attempts, next_at, error, at, sent_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&message.id)
    .bind(&message.receiver)
    .bind(message.incident.map(|incident| incident.to_string()))
    .bind(packed.body)
    .bind(packed.size)
    .bind(message.state.as_str())
    .bind(message.attempts)
    .bind(millis(message.next_at))
    .bind(&message.error)
    .bind(millis(message.at))
    .bind(message.sent_at.map(millis))
    .execute(conn)
    .await?;
    Ok(())
}

/// Posts a bulletin to `receiver`; whether it had not been posted there before.
pub(super) async fn post(
    conn: &mut SqliteConnection,
    bulletin: &Bulletin,
    receiver: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let message = bulletin.message(receiver, now);
    let posted = sqlx::query("INSERT INTO posted (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING")
        .bind(&message.id)
        .bind(millis(now))
        .execute(&mut *conn)
        .await?;
    if posted.rows_affected() == 0 {
        return Ok(false);
    }
    put(conn, &message).await?;
    Ok(true)
}

/// Those of `receivers` to whom `bulletin` was posted.
pub(super) async fn posted(
    conn: &mut SqliteConnection,
    bulletin: &Bulletin,
    receivers: &[String],
) -> Result<Vec<String>, StoreError> {
    let mut posted = Vec::new();
    for receiver in receivers {
        let id = bulletin.message_id(receiver);
        let row = sqlx::query("SELECT 1 FROM posted WHERE id = ?").bind(id).fetch_optional(&mut *conn).await?;
        posted.extend(row.map(|_| receiver.clone()));
    }
    Ok(posted)
}

/// What receivers were told of `incidents`.
pub(super) async fn told(conn: &mut SqliteConnection, incidents: &[IncidentId]) -> Result<Vec<Told>, StoreError> {
    let rows = sqlx::query(TOLD).bind(to_json(incidents)?).fetch_all(conn).await?;
    rows.iter().map(read_told).collect()
}

fn read_told(row: &SqliteRow) -> Result<Told, StoreError> {
    Ok(Told {
        receiver: row.text("receiver")?.to_owned(),
        incident: row.parsed("incident")?,
        revision: row.u32("revision")?,
        event: row.variant("event")?,
        at: row.time("at")?,
    })
}

/// When there is something to fold or to send.
pub(super) async fn next_due(conn: &mut SqliteConnection, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let notice = sqlx::query(NEXT_NOTICE).fetch_one(&mut *conn).await?.maybe_int("due")?;
    let rest = sqlx::query(NEXT_REST).bind(millis(now)).fetch_one(&mut *conn).await?.maybe_int("due")?;
    let message = sqlx::query(NEXT_MESSAGE).bind(millis(now)).fetch_optional(conn).await?;
    let message = message.map(|row| row.int("due")).transpose()?;
    notice.into_iter().chain(rest).chain(message).min().map(instant).transpose()
}

/// Receivers and incidents of which a message is on its way.
pub(super) async fn undelivered(conn: &mut SqliteConnection) -> Result<BTreeSet<(String, IncidentId)>, StoreError> {
    let rows = sqlx::query(UNDELIVERED).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.text("receiver")?.to_owned(), row.parsed("incident")?))).collect()
}

/// Messages to be sent now, the longest due first; of one receiver and incident only the earliest that is pending.
pub(super) async fn due_messages(conn: &mut SqliteConnection, now: Timestamp) -> Result<Vec<Message>, StoreError> {
    let rows = sqlx::query(DUE_MESSAGES).bind(millis(now)).bind(BATCH).fetch_all(conn).await?;
    rows.iter().map(read).collect()
}

/// Messages, the newest first.
pub(super) async fn list(conn: &mut SqliteConnection, filter: &MessageFilter) -> Result<Vec<Message>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM message WHERE TRUE");
    if let Some(state) = filter.state {
        query.push(" AND state = ").push_bind(state.as_str());
    }
    if let Some(receiver) = &filter.receiver {
        query.push(" AND receiver = ").push_bind(receiver.clone());
    }
    if let Some(incident) = filter.incident {
        query.push(" AND incident = ").push_bind(incident.to_string());
    }
    query.push(" ORDER BY seq DESC");
    if filter.limit > 0 {
        query.push(" LIMIT ").push_bind(filter.limit);
    }
    let rows = query.build().fetch_all(conn).await?;
    rows.iter().map(read).collect()
}

/// The message whose id is `id` or begins with it.
pub(super) async fn by_id(conn: &mut SqliteConnection, id: &str) -> Result<Found<Message>, StoreError> {
    if id.len() < LEAST_ID {
        return Ok(Found::None);
    }
    let end = format!("{id}\u{10ffff}");
    let rows = sqlx::query(BY_ID).bind(id).bind(end).fetch_all(conn).await?;
    match rows.as_slice() {
        [] => Ok(Found::None),
        [one] => read(one).map(Found::One),
        [_, _, ..] => Ok(Found::Several),
    }
}

fn read(row: &SqliteRow) -> Result<Message, StoreError> {
    Ok(Message {
        id: row.text("id")?.to_owned(),
        receiver: row.text("receiver")?.to_owned(),
        incident: row.maybe_parsed("incident")?,
        body: unpack_json("message", row.bytes("body")?, row.u64("body_size")?)?,
        state: row.variant("state")?,
        attempts: row.u32("attempts")?,
        next_at: row.time("next_at")?,
        error: row.maybe_text("error")?.map(str::to_owned),
        at: row.time("at")?,
        sent_at: row.maybe_time("sent_at")?,
    })
}

/// What is owed to each receiver.
pub(super) async fn pending(conn: &mut SqliteConnection) -> Result<Vec<Pending>, StoreError> {
    let rows = sqlx::query(PENDING).fetch_all(conn).await?;
    let pending = |row: &SqliteRow| {
        Ok(Pending {
            receiver: row.text("receiver")?.to_owned(),
            messages: row.u64("messages")?,
            notices: row.u64("notices")?,
            dead: row.u64("dead")?,
            oldest: row.maybe_time("oldest")?,
        })
    };
    rows.iter().map(pending).collect()
}

/// What became of a message. A delivered one stays delivered.
pub(super) async fn fate(conn: &mut SqliteConnection, id: &str, fate: &Fate, now: Timestamp) -> Result<(), StoreError> {
    let query = match fate {
        Fate::Sent => sqlx::query(
            "UPDATE message SET state = 'sent', attempts = attempts + 1, error = NULL, sent_at = ? \
             WHERE id = ? AND state <> 'sent'",
        )
        .bind(millis(now)),
        Fate::Again { attempts, at, error } => {
            sqlx::query("UPDATE message SET attempts = ?, next_at = ?, error = ? WHERE id = ? AND state = 'pending'")
                .bind(*attempts)
                .bind(millis(*at))
                .bind(error.as_str())
        }
        Fate::Dead { attempts, error } => {
            sqlx::query("UPDATE message SET state = 'dead', attempts = ?, error = ? WHERE id = ? AND state = 'pending'")
                .bind(*attempts)
                .bind(error.as_str())
        }
    };
    query.bind(id).execute(conn).await?;
    Ok(())
}

/// It is to be sent again, now, with a schedule of its own. Says how many.
pub(super) async fn retry(conn: &mut SqliteConnection, which: &Retry, now: Timestamp) -> Result<u64, StoreError> {
    let query = match which {
        Retry::One(id) => sqlx::query(
            "UPDATE message SET state = 'pending', attempts = 0, next_at = ? WHERE id = ? AND state <> 'sent'",
        )
        .bind(millis(now))
        .bind(id.clone()),
        Retry::AllDead => {
            sqlx::query("UPDATE message SET state = 'pending', attempts = 0, next_at = ? WHERE state = ?")
                .bind(millis(now))
                .bind(MessageState::Dead.as_str())
        }
    };
    let retried = query.execute(&mut *conn).await?.rows_affected();
    if retried > 0 {
        // Whoever asks for a try wants it now, also of a receiver that rests.
        sqlx::query(WAKE).execute(conn).await?;
    }
    Ok(retried)
}
