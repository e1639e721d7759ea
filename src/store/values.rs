//! Values of peers, content-addressed: stored once in canonical form, compressed, referred to by digest.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

use super::columns::{Columns as _, count, from_json, to_json};
use super::error::StoreError;
use crate::model::digest::Digest;
use crate::model::json::Json;
use crate::model::snapshot::MODEL;

/// zstd's own default: fast, and lists of tools shrink to about a tenth.
const LEVEL: i32 = 3;

/// Nothing we store is longer; a length beyond it is a damaged file, and no reason to allocate.
const LONGEST: u64 = 64 * 1024 * 1024;

pub(super) const LOAD: &str = "SELECT blob.digest, blob.size, blob.body FROM json_each(?) AS wanted \
     CROSS JOIN blob ON blob.digest = unhex(wanted.value)";

/// Bytes as they are kept.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) body: Vec<u8>,
    pub(super) size: i64,
}

pub(super) fn pack(bytes: &[u8]) -> Result<Packed, StoreError> {
    let body = zstd::bulk::compress(bytes, LEVEL)?;
    Ok(Packed { body, size: count(u64::try_from(bytes.len()).unwrap_or(u64::MAX)) })
}

pub(super) fn pack_json<T: Serialize>(document: &T) -> Result<Packed, StoreError> {
    pack(to_json(document)?.as_bytes())
}

pub(super) fn unpack(what: &str, body: &[u8], size: u64) -> Result<Vec<u8>, StoreError> {
    zstd::bulk::decompress(body, capacity(what, size)?).map_err(|error| StoreError::unreadable(what, error))
}

/// Unpacks many bodies, one after another: what it needs for that is made once.
pub(super) struct Unpacker(zstd::bulk::Decompressor<'static>);

impl Unpacker {
    pub(super) fn new() -> Result<Self, StoreError> {
        Ok(Self(zstd::bulk::Decompressor::new()?))
    }

    pub(super) fn unpack(&mut self, what: &str, body: &[u8], size: u64) -> Result<Vec<u8>, StoreError> {
        self.0.decompress(body, capacity(what, size)?).map_err(|error| StoreError::unreadable(what, error))
    }
}

fn capacity(what: &str, size: u64) -> Result<usize, StoreError> {
    if size > LONGEST {
        return Err(StoreError::unreadable(what, "its length is beyond what is stored"));
    }
    Ok(usize::try_from(size).unwrap_or(0))
}

pub(super) fn unpack_json<T: DeserializeOwned>(what: &str, body: &[u8], size: u64) -> Result<T, StoreError> {
    from_json(what, &unpack(what, body, size)?)
}

/// Stores `value` if it is new.
pub(super) async fn put(conn: &mut SqliteConnection, value: &Json) -> Result<Digest, StoreError> {
    let text = value.canonical();
    let digest = Digest::of_bytes(text.as_bytes());
    let known =
        sqlx::query("SELECT 1 FROM blob WHERE digest = ?").bind(&digest.bytes()[..]).fetch_optional(&mut *conn).await?;
    if known.is_some() {
        // Pruning may be about to remove it: see `super::prune`.
        sqlx::query("INSERT OR IGNORE INTO temp.touched (digest) VALUES (?)")
            .bind(&digest.bytes()[..])
            .execute(conn)
            .await?;
    } else {
        let packed = pack(text.as_bytes())?;
        sqlx::query("INSERT INTO blob (digest, model, size, body) VALUES (?, ?, ?, ?)")
            .bind(&digest.bytes()[..])
            .bind(MODEL)
            .bind(packed.size)
            .bind(packed.body)
            .execute(&mut *conn)
            .await?;
    }
    Ok(digest)
}

/// Stores each of `values` that is new; their digests in the same order.
pub(super) async fn put_all(conn: &mut SqliteConnection, values: &[Json]) -> Result<Vec<Digest>, StoreError> {
    let mut digests = Vec::with_capacity(values.len());
    for value in values {
        digests.push(put(conn, value).await?);
    }
    Ok(digests)
}

/// Values by digest: first every digest is asked for, then one query loads them all.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    wanted: BTreeSet<Digest>,
    values: BTreeMap<Digest, Json>,
}

impl Shelf {
    pub(super) fn want(&mut self, digests: &[Digest]) {
        self.wanted.extend(digests);
    }

    pub(super) async fn load(&mut self, conn: &mut SqliteConnection) -> Result<(), StoreError> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let wanted: Vec<String> = std::mem::take(&mut self.wanted).iter().map(Digest::hex).collect();
        let rows = sqlx::query(LOAD).bind(to_json(&wanted)?).fetch_all(conn).await?;
        for row in rows {
            let text = unpack("value", row.bytes("body")?, row.u64("size")?)?;
            let value = Json::parse_trusted(&text).map_err(|error| StoreError::unreadable("value", error))?;
            self.values.insert(row.digest("digest")?, value);
        }
        Ok(())
    }

    /// The values of `digests`, in that order; they are left on the shelf for whoever else refers to them.
    pub(super) fn get(&self, digests: &[Digest]) -> Result<Vec<Json>, StoreError> {
        let value = |digest| {
            let value: Option<&Json> = self.values.get(digest);
            value.cloned().ok_or_else(|| StoreError::unreadable("value", format!("{digest} is missing")))
        };
        digests.iter().map(value).collect()
    }
}
