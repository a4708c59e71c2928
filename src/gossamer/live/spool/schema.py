"""The tables, their version, and the way from an older version to this one.

Version 2 notes how far a named subscription was offered events, and which events were lost to overload or a full disk.
Version 3 keeps packs: events that came together share their bytes. Version 4 keeps those delivered whole in one row,
version 5 those published together. Version 6 finds events by their ordinals. Version 7 knows durable subscriptions by
their owners; a cursor of a name alone stays where it was, and a subscription of that name, whoever's, begins there.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from gossamer.core.errors import Misuse, SpecError
from gossamer.live.spool.faults import damaged
from gossamer.live.spool.numbering import number_events

Durability: TypeAlias = Literal["process", "disk"]

VERSION = 7
FILE = "spool.sqlite"
SYNCHRONOUS = {"process": "NORMAL", "disk": "FULL"}
"What every commit waits for: that the system has it, or that the disk has it."
CHECKED_BYTES = 64 << 20
"A file up to this size is read through for damage when it is opened; in a larger one damage shows when it is met."
WAL_PAGES = 2000
"After so many pages (of 4 KiB) the log is copied into the file and begins anew: nobody else reads, so that it can."
WAL_BYTES = 16 << 20
"What the log is cut back to after a transaction that was larger than that."

LOST = "CREATE TABLE lost (first INTEGER NOT NULL, last INTEGER NOT NULL, topic TEXT NOT NULL, events INTEGER NOT NULL)"
PACKS = "CREATE TABLE packs (last INTEGER PRIMARY KEY, content BLOB NOT NULL)"
RUNS = """CREATE TABLE runs (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, publisher INTEGER NOT NULL,
       incarnation INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, topic TEXT NOT NULL,
       hops INTEGER NOT NULL, at_us INTEGER NOT NULL, content BLOB NOT NULL)"""
RUN_IDS = "CREATE INDEX run_ids ON runs (publisher, incarnation, high, low)"
ORDINALS = (
    # Behind the bodies, which nobody steps over to read them: the indices have them too.
    "ALTER TABLE events ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX event_streams ON events (topic, publisher, incarnation, ordinal) WHERE ordinal > 0",
    "ALTER TABLE runs ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX run_streams ON runs (topic, publisher, incarnation, ordinal, low, high) WHERE ordinal > 0",
)
SUBSCRIPTIONS = (
    # What is done with beyond `acked`, as ranges of places; `told`: how many of the `gone` the reader knows of.
    """CREATE TABLE subscriptions (owner TEXT NOT NULL, name TEXT NOT NULL, topic TEXT NOT NULL, filter TEXT NOT NULL,
       ordered INTEGER NOT NULL, recover INTEGER NOT NULL, subtrees BLOB NOT NULL, since_us INTEGER NOT NULL,
       used_us INTEGER NOT NULL, acked INTEGER NOT NULL, beyond BLOB NOT NULL, offered INTEGER NOT NULL,
       told INTEGER NOT NULL, began INTEGER NOT NULL, gone INTEGER NOT NULL, idle_us INTEGER NOT NULL,
       PRIMARY KEY (owner, name)) WITHOUT ROWID""",
    """CREATE TABLE subscription_streams (owner TEXT NOT NULL, name TEXT NOT NULL, publisher INTEGER NOT NULL,
       incarnation INTEGER NOT NULL, topic TEXT NOT NULL, ranges BLOB NOT NULL,
       PRIMARY KEY (owner, name, publisher, incarnation, topic)) WITHOUT ROWID""",
    # Events up to the floor that are kept because a subscription needs them: the last place of each row.
    """CREATE TABLE held (place INTEGER PRIMARY KEY, first INTEGER NOT NULL, topic TEXT NOT NULL,
       bytes INTEGER NOT NULL)""",
)
TABLES = (
    # Single numbers: incarnation, places (up to where they may have been given out), floor (up to where pruned).
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    # Every publication within retention, and the bodies of those that still wait. One accepted in a pack has so many
    # more behind it, without rows of their own.
    """CREATE TABLE published (number INTEGER PRIMARY KEY, publisher INTEGER NOT NULL, incarnation INTEGER NOT NULL,
       sequence INTEGER NOT NULL, topic TEXT NOT NULL, key TEXT, at_us INTEGER NOT NULL,
       more INTEGER NOT NULL DEFAULT 0)""",
    "CREATE UNIQUE INDEX published_ids ON published (publisher, incarnation, sequence)",
    "CREATE INDEX published_keys ON published (topic, key) WHERE key IS NOT NULL",
    "CREATE TABLE outbox (number INTEGER PRIMARY KEY, sealed BLOB NOT NULL)",
    # Delivered events; the body comes last, so that a reader of other topics does not touch it. It is empty where the
    # event came in a pack: that one stands under the last place of any of its events.
    """CREATE TABLE events (place INTEGER PRIMARY KEY, publisher INTEGER NOT NULL, incarnation INTEGER NOT NULL,
       sequence INTEGER NOT NULL, topic TEXT NOT NULL, hops INTEGER NOT NULL, at_us INTEGER NOT NULL,
       sealed BLOB NOT NULL)""",
    "CREATE UNIQUE INDEX event_ids ON events (publisher, incarnation, sequence)",
    PACKS,
    # Packs delivered whole: the events of these places, of these sequences.
    RUNS,
    RUN_IDS,
    LOST,
    "CREATE TABLE cursors (name TEXT PRIMARY KEY, acked INTEGER NOT NULL, offered INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE records (number INTEGER PRIMARY KEY, peer INTEGER NOT NULL UNIQUE, data BLOB NOT NULL)",
    *ORDINALS,
    *SUBSCRIPTIONS,
)

STEPS: dict[int, tuple[str | Callable[[sqlite3.Connection], None], ...]] = {
    1: (
        LOST,
        "ALTER TABLE cursors ADD COLUMN offered INTEGER NOT NULL DEFAULT 0",
        # Version 1 did not say what had been given to the reader: any of it may have been.
        "UPDATE cursors SET offered = max(acked, ifnull((SELECT max(place) FROM events), 0))",
    ),
    2: (PACKS,),
    3: (RUNS, RUN_IDS),
    4: (
        "ALTER TABLE published ADD COLUMN more INTEGER NOT NULL DEFAULT 0",
        # Packs are signed and written in another way since, and no release wrote those.
        "DELETE FROM runs",
        "DELETE FROM packs",
        "DELETE FROM events WHERE sealed = x''",
    ),
    5: (*ORDINALS, number_events),
    6: SUBSCRIPTIONS,
}
"From each older version to the next."


def connect(folder: Path | None) -> sqlite3.Connection:
    """The spool's file, checked and brought to this version; None: in memory."""
    file = ":memory:" if folder is None else str(folder / FILE)
    if sqlite3.sqlite_version_info < (3, 32):
        raise Misuse(f"the spool needs SQLite 3.32, and this Python has {sqlite3.sqlite_version}: take a newer Python")
    if folder is not None:
        (folder / FILE).touch(0o600)  # events are for members only, and so is their file; the log takes its mode over
    db = sqlite3.connect(file, isolation_level=None, cached_statements=256)
    try:
        version = _version(db, file)
        _prepare(db)
        _check(db, file)
        _bring_up(db, version)
    except BaseException:
        db.close()
        raise
    return db


