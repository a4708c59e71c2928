"""A spool as version 1 wrote it, kept here word for word: what is out there does not change with the code."""

import sqlite3
from pathlib import Path

VERSION_1 = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE published (number INTEGER PRIMARY KEY, publisher INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    sequence INTEGER NOT NULL, topic TEXT NOT NULL, key TEXT, at_us INTEGER NOT NULL);
CREATE UNIQUE INDEX published_ids ON published (publisher, incarnation, sequence);
CREATE INDEX published_keys ON published (topic, key) WHERE key IS NOT NULL;
CREATE TABLE outbox (number INTEGER PRIMARY KEY, sealed BLOB NOT NULL);
CREATE TABLE events (place INTEGER PRIMARY KEY, publisher INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    sequence INTEGER NOT NULL, topic TEXT NOT NULL, hops INTEGER NOT NULL, at_us INTEGER NOT NULL,
    sealed BLOB NOT NULL);
CREATE UNIQUE INDEX event_ids ON events (publisher, incarnation, sequence);
CREATE TABLE cursors (name TEXT PRIMARY KEY, acked INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE records (number INTEGER PRIMARY KEY, peer INTEGER NOT NULL UNIQUE, data BLOB NOT NULL);

INSERT INTO facts VALUES ('incarnation', 4000), ('places', 3), ('floor', 1);
INSERT INTO published VALUES (1, 7, 4000, 1, '.soccer', 'goal-1', 86400000000000),
                             (2, 7, 4000, 2, '.soccer', NULL, 86400000000001);
INSERT INTO outbox VALUES (2, x'70756232');
INSERT INTO events VALUES (2, 8, 10, 5, '.soccer.italy', 2, 86400000000002, x'657632'),
                          (3, 8, 10, 6, '.tennis', 1, 86400000000003, x'657633');
INSERT INTO cursors VALUES ('billing', 2), ('audit', 9);
INSERT INTO records VALUES (1, 8, x'7265636f7264');
PRAGMA user_version = 1;
"""

BACK_TO_5 = """
DROP INDEX event_streams;
ALTER TABLE events DROP COLUMN ordinal;
DROP INDEX run_streams;
ALTER TABLE runs DROP COLUMN ordinal;
"""
"What version 6 brought."
BACK_TO_6 = "DROP TABLE subscriptions; DROP TABLE subscription_streams; DROP TABLE held;"
"What version 7 brought."


def write_version_1(folder: Path) -> None:
    db = sqlite3.connect(folder / "spool.sqlite")
    db.executescript(VERSION_1)
    db.close()
