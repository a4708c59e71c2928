"""Durable subscriptions on disk: what each is, how far it has come, and what it is done with of each stream.

There are few of them, so all rows are in memory too, as they will be after the next commit: retention asks them which
events are still needed, and what could not be written (a full disk) is tried again with the next commit.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from gossamer.core.errors import Misuse
from gossamer.core.topics import Topic
from gossamer.live.spool.events import is_wanted
from gossamer.live.spool.progress import Progress, Save, StreamRanges

SUBSCRIPTIONS_MAX = 1000
"Durable subscriptions of one node."
OWNED_MAX = 100
"Those of one owner, but for the node itself."
GONE_MAX = 2**62
"Lost events of one that are counted: a publisher says itself how many it published, and the sum must fit its column."
OWNED_LETTERS = 65_536
"Letters of their filters: every one takes a hundred bytes or more of memory."

Key: TypeAlias = tuple[str, str]
"Owner and name."


class SubscriptionRow(NamedTuple):
    """A durable subscription."""

    owner: str
    name: str
    topic: Topic
    where: str
    ordered: bool
    recover: bool
    subtrees: tuple[Topic, ...]
    "What its topic includes: the topic itself, and others that were given it as a super-topic."
    since_us: int
    "When it began."
    used_us: int
    "When somebody last read it, acknowledged, or left."
    progress: Progress
    began: int = 0
    "It was opened with a bookmark: of places up to this one it wants nothing that was published before it began."
    gone: int = 0
    "How many of its events retention took, ever."
    idle_us: int = 0
    "For how long its node ran and nobody read it: it is forgotten by this, not by the calendar."

    @property
    def key(self) -> Key:
        return self.owner, self.name

    def needs(self, first: int, last: int, topic: Topic) -> int:
        """How many of these places hold something for it that it is not done with, as far as topics tell."""
        if last <= self.progress.acked or not is_wanted(topic, self.subtrees):
            return 0
        first = max(first, self.progress.acked + 1)
        done = sum(max(0, min(high, last) - max(low, first) + 1) for low, high in self.progress.beyond)
        return last - first + 1 - done


class SubscriptionTable:
    """The tables `subscriptions` and `subscription_streams`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.rows = {row.key: row for row in map(_row, db.execute(SELECT).fetchall())}
        self._changed: dict[Key, None] = {}
        self._deleted: dict[Key, None] = {}
        self._streams: dict[tuple[Key, int, int, Topic], StreamRanges] = {}
        self.moved = False
        "Whether something may no longer be needed since this was last looked at."

    def __bool__(self) -> bool:
        """Whether something was left for the next commit."""
        return bool(self._changed or self._deleted)

    # -- changes, in memory -------------------------------------------------------------------------------------

    def open(self, wish: SubscriptionRow, streams: Sequence[StreamRanges] = (), own: bool = False) -> SubscriptionRow:
        """The subscription as it is, or a new one: then it begins where it wishes to, or, if a version without owners
        has left a cursor of that name, there."""
        row = self.rows.get(wish.key)
        if row is None:
            self._check_room(wish, own)
            row = wish if (old := self._cursor(wish.name)) is None else wish._replace(progress=old)
        elif (row.topic, row.where) != (wish.topic, wish.where):
            raise Misuse(
                f"the subscription {wish.name!r} is to {described(row.topic, row.where)}, not to "
                f"{described(wish.topic, wish.where)}: choose another name, or delete it first"
            )
        self._put(row._replace(ordered=wish.ordered, recover=wish.recover, used_us=wish.used_us, idle_us=0))
        self._note_streams(row.key, streams)
        return self.rows[wish.key]

    def _check_room(self, wish: SubscriptionRow, own: bool) -> None:
        owner = wish.owner
        owned = sum(each == owner for each, _ in self.rows)
        letters = sum(len(row.where) for row in self.rows.values() if row.owner == owner) + len(wish.where)
        if letters > OWNED_LETTERS and not own:
            raise Misuse(
                f"the filters of {owner}'s durable subscriptions come to {letters} letters, and may come to "
                f"{OWNED_LETTERS}: delete some, or filter by less"
            )
        if len(self.rows) >= SUBSCRIPTIONS_MAX or (owned >= OWNED_MAX and not own):
            raise Misuse(
                f"there are {len(self.rows)} durable subscriptions, {owned} of them of {owner}, and at most "
                f"{SUBSCRIPTIONS_MAX} and {OWNED_MAX} may be: delete some"
            )

    def _cursor(self, name: str) -> Progress | None:
        row = self.db.execute("SELECT acked, offered FROM cursors WHERE name = ?", (name,)).fetchone()
        return None if row is None else Progress(row[0], (), row[1])

    def save(self, key: Key, save: Save, used_us: int) -> None:
        """How far it has come; a subscription that was deleted meanwhile stays deleted."""
        if (row := self.rows.get(key)) is not None:
            self._put(row._replace(progress=save.progress, used_us=used_us, idle_us=0))
            self._note_streams(key, save.streams)

    def lose(self, key: Key, events: int) -> None:
        """Retention took events from it."""
        row = self.rows[key]
        self._put(row._replace(gone=min(GONE_MAX, row.gone + events)))

    def idle(self, key: Key, idle_us: int) -> None:
        """Nobody has read it for so long."""
        if (row := self.rows.get(key)) is not None:
            self._put(row._replace(idle_us=idle_us))

    def delete(self, key: Key) -> bool:
        if self.rows.pop(key, None) is None:
            return False
        self._changed.pop(key, None)
        self._deleted[key] = None
        self._streams = {each: ranges for each, ranges in self._streams.items() if each[0] != key}
        self.moved = True
        return True

    def _put(self, row: SubscriptionRow) -> None:
        self.rows[row.key] = row
        self._changed[row.key] = None
        self.moved = True

    def _note_streams(self, key: Key, streams: Iterable[StreamRanges]) -> None:
        for each in streams:
            self._streams[key, each.publisher, each.incarnation, each.topic] = each

    # -- the disk -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Inside a transaction; `clear` once that is committed."""
        for key in self._deleted:
            self.db.execute("DELETE FROM subscriptions WHERE owner = ? AND name = ?", key)
            self.db.execute("DELETE FROM subscription_streams WHERE owner = ? AND name = ?", key)
        for key in self._changed:
            self.db.execute(INSERT, _values(self.rows[key]))
        for (key, *stream), each in self._streams.items():
            if each.ranges:
                values = (*key, *stream, msgspec.msgpack.encode(each.ranges))
                self.db.execute("INSERT OR REPLACE INTO subscription_streams VALUES (?, ?, ?, ?, ?, ?)", values)
            else:
                self.db.execute(FORGET_STREAM, (*key, *stream))

    def clear(self) -> None:
        self._changed, self._deleted, self._streams = {}, {}, {}

    def streams(self, key: Key) -> list[StreamRanges]:
        """What a subscription is done with, as far as that was written."""
        found = self.db.execute(STREAMS, key).fetchall()
        return [StreamRanges(publisher, life, topic, _ranges.decode(said)) for publisher, life, topic, said in found]

    def needing(self, first: int, last: int, topic: Topic) -> list[tuple[Key, int]]:
        """Who still needs something in these places, and how much of it."""
        found = [(key, row.needs(first, last, topic)) for key, row in self.rows.items()]
        return [(key, events) for key, events in found if events]