def _version(db: sqlite3.Connection, file: str) -> int:
    """Of the tables; 0: there are none yet. Another program's file, or a later one's, is not touched."""
    version = number(db, "PRAGMA user_version")
    if version > VERSION:
        raise SpecError(
            f"the spool {file} was written by a newer Gossamer (its version is {version}, this one reads up to "
            f"{VERSION}): update this node, or give it another folder"
        )
    if version == 0 and number(db, "SELECT count(*) FROM sqlite_master"):
        raise SpecError(f"{file} is a database, but not a spool: move it away, or give the node another folder")
    return version


def _prepare(db: sqlite3.Connection) -> None:
    for pragma in (
        "locking_mode = EXCLUSIVE",  # no other reader, so the log needs no shared memory and never holds pages back
        "journal_mode = WAL",
        "synchronous = FULL",
        "fullfsync = ON",
        f"wal_autocheckpoint = {WAL_PAGES}",
        f"journal_size_limit = {WAL_BYTES}",
        "cache_size = -8192",
        "temp_store = MEMORY",
        "secure_delete = FAST",
        "trusted_schema = OFF",
    ):
        db.execute(f"PRAGMA {pragma}").fetchall()


def _check(db: sqlite3.Connection, file: str) -> None:
    if number(db, "PRAGMA page_count") * number(db, "PRAGMA page_size") <= CHECKED_BYTES:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise damaged(file, " ".join(str(found).split()))


def _bring_up(db: sqlite3.Connection, version: int) -> None:
    with transaction(db):
        for older in range(version or VERSION, VERSION):
            for step in STEPS[older]:
                db.execute(step) if isinstance(step, str) else step(db)
        for statement in () if version else TABLES:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")


def number(db: sqlite3.Connection, query: str, *values: object) -> int:
    """The single number a query answers with; 0 for none."""
    row = db.execute(query, values).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


@contextmanager
def transaction(db: sqlite3.Connection, undone: Callable[[], None] = lambda: None) -> Iterator[None]:
    """All of it or nothing; then memory is told too."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with suppress(sqlite3.Error):  # what made the work fail is told, not what made its undoing fail
                db.execute("ROLLBACK")
        undone()
        raise
