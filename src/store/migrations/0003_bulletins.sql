-- Messages that belong to no incident.

-- SQLite drops no NOT NULL, so both tables are made anew: the one that refers first, so that no reference dangles.
ALTER TABLE notice RENAME TO notice_before;
ALTER TABLE message RENAME TO message_before;
DROP INDEX message_due;
DROP INDEX message_order;
DROP INDEX message_dead;
DROP INDEX notice_due;
DROP INDEX notice_group;

-- `seq` is the order in which one receiver gets one incident's messages, and those of none.
CREATE TABLE message (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    receiver  TEXT NOT NULL,
    incident  TEXT REFERENCES incident (id), -- none for a bulletin
    body      BLOB NOT NULL,
    body_size INTEGER NOT NULL,
    state     TEXT NOT NULL, -- pending, sent, dead
    attempts  INTEGER NOT NULL,
    next_at   INTEGER NOT NULL,
    error     TEXT,
    at        INTEGER NOT NULL,
    sent_at   INTEGER
) STRICT;
CREATE INDEX message_due ON message (next_at) WHERE state = 'pending';
CREATE INDEX message_order ON message (receiver, incident, seq) WHERE state = 'pending';
CREATE INDEX message_dead ON message (receiver) WHERE state = 'dead';

CREATE TABLE notice (
    id       TEXT PRIMARY KEY,
    receiver TEXT NOT NULL,
    incident TEXT NOT NULL REFERENCES incident (id),
    revision INTEGER NOT NULL,
    event    TEXT NOT NULL,
    lane     TEXT NOT NULL, -- message, digest
    due_at   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    message  TEXT REFERENCES message (id),
    dropped  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notice_due ON notice (due_at) WHERE message IS NULL AND dropped = 0;
CREATE INDEX notice_group ON notice (receiver, incident) WHERE message IS NULL AND dropped = 0;

INSERT INTO message (seq, id, receiver, incident, body, body_size, state, attempts, next_at, error, at, sent_at)
    SELECT seq, id, receiver, incident, body, body_size, state, attempts, next_at, error, at, sent_at
    FROM message_before ORDER BY seq;
INSERT INTO notice (id, receiver, incident, revision, event, lane, due_at, at, message, dropped)
    SELECT id, receiver, incident, revision, event, 'message', due_at, at, message, dropped FROM notice_before ORDER BY rowid;
DROP TABLE notice_before;
DROP TABLE message_before;

-- The bulletins that were posted, by the ids of their messages. A message is pruned in time, and its bulletin is still
-- not posted again.
CREATE TABLE posted (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How each receiver has fared since it last took a message.
CREATE TABLE condition (
    receiver      TEXT PRIMARY KEY,
    failures      INTEGER NOT NULL,
    since         INTEGER,
    error         TEXT,
    told          INTEGER,
    told_given_up INTEGER,
    suspended     INTEGER,
    not_before    INTEGER
) STRICT, WITHOUT ROWID;
