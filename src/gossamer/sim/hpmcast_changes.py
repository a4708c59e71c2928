"""How changes become known among living participants of a hierarchy, seen from outside: newcomers find their places,
failures leave one view after the other."""

from msgspec import msgpack

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Received, Send
from gossamer.core.stack import Stack
from gossamer.protocols.hpmcast.addresses import branch
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import PlaceRequest
from gossamer.sim.hpmcast_residents import Residents
from gossamer.sim.world import Watcher, World

JOINING_US = 2 * SECOND_US
"What requests for a place cause is counted for so long after a newcomer's start; later ones are greetings."
LOOK_US = SECOND_US // 10
"How often it is looked whether a failure is in any view."


def hpmcast_of(world: World, peer: Peer) -> Hpmcast:
    node = world.machines[peer]
    assert isinstance(node, Stack)
    assert isinstance(node.spread, Hpmcast)
    return node.spread


class Newcomer:
    """A newcomer on its way to its place."""

    def __init__(self, distance: int, began_us: int) -> None:
        self.distance, self.began_us = distance, began_us
        "How far its contact lives, and when it started."
        self.took_us: int | None = None
        "Until it knew its neighbours, and a delegate of every other subsystem in its views."
        self.messages = self.bytes = 0
        "Its requests, and what they made others send."


class Newcomers(Watcher):
    """All newcomers."""

    def __init__(self, world: World, residents: Residents) -> None:
        self.world, self.residents = world, residents
        self.found: dict[Peer, Newcomer] = {}

    def expect(self, peer: Peer, contact: Peer) -> None:
        """A participant that starts now, and knows one other."""
        self.found[peer] = Newcomer(self.residents.apart(peer, contact), self.world.now_us)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        asked = given.message.row.author if type(given) is Received and type(given.message) is PlaceRequest else peer
        newcomer = self.found.get(asked)
        if newcomer is None or now_us > newcomer.began_us + JOINING_US:
            return
        for effect in effects:
            if type(effect) is Send and (asked != peer or type(effect.message) is PlaceRequest):
                newcomer.messages += len(effect.peers)
                newcomer.bytes += len(effect.peers) * len(msgpack.encode(effect.message))
        if asked == peer and newcomer.took_us is None and self.knows_all(peer):
            newcomer.took_us = now_us - newcomer.began_us

    def knows_all(self, peer: Peer) -> bool:
        """Whether it has a line for every populated subsystem in its views, and on level 1 for every neighbour."""
        tables, mine = hpmcast_of(self.world, peer).members.tables, self.residents.addresses[peer]
        others = [self.residents.addresses[each] for each in self.world.up]
        return all(
            {branch(each, level - 1) for each in others if branch(each, level) == branch(mine, level)}
            <= {line.row.about for line in tables.lines(level)}
            for level in range(1, tables.levels + 1)
        )


class Failure:
    """A participant that crashed for good."""

    def __init__(self, at_us: int, rank: int) -> None:
        self.at_us = at_us
        self.left = dict.fromkeys(range(1, rank + 1))
        "Levels on which it still stands in somebody's view."
        self.gone_us: dict[int, int] = {}
        "After how long it stood in nobody's, by level."


class Failures:
    """All of them, looked for in everybody's views as long as they are in any."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: dict[Peer, Failure] = {}

    def crash(self, peer: Peer, rank: int) -> None:
        """It stood in views of the levels up to this one."""
        self.world.crash(peer)
        self.found[peer] = Failure(self.world.now_us, rank)
        self.world.at(self.world.now_us + LOOK_US, lambda: self.look(peer))

    def look(self, peer: Peer) -> None:
        failure = self.found[peer]
        tables = [hpmcast_of(self.world, each).members.tables for each in self.world.up]
        for level in [*failure.left]:
            if not any(peer in line.peers for each in tables for line in each.lines(level)):
                failure.gone_us[level] = self.world.now_us - failure.at_us
                del failure.left[level]
        if failure.left:
            self.world.at(self.world.now_us + LOOK_US, lambda: self.look(peer))
