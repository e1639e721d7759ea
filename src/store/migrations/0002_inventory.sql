-- The last good inventory: the text of each file in use, so that a start with a wrong file has one to go on with.
CREATE TABLE inventory_file (
    path   BLOB PRIMARY KEY, -- absolute; a path need not be text
    digest BLOB NOT NULL,    -- of the text
    size   INTEGER NOT NULL,
    body   BLOB NOT NULL,    -- zstd
    ids    TEXT NOT NULL,    -- of its targets, and those that they had before
    at     INTEGER NOT NULL
) STRICT;

-- The target that carries on its past, when the inventory says that it is another one now.
ALTER TABLE target ADD COLUMN became TEXT;
