"""Rows compared with others: who has the later one sends it, who has the earlier one asks for it (4.2.1).

This is gossip-pull, and where it is free both sides learn: the answer to a digest also names what its sender lacks.
"""

from collections.abc import Hashable, Sequence
from itertools import chain, repeat
from typing import Protocol

from msgspec import structs

from gossamer.core.draws import VIEWS, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.protocols.hpmcast.addresses import Address, distance
from gossamer.protocols.hpmcast.judging import AHEAD_US, cost, filters, is_sound
from gossamer.protocols.hpmcast.messages import (
    AGE_MS_MAX,
    MARKS_MAX,
    ROWS_MAX,
    LaterRows,
    RowDigest,
    RowMark,
    SubsystemRow,
)
from gossamer.protocols.hpmcast.tables import KnownRow, ViewTables
from gossamer.protocols.hpmcast.wanting import wanted
from gossamer.protocols.hpmcast.watching import NeighbourWatch

EXPECTED_MAX = 256
"Peers whose rows are listened to: they were asked."
EXPECTED_US = 5_000_000
REQUESTS_PER_S, REQUESTS_BURST = 50, 500
"Digests of one peer that are heard, and as many requests to join and questions."
READ_PER_S, READ_BURST = 200_000, 2_000_000
"Bytes of rows that are read for one peer, and as many are sent to it: a short question has a long answer."
TEXT_PER_S, TEXT_BURST = 20_000, 200_000
"Characters of filters that are read for one peer: reading takes longer than sending."
LIVELIER = 4
"A sign of life is told back if it is younger by this part of the time after which a subsystem is forgotten."
TELL_BYTES = 65_536
"Of rows in one message; the last one may exceed it."


class RowListener(Protocol):
    """Who is told what came of comparing."""

    def met(self, author: Peer) -> None:
        """Somebody speaks for one of our own subsystems, and is a stranger."""

    def learned(self, row: SubsystemRow) -> None:
        """A row was news."""