def described(topic: Topic, where: str) -> str:
    return f"{topic} where {where}" if where else topic


_ranges = msgspec.msgpack.Decoder(tuple[tuple[int, int], ...])
_topics = msgspec.msgpack.Decoder(tuple[str, ...])


def _row(found: tuple[object, ...]) -> SubscriptionRow:
    owner, name, topic, where, ordered, recover, subtrees, since_us, used_us, *rest = found
    acked, beyond, offered, told, began, gone, idle_us = rest
    progress = Progress(acked, _ranges.decode(beyond), offered, told)  # type: ignore[arg-type]
    return SubscriptionRow(
        *(owner, name, topic, where, bool(ordered), bool(recover)),  # type: ignore[arg-type]
        *(_topics.decode(subtrees), since_us, used_us, progress, began, gone, idle_us),  # type: ignore[arg-type]
    )


def _values(row: SubscriptionRow) -> tuple[object, ...]:
    encode, progress = msgspec.msgpack.encode, row.progress
    return (
        *(row.owner, row.name, row.topic, row.where, row.ordered, row.recover, encode(row.subtrees)),
        *(row.since_us, row.used_us, progress.acked, encode(progress.beyond), progress.offered, progress.told),
        *(row.began, row.gone, row.idle_us),
    )


COLUMNS = """owner, name, topic, filter, ordered, recover, subtrees, since_us, used_us,
             acked, beyond, offered, told, began, gone, idle_us"""
SELECT = f"SELECT {COLUMNS} FROM subscriptions ORDER BY owner, name"
INSERT = f"INSERT OR REPLACE INTO subscriptions ({COLUMNS}) VALUES ({', '.join('?' * 16)})"
STREAMS = "SELECT publisher, incarnation, topic, ranges FROM subscription_streams WHERE owner = ? AND name = ?"
FORGET_STREAM = """DELETE FROM subscription_streams
                   WHERE owner = ? AND name = ? AND publisher = ? AND incarnation = ? AND topic = ?"""
