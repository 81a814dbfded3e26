"""The curriculum's tables."""

VERSION = 1
"""Raised whenever a table changes; another number in a file is an error."""

TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY,
    root_id TEXT NOT NULL,
    parent_id TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'trial', 'archived', 'rejected', 'null')),
    direction TEXT CHECK (direction IN ('harder', 'easier')),
    transform TEXT,
    reason TEXT,
    fingerprint TEXT NOT NULL,
    data TEXT NOT NULL,
    created_version INTEGER NOT NULL,
    recent_wins INTEGER NOT NULL DEFAULT 0,  -- over the window of latest episodes
    recent_n INTEGER NOT NULL DEFAULT 0,
    since_wins INTEGER NOT NULL DEFAULT 0,   -- since the task was last made active
    since_losses INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tasks_by_root ON tasks (root_id);

-- One row a root: which task of its lineage is served.
CREATE TABLE IF NOT EXISTS slots (
    root_id TEXT PRIMARY KEY,
    active_id TEXT NOT NULL,
    drawn INTEGER NOT NULL DEFAULT 0,
    rewrites INTEGER NOT NULL DEFAULT 0,    -- names the next rewrite of the lineage
    trials INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Every outcome that was reported, trials included: one row a group.
CREATE TABLE IF NOT EXISTS counts (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    policy_version INTEGER NOT NULL,
    wins INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    masked INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS counts_by_task ON counts (task_id, id);

-- Why steps of a group were voted down.
CREATE TABLE IF NOT EXISTS reasons (
    count_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    votes INTEGER NOT NULL,
    PRIMARY KEY (count_id, reason)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS trials (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('rewrite', 'restore', 'null')),
    root_id TEXT NOT NULL,
    old_id TEXT NOT NULL,
    new_id TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('harder', 'easier')),
    status TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'rejected')),
    trigger_accuracy REAL,
    opened_version INTEGER NOT NULL,
    issued_old INTEGER NOT NULL DEFAULT 0,
    issued_new INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS trials_by_status ON trials (status);

-- Outcomes of both sides of a trial under one policy version; closed ones are evidence.
CREATE TABLE IF NOT EXISTS blocks (
    trial_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    policy_version INTEGER NOT NULL,
    old_wins INTEGER NOT NULL,
    old_n INTEGER NOT NULL,
    new_wins INTEGER NOT NULL,
    new_n INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;

-- Everything that was decided, with the numbers it rests on.
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('proposed', 'refused', 'accepted', 'rejected',
    'rolled_back')), task_id TEXT NOT NULL, trial_id INTEGER, trial_kind TEXT, transform TEXT,
    reason TEXT NOT NULL, policy_version INTEGER NOT NULL, numbers TEXT NOT NULL
);
"""