class Comparing:
    """One participant's."""

    def __init__(self, node: Stack, tables: ViewTables, watch: NeighbourWatch, listener: RowListener) -> None:
        self.node, self.tables, self.watch, self.listener = node, tables, watch, listener
        self.expected: dict[Peer, int] = {}
        "Whose rows are heard, and until when."
        self.open_until_us = 0
        "Until then everybody's are: we look for our place, and do not know who will answer."
        self.requests = Buckets(REQUESTS_PER_S, REQUESTS_BURST)
        self.reading = Buckets(READ_PER_S, READ_BURST)
        self.texts = Buckets(TEXT_PER_S, TEXT_BURST)
        self.telling = Buckets(READ_PER_S, READ_BURST)
        self.count = 0

    def fresh_key(self) -> int:
        """A key no other draw has; time tells a node's lives apart."""
        self.count += 1
        return self.node.key(VIEWS, fold(self.node.now_us, self.count))

    def expect(self, peer: Peer) -> None:
        self.expected.pop(peer, None)
        self.expected[peer] = self.node.now_us + EXPECTED_US
        if len(self.expected) > EXPECTED_MAX:
            del self.expected[next(iter(self.expected))]

    def heeds(self, peer: Peer, whose: Hashable) -> bool:
        """Whether one more request is heard."""
        if self.requests.take(whose, self.node.now_us):
            return True
        self.node.out.note("reject", peer=peer, detail="too many requests")
        return False

    # -- digests --------------------------------------------------------------------------------------------------

    def digest(self, near: int) -> RowDigest:
        """Which rows we have of the tables that somebody at this distance has too."""
        named = [known for known in self.tables.shared(near) if self.is_told(known)]
        whole = len(named) <= MARKS_MAX
        if not whole:
            named = [named[i] for i in distinct(self.fresh_key(), len(named), MARKS_MAX)]
        marks = [RowMark(each.row.about, each.row.author, each.row.stamp, self.age_ms(each)) for each in named]
        return RowDigest(self.tables.address, tuple(marks), whole, answer=True)

    def is_told(self, known: KnownRow) -> bool:
        """Nobody is told of neighbours there is doubt about: news of the dead would travel in circles. Nor of ourselves
        before we began."""
        if known is self.tables.own:
            return known.row.stamp > 0
        return len(known.row.about) < self.tables.levels or self.watch.is_sure(known.row.author)

    def age_ms(self, known: KnownRow) -> int:
        here = known is self.tables.own or (known.row.count and self.tables.is_mine(known.row))
        return 0 if here else min(AGE_MS_MAX, max(0, self.node.now_us - known.heard_us) // 1000)

    def on_digest(self, peer: Peer, digest: RowDigest) -> None:
        if not self.heeds(peer, peer):
            return
        self.watch.lives_at(peer, digest.address, self.node.now_us)
        self.watch.heard(peer, self.node.now_us)
        later: list[KnownRow] = []
        wanted: list[RowMark] = []
        named: dict[tuple[Address, Peer], None] = {}
        for mark in digest.marks:
            if self.tables.belongs(mark.about):
                known = self.tables.find(mark.about, mark.author)
                named[self.subject(mark)] = None
                if known is not None and (mark.stamp, mark.author) < known.row.rank:
                    later.append(known)
                elif self.is_wanted(mark):
                    wanted.append(RowMark(mark.about, mark.author, 0))
                elif known is not None and self.is_livelier(known, mark):
                    wanted.append(RowMark(mark.about, mark.author, mark.stamp, self.age_ms(known)))
                self.hear_age(known, mark)
        if digest.whole:
            shared = self.tables.shared(self.distance_to(digest.address))
            later += [known for known in shared if self.subject(known.row) not in named]
        self.tell(peer, [known for known in later if self.is_told(known)])
        if digest.answer and wanted:
            self.expect(peer)
            self.node.out.send([peer], RowDigest(self.tables.address, tuple(wanted), whole=False, answer=False))

    def subject(self, it: RowMark | SubsystemRow) -> tuple[Address, Peer]:
        """What all rows of one subsystem have in common."""
        return it.about, it.author if len(it.about) == self.tables.levels else 0

    def distance_to(self, address: Address) -> int:
        """How far somebody is; two that claim the same address are neighbours. Nothing is shared with who has none."""
        if len(address) != self.tables.levels or not self.tables.is_address(address):
            return self.tables.levels + 1
        return max(1, distance(self.tables.address, address))

    def is_wanted(self, mark: RowMark) -> bool:
        """Whether a row somebody has would be news, of somebody who may still be there."""
        now_us, age_us = self.node.now_us, mark.age_ms * 1000
        if not 0 < mark.stamp <= now_us + AHEAD_US or not self.tables.is_later(mark):
            return False
        if age_us > self.tables.upkeep.forget_on(self.tables.level_of(mark.about)):
            return False
        return len(mark.about) < self.tables.levels or self.watch.is_back(
            mark.author, mark.stamp, self.heard_at(mark.age_ms)
        )

    def is_livelier(self, known: KnownRow, mark: RowMark) -> bool:
        """Whether we heard of a subsystem so much later that the other may soon forget it."""
        gap_ms = self.tables.upkeep.forget_on(self.tables.level_of(mark.about)) // LIVELIER // 1000
        return bool(known.row.count) and self.age_ms(known) + gap_ms < mark.age_ms

    def hear_age(self, known: KnownRow | None, mark: RowMark) -> None:
        if known is not None and mark.stamp and known.row.count:
            known.heard_us = max(known.heard_us, self.heard_at(mark.age_ms))

    def heard_at(self, age_ms: int) -> int:
        """When others heard what they say is so old. Its way here counts, or news that many pass on would never age."""
        return self.node.now_us - age_ms * 1000 - self.tables.upkeep.hurry_every_us // 2

    # -- rows -----------------------------------------------------------------------------------------------------

    def tell(self, peer: Peer, told: Sequence[KnownRow]) -> None:
        """Sends rows, in messages that are not too long, as long as the peer has not had too many."""
        batch: list[KnownRow] = []
        size = 0
        for known in told:
            price = cost(known.row)
            if not self.telling.take(peer, self.node.now_us, price):
                self.node.out.note("reject", peer=peer, detail="too many requests")
                break
            batch.append(known)
            size += price
            if len(batch) == ROWS_MAX or size > TELL_BYTES:
                self._send(peer, batch)
                batch, size = [], 0
        if batch:
            self._send(peer, batch)

    def _send(self, peer: Peer, told: Sequence[KnownRow]) -> None:
        self.node.out.send([peer], LaterRows(tuple(each.row for each in told), tuple(map(self.age_ms, told))))

    def on_tell(self, peer: Peer, tell: LaterRows) -> None:
        now_us = self.node.now_us
        farewell = len(tell.rows) == 1 and tell.rows[0].author == peer and not tell.rows[0].count
        if now_us > max(self.expected.get(peer, -1), self.open_until_us) and not farewell:
            return  # nobody asked for it: it may be meant to fill our views
        self.watch.heard(peer, now_us)
        for row, age_ms in zip(tell.rows, chain(tell.ages_ms, repeat(0))):
            if not self.reading.take(peer, now_us, cost(row)):
                self.node.out.note("reject", peer=peer, detail="too many requests")
                return
            self.hear_row(peer, row, now_us if row.author == peer else self.heard_at(age_ms))

    def is_readable(self, peer: Peer, row: SubsystemRow) -> bool:
        """Whether its filters are some, as far as there is time to read them."""
        if not self.texts.take(peer, self.node.now_us, filters(row)):
            self.node.out.note("reject", peer=peer, detail="too many filters at once")
            return False
        if wanted(row.interest) is None:
            self.node.out.note("reject", peer=peer, detail="bad row")
            return False
        return True

    def hear_row(self, peer: Peer, row: SubsystemRow, heard_us: int) -> None:
        """Takes in what is sound, news, and not too old."""
        tables, now_us = self.tables, self.node.now_us
        lowest = len(row.about) == tables.levels
        if not tables.belongs(row.about) or not is_sound(row, tables, now_us):
            self.node.out.note("reject", peer=peer, detail="bad row")
        elif lowest and row.author == self.node.me:
            self.outlive(row)
        elif tables.is_later(row) and now_us - heard_us <= tables.upkeep.forget_on(tables.level_of(row.about)):
            if lowest and not self.watch.is_back(row.author, row.stamp, heard_us):
                return
            if tables.find(row.about, row.author) is None and not tables.has_room(row):
                self.node.out.note("reject", peer=peer, detail="too many rows")
                return
            if not self.is_readable(peer, row):
                return
            tables.take(row, heard_us)
            if lowest:
                if row.count:
                    self.watch.begin(row.author, now_us)
                else:
                    self.watch.forget(row.author)
            elif tables.is_mine(row) and row.count and row.author not in tables.peers():
                self.listener.met(row.author)
            self.listener.learned(row)

    def outlive(self, row: SubsystemRow) -> None:
        """Others know a later life of this node than this one: the clock was set back. This one is later."""
        own = self.tables.own.row
        if row.stamp >= own.stamp and structs.replace(row, seal=own.seal) != own:
            self.tables.say(own.interest, row.stamp + 1)
            self.listener.learned(self.tables.own.row)
