-- The spine. Times are INTEGER milliseconds since 1970; digests are the 32 bytes of a SHA-256; a path is a JSON string
-- (names of a peer may hold U+0000, which not every database keeps in text); documents of ours are JSON in TEXT, or
-- zstd-compressed JSON in BLOB where they are long.

-- "drft": tells our file from another program's.
PRAGMA application_id = 1685218932;

-- A peer's value in canonical form, once, however often it is referred to.
CREATE TABLE blob (
    digest BLOB PRIMARY KEY,
    model  INTEGER NOT NULL,
    size   INTEGER NOT NULL, -- of the canonical form, in bytes
    body   BLOB NOT NULL     -- zstd
) STRICT;

CREATE TABLE target (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    url        TEXT NOT NULL,
    labels     TEXT NOT NULL,
    state      TEXT NOT NULL, -- active, retired
    first_seen INTEGER NOT NULL,
    retired_at INTEGER
) STRICT, WITHOUT ROWID;

-- What is remembered of a target's scans and facets: one row, rewritten whole, or only lengthened by unchanged scans,
-- so that a batch of last-seen times costs one short statement a target.
CREATE TABLE memory (
    target     TEXT PRIMARY KEY REFERENCES target (id),
    seq        INTEGER NOT NULL,
    outcome    TEXT,
    last_scan  INTEGER,
    last_ok    INTEGER,
    not_before INTEGER,
    recheck    INTEGER,
    scans      TEXT NOT NULL,
    facets     TEXT NOT NULL,
    -- Complete scans since the one that `scans` and `facets` tell of, which all showed what that one showed.
    quiet_scans INTEGER NOT NULL,
    quiet_at    INTEGER,
    quiet_fresh INTEGER
) STRICT;

-- Content-addressed: which facets were seen (with the digests of their values) or absent.
CREATE TABLE snapshot (
    digest   BLOB PRIMARY KEY,
    model    INTEGER NOT NULL,
    manifest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Scans in a row with one snapshot and one outcome.
CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    target        TEXT NOT NULL REFERENCES target (id),
    snapshot      BLOB NOT NULL REFERENCES snapshot (digest),
    outcome       TEXT NOT NULL,
    from_at       INTEGER NOT NULL,
    to_at         INTEGER NOT NULL,
    from_seq      INTEGER NOT NULL,
    to_seq        INTEGER NOT NULL,
    scans         INTEGER NOT NULL,
    detail        BLOB NOT NULL, -- of the newest scan: how it asked, what it watched, checked and did not see
    detail_size   INTEGER NOT NULL,
    detail_digest BLOB NOT NULL
) STRICT;
CREATE INDEX run_by_target ON run (target, id);
CREATE INDEX run_by_snapshot ON run (target, snapshot, id);

CREATE TABLE baseline (
    id            INTEGER PRIMARY KEY,
    target        TEXT NOT NULL REFERENCES target (id),
    facet         TEXT NOT NULL,
    digest        BLOB,          -- none when absence was accepted
    value_digests TEXT NOT NULL,
    at            INTEGER NOT NULL,
    accepted_by   TEXT NOT NULL,
    reason        TEXT,
    asked         TEXT NOT NULL,
    model         INTEGER NOT NULL,
    entry         INTEGER NOT NULL REFERENCES ledger (no) DEFERRABLE INITIALLY DEFERRED,
    reviewed      INTEGER NOT NULL,
    ended_at      INTEGER,
    ended_why     TEXT
) STRICT;
CREATE UNIQUE INDEX baseline_living ON baseline (target, facet) WHERE ended_at IS NULL;
CREATE INDEX baseline_reviewed ON baseline (target, facet, id) WHERE reviewed = 1;

CREATE TABLE approval (
    id          INTEGER PRIMARY KEY,
    target      TEXT NOT NULL REFERENCES target (id),
    facet       TEXT NOT NULL,
    path        TEXT NOT NULL,
    value       BLOB REFERENCES blob (digest), -- none when absence was accepted
    at          INTEGER NOT NULL,
    accepted_by TEXT NOT NULL,
    until       INTEGER,
    entry       INTEGER NOT NULL REFERENCES ledger (no) DEFERRABLE INITIALLY DEFERRED,
    ended_at    INTEGER,
    ended_why   TEXT
) STRICT;
CREATE UNIQUE INDEX approval_living ON approval (target, facet, path) WHERE ended_at IS NULL;

