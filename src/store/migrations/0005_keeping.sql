-- Keeping: marks, and what pruning needs to find its way in small steps.

-- Single facts about the store as a whole, by name; each name is a constant in the code.
CREATE TABLE mark (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Ids of incidents that were pruned: they stand in messages and in the ledger, so none is given out again.
CREATE TABLE spent_incident (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Whether anything still refers to a row that would go.
CREATE INDEX run_of_snapshot ON run (snapshot);
CREATE INDEX approval_of_value ON approval (value) WHERE value IS NOT NULL;
CREATE INDEX drift_of_incident ON drift (incident) WHERE incident IS NOT NULL;
CREATE INDEX message_of_incident ON message (incident);
CREATE INDEX notice_of_incident ON notice (incident);
CREATE INDEX notice_of_message ON notice (message) WHERE message IS NOT NULL;
