"""An all-knowing eye on a town: what every view should say, worked out from who is up and what everybody wants."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Effect, Given
from gossamer.core.stack import Stack
from gossamer.protocols.hpmcast.addresses import Address, branch
from gossamer.protocols.hpmcast.condensing import condensed
from gossamer.protocols.hpmcast.electing import covering, elected
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import Seat, SubsystemRow
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.hpmcast.wanting import Interest, wanted
from protocols.hpmcast.towns import HierarchyTown

CAPACITIES = 3
"Each participant says it can bear its number modulo this."
Line = tuple[Address, tuple[Peer, ...], Interest, int]
"About, delegates, interest, count."


class Sky(HierarchyTown):
    """A town that is seen from above, where clocks may be wrong and participants live where `places` says."""

    skews: dict[Peer, int]
    places: dict[Peer, Address]

    def make(self, me: Peer) -> Stack:
        node, skew_us = super().make(me), self.skews.get(me, 0)
        assert isinstance(node.spread, Hpmcast)
        tables, step = node.spread.members.tables, node.step
        tables.upkeep = replace(tables.upkeep, capacity=me % CAPACITIES)

        def late(given: Given, now_us: int) -> list[Effect]:
            return step(given, now_us + skew_us)

        node.step = late  # type: ignore[method-assign]
        return node

    def __init__(self, peers: Sequence[Peer], *args: object, **settings: object) -> None:
        self.skews, self.places = {}, {}
        super().__init__(peers, *args, **settings)  # type: ignore[arg-type]

    def address(self, peer: Peer) -> Address:
        return self.places.get(peer) or super().address(peer)

    def asked(self, peer: Peer) -> Interest:
        return tuple(sorted(self.node(peer).interest.patterns))

    # -- what should be -----------------------------------------------------------------------------------------

    def heaven(self) -> dict[Address, SubsystemRow]:
        """The row of every populated subsystem, and, by address and number, of everybody."""
        depth = len(self.branching)
        rows: dict[Address, SubsystemRow] = {}
        lowest: dict[Address, SubsystemRow] = {}
        for peer in self.world.up:
            seat = Seat(self.address(peer), peer, peer % CAPACITIES)
            lowest[(*seat.address, peer)] = SubsystemRow(seat.address, peer, 0, (seat,), self.asked(peer), 1)
        rows.update(lowest)
        below = lowest
        for level in range(2, depth + 1):
            grouped: dict[Address, list[SubsystemRow]] = {}
            for key in sorted(below):
                grouped.setdefault(branch(below[key].about, 1) if level > 2 else key[: depth - 1], []).append(
                    below[key]
                )
            below = {about: self.summed(about, lines, level) for about, lines in grouped.items()}
            rows.update(below)
        return rows

    def summed(self, about: Address, lines: list[SubsystemRow], level: int) -> SubsystemRow:
        upkeep, hierarchy = self.upkeep or Upkeep(), self.node(next(iter(self.world.up))).hierarchy
        candidates: list[Sequence[Seat]] = [row.delegates for row in lines]
        if level == 2 and upkeep.choice == "coverage":
            read = [(row.delegates[0], each) for row in lines if (each := wanted(row.interest)) is not None]
            candidates = [covering(read, self.params.delegates, hierarchy)]
        interest = condensed([row.interest for row in lines], upkeep.grade(level), upkeep.interest_size, hierarchy)
        seats = elected(candidates, self.params.delegates, upkeep.choice)
        return SubsystemRow(about, seats[0].peer, 0, seats, interest, sum(row.count for row in lines))

    def unlike(self) -> list[tuple[Peer, int, list[Line], list[Line]]]:
        """Who sees on which level what, and what it should see."""
        heaven, depth = self.heaven(), len(self.branching)
        wrong = []
        for peer in self.world.up:
            mine = self.address(peer)
            for level in range(1, depth + 1):
                size = depth - level + 1 + (level == 1)
                keys = sorted(
                    key for key in heaven if len(key) == size and key[: depth - level] == mine[: depth - level]
                )
                should = [line_of(heaven[key]) for key in keys]
                lines = [line_of(known.row) for known in self.hpmcast(peer).members.lines(level)]
                if lines != should:
                    wrong.append((peer, level, lines, should))
        return wrong

    def seconds_to_calm(self, at_most: float) -> float:
        """Until all is as it should be, for a second."""
        began_us = self.world.now_us
        while wrong := self.unlike():
            waited = (self.world.now_us - began_us) / SECOND_US
            assert waited < at_most, (self.seed, self.world.now_us, wrong[0], len(wrong))
            self.run(1)
        return (self.world.now_us - began_us) / SECOND_US

    # -- events -------------------------------------------------------------------------------------------------

    def undelivered(self, topics: Sequence[str]) -> list[tuple[EventId, list[Peer], list[Peer]]]:
        """Somebody publishes on every topic. Events, with who did not get it, and who should not have carried it."""
        up = self.up
        ids = [
            self.publish(up[(number * 6 + x) % len(up)], topic, {"x": x, "y": x % 3})
            for number, topic in enumerate(topics)
            for x in range(6)
        ]
        self.run(12)
        wrong = []
        for each in ids:
            missed = [peer for peer, _ in self.missing(each)]
            carried = self.chronicle.relays.get(each, [])
            strange = [peer for peer in carried if not self.hpmcast(peer).members.tables.stands(2)]
            if missed or strange:
                wrong.append((each, missed, strange))
        return wrong


def line_of(row: SubsystemRow) -> Line:
    return row.about, tuple(seat.peer for seat in row.delegates), row.interest, row.count
