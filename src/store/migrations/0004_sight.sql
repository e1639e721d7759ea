-- Incidents of a host: the further targets that one of sight is about. The owner is the one whose loss opened it.
CREATE TABLE incident_with (
    incident TEXT NOT NULL REFERENCES incident (id) ON DELETE CASCADE,
    target   TEXT NOT NULL REFERENCES target (id),
    PRIMARY KEY (incident, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX incident_with_target ON incident_with (target, incident);
