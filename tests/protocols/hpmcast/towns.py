"""Participants of a hierarchy that find each other, and a town of them in which some come, go and die."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols import CATALOGUE
from gossamer.protocols.hpmcast.addresses import Address, address_of, branch, view
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.sim.town import Town

EXCHANGE = replace(Recovery.live(), store=False, method="exchange", push_every_us=0, tail_after_us=0)


class HierarchyTown(Town):
    """`wanted` says what each subscribes to; a participant's number is its address."""

    def __init__(
        self,
        peers: Sequence[Peer],
        wanted: Callable[[Peer], Sequence[Pattern]],
        branching: Sequence[int] = (5, 4, 5),
        seed: int = 1,
        loss: float = 0.0,
        params: Params | None = None,
        upkeep: Upkeep | None = None,
        recovery: Recovery | None = None,
        told_of_failures: bool = False,
    ) -> None:
        super().__init__(self.make, CATALOGUE["hpmcast"].spoken, seed, loss=loss, told_of_failures=told_of_failures)
        self.wanted, self.branching = wanted, tuple(branching)
        self.params, self.upkeep, self.recovery = params or Params(), upkeep, recovery
        for peer in peers:
            self.come(peer)

    def make(self, me: Peer) -> Stack:
        return hpmcast_node(
            me, self.seed, self.address(me), self.branching, None, self.params, self.upkeep, self.recovery
        )

    def address(self, peer: Peer) -> Address:
        return address_of(peer, self.branching)

    def come(self, peer: Peer, contacts: Sequence[Peer] | None = None) -> None:
        self.start(peer, *self.wanted(peer), contacts=contacts, of=2)

    def hpmcast(self, peer: Peer) -> Hpmcast:
        spread = self.node(peer).spread
        assert isinstance(spread, Hpmcast)
        return spread

    # -- views --------------------------------------------------------------------------------------------------

    def views(self, peer: Peer) -> list[list[tuple[Address, list[Peer]]]]:
        """What a participant has in its tables, from level 1 up: subsystems, and who stands for each."""
        members = self.hpmcast(peer).members
        return [
            [(line.row.about, [*line.peers]) for line in members.lines(level)] for level in range(1, members.levels + 1)
        ]

    def should(self, peer: Peer) -> list[list[tuple[Address, list[Peer]]]]:
        """The same, read off all addresses there are."""
        everybody = {self.address(each): each for each in self.up}
        addresses, mine = sorted(everybody), self.address(peer)
        return [
            [
                (below, [everybody[each] for each in standing])
                for below, standing in view(addresses, branch(mine, level), level, self.params.delegates)
            ]
            for level in range(1, len(mine) + 1)
        ]

    def astray(self) -> list[Peer]:
        """Whose views are not what they should be."""
        return [peer for peer in self.up if self.views(peer) != self.should(peer)]

    def seconds_to_rest(self, at_most: float) -> float:
        began_us = self.world.now_us
        while self.astray():
            waited = (self.world.now_us - began_us) / SECOND_US
            assert waited < at_most, f"astray after {waited} s: {self.astray()}"
            self.run(0.5)
        return (self.world.now_us - began_us) / SECOND_US

    def relays(self) -> list[Peer]:
        """Who carried events for others, once for each."""
        return [peer for peers in self.chronicle.relays.values() for peer in peers]