CREATE TABLE incident (
    id         TEXT PRIMARY KEY,
    owner      TEXT NOT NULL REFERENCES target (id),
    kind       TEXT NOT NULL, -- drift, sight
    revision   INTEGER NOT NULL,
    acked      TEXT,
    opened_at  INTEGER NOT NULL,
    ended_at   INTEGER,
    end_reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX incident_open ON incident (owner, id) WHERE ended_at IS NULL;
CREATE INDEX incident_by_time ON incident (opened_at);

CREATE TABLE unit (
    incident TEXT NOT NULL REFERENCES incident (id),
    n        INTEGER NOT NULL,
    mark     TEXT NOT NULL,
    severity TEXT NOT NULL,
    impact   TEXT, -- the main one
    unit     TEXT NOT NULL,
    PRIMARY KEY (incident, n)
) STRICT;

-- What a message about an incident says at one revision; never changed once written.
CREATE TABLE revision (
    id        INTEGER PRIMARY KEY,
    incident  TEXT NOT NULL REFERENCES incident (id),
    revision  INTEGER NOT NULL,
    event     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    body      BLOB NOT NULL,
    body_size INTEGER NOT NULL,
    UNIQUE (incident, revision, event)
) STRICT;

CREATE TABLE drift (
    id            BLOB PRIMARY KEY,
    target        TEXT NOT NULL REFERENCES target (id),
    facet         TEXT NOT NULL,
    path          TEXT NOT NULL,
    state         TEXT NOT NULL,
    rule          TEXT NOT NULL,
    severity      TEXT NOT NULL,
    fingerprint   BLOB NOT NULL,
    drift         TEXT NOT NULL, -- without the values before and after
    before_values TEXT NOT NULL, -- digests
    after_values  TEXT NOT NULL, -- digests
    next          TEXT,
    next_before   TEXT,
    next_after    TEXT,
    past          TEXT NOT NULL,
    held          INTEGER NOT NULL,
    sightings     INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    back_count    INTEGER NOT NULL,
    back_since    INTEGER,
    first_at      INTEGER NOT NULL,
    confirmed_at  INTEGER,
    ended_at      INTEGER,
    incident      TEXT REFERENCES incident (id)
) STRICT;
CREATE UNIQUE INDEX drift_living ON drift (target, facet, path) WHERE ended_at IS NULL;
CREATE INDEX drift_by_fingerprint ON drift (fingerprint);
CREATE INDEX drift_by_target ON drift (target, first_at);
CREATE INDEX drift_by_time ON drift (first_at);

-- The chained record of decisions. `entry` is what is hashed; the other columns are there to be searched.
CREATE TABLE ledger (
    no       INTEGER PRIMARY KEY,
    decision TEXT NOT NULL,
    at       INTEGER NOT NULL,
    target   TEXT NOT NULL,
    action   TEXT NOT NULL,
    who      TEXT NOT NULL,
    entry    TEXT NOT NULL,
    hash     BLOB NOT NULL
) STRICT;
CREATE TRIGGER ledger_never_changes BEFORE UPDATE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger never changes');
END;
CREATE TRIGGER ledger_never_shrinks BEFORE DELETE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger never shrinks');
END;

-- `seq` is the order in which one receiver gets one incident's messages.
CREATE TABLE message (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    receiver  TEXT NOT NULL,
    incident  TEXT NOT NULL REFERENCES incident (id),
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
    due_at   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    message  TEXT REFERENCES message (id),
    dropped  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX notice_due ON notice (due_at) WHERE message IS NULL AND dropped = 0;
CREATE INDEX notice_group ON notice (receiver, incident) WHERE message IS NULL AND dropped = 0;

-- The newest thing that each receiver was told of each incident.
CREATE TABLE told (
    incident TEXT NOT NULL REFERENCES incident (id),
    receiver TEXT NOT NULL,
    revision INTEGER NOT NULL,
    event    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (incident, receiver)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
    no       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    target   TEXT NOT NULL REFERENCES target (id),
    event    TEXT NOT NULL,
    facet    TEXT,
    path     TEXT,
    drift    BLOB,
    incident TEXT,
    text     TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_target ON history (target, no);
