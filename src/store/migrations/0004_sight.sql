-- Incidents of a host: the further targets that one of sight is about. The owner is the one whose loss opened it.
CREATE TABLE incident_with (
    incident TEXT NOT NULL REFERENCES incident (id) ON DELETE CASCADE,
    target   TEXT NOT NULL REFERENCES target (id),
    PRIMARY KEY (incident, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX incident_with_target ON incident_with (target, incident);

-- Which report of a first round tells of the target; none before.
ALTER TABLE target ADD COLUMN report TEXT;
CREATE INDEX target_unreported ON target (id) WHERE report IS NULL;

-- A line may be about driftd itself: SQLite drops no NOT NULL, so the table is made anew.
ALTER TABLE history RENAME TO history_before;
DROP INDEX history_by_target;
CREATE TABLE history (
    no       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    target   TEXT REFERENCES target (id), -- none where it is about driftd itself
    event    TEXT NOT NULL,
    facet    TEXT,
    path     TEXT,
    drift    BLOB,
    incident TEXT,
    text     TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_target ON history (target, no);
INSERT INTO history (no, at, target, event, facet, path, drift, incident, text)
    SELECT no, at, target, event, facet, path, drift, incident, text FROM history_before ORDER BY no;
DROP TABLE history_before;
