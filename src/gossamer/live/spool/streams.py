"""The log by streams: one publisher's events of one exact topic in one life, counted by their ordinals.

Two logs are compared by what they hold of each stream, whatever places the events have in them.
"""

import heapq
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import NamedTuple

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic
from gossamer.live.spool.items import Delivered, Kept
from gossamer.live.spool.packs import Packs
from gossamer.wire.pack import opened, unpack
from gossamer.wire.proof import BATCH_MAX


class Stretch(NamedTuple):
    """Events of one stream, each ordinal one more than that before."""

    topic: Topic
    publisher: Peer
    incarnation: int
    first: int
    last: int


def stretches_of(delivered: Delivered) -> list[Stretch]:
    """What of which streams these are. An event without an ordinal is in none."""
    each_alone = [
        Stretch(each.topic, each.id.publisher, each.id.incarnation, each.ordinal, each.ordinal)
        if isinstance(each, Kept)
        else Stretch(
            *(each.topic, each.pack.publisher, each.pack.ids[0].incarnation),
            *(each.ordinal, each.ordinal + len(each.pack.ids) - 1),
        )
        for each in delivered
        if each.ordinal
    ]
    return merged(each_alone) if len(each_alone) > 1 else each_alone


def merged(some: Iterable[Stretch]) -> list[Stretch]:
    """Stretches that meet or overlap are one."""
    found: list[Stretch] = []
    for each in sorted(some):
        if found and found[-1][:3] == each[:3] and each.first <= found[-1].last + 1:
            found[-1] = found[-1]._replace(last=max(found[-1].last, each.last))
        else:
            found.append(each)
    return found


class Streams:
    """The tables `events` and `runs`, asked by ordinals."""

    def __init__(self, db: sqlite3.Connection, packs: Packs) -> None:
        self.db, self.packs = db, packs

    def held(self) -> list[Stretch]:
        """Everything there is."""
        return merged(Stretch(*row) for query in HELD for row in self.db.execute(query).fetchall())

    def between(self, after: int, up_to: int) -> list[Stretch]:
        """What stands in the places after one and up to another, and is not held there."""
        return merged(Stretch(*row) for query in BETWEEN for row in self.db.execute(query, (after, up_to)).fetchall())

    def read(self, wanted: Stretch, limit_bytes: int) -> list[bytes]:
        """The events of a stretch that are here, sealed with proofs of their own, by their ordinals: as many as fit,
        and one."""
        bodies: list[bytes] = []
        with closing(self._apart(wanted)) as apart, closing(self._together(wanted)) as together:
            for _, sealed in heapq.merge(apart, together):
                limit_bytes -= len(sealed)
                if bodies and limit_bytes < 0:
                    break
                bodies.append(sealed)
        return bodies

    def _apart(self, wanted: Stretch) -> Generator[tuple[int, bytes], None, None]:
        found = self.db.execute(APART, wanted)
        try:
            for ordinal, sequence, place, sealed in found:
                event_id = EventId(wanted.publisher, wanted.incarnation, sequence)
                if body := sealed or self.packs.alone(place, event_id):
                    yield ordinal, body
        finally:
            found.close()  # or it would stay open on an old state of the file

    def _together(self, wanted: Stretch) -> Generator[tuple[int, bytes], None, None]:
        topic, publisher, incarnation, first, last = wanted
        found = self.db.execute(TOGETHER, (topic, publisher, incarnation, first - BATCH_MAX, last))
        try:
            for low, content in found:
                for ordinal, (_, sealed) in enumerate(opened(unpack(content)[0]).values(), low):
                    if first <= ordinal <= last:
                        yield ordinal, sealed
        finally:
            found.close()


HELD = (
    """SELECT topic, publisher, incarnation, min(ordinal), max(ordinal) FROM
       (SELECT topic, publisher, incarnation, ordinal, ordinal - row_number() OVER
               (PARTITION BY topic, publisher, incarnation ORDER BY ordinal) AS island
        FROM events WHERE ordinal > 0)
       GROUP BY topic, publisher, incarnation, island""",
    "SELECT topic, publisher, incarnation, ordinal, ordinal + high - low FROM runs WHERE ordinal > 0",
)
NOT_HELD = "NOT IN (SELECT place FROM held)"
BETWEEN = (
    f"""SELECT topic, publisher, incarnation, ordinal, ordinal FROM events
        WHERE place > ? AND place <= ? AND ordinal > 0 AND place {NOT_HELD}""",
    f"""SELECT topic, publisher, incarnation, ordinal, ordinal + high - low FROM runs
        WHERE last > ? AND last <= ? AND ordinal > 0 AND last {NOT_HELD}""",
)
STREAM = "topic = ? AND publisher = ? AND incarnation = ? AND ordinal BETWEEN ? AND ? AND ordinal > 0 ORDER BY ordinal"
APART = f"SELECT ordinal, sequence, place, sealed FROM events WHERE {STREAM}"
TOGETHER = f"SELECT ordinal, content FROM runs WHERE {STREAM}"
