"""What catching up takes: time, messages and bytes, for each spread, in a simulated town.

`python -m benchmarks.catchup` prints the tables of docs/protocols/catchup.md, in virtual time: on any machine the same.
"""

from collections.abc import Callable, Iterable

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Contacted, Message
from gossamer.protocols.assemble import SpreadName
from gossamer.sim.live_towns import live_town
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher

SPREADS: tuple[SpreadName, ...] = ("camcast", "spidercast", "dispatch", "hpmcast")
NODES = 8
AT_MOST_S = 60.0


class Spoken(Watcher):
    """What was said about logs, events that were brought counted apart."""

    def __init__(self, town: Town) -> None:
        self.codec, self.messages, self.bytes, self.brought = town.world.codec, 0, 0, 0
        town.world.watch(self)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        kind = str(type(message).__struct_config__.tag)
        if kind == "catchup.brings":
            self.brought += 1
        elif kind.startswith("catchup."):
            assert self.codec is not None
            self.messages, self.bytes = self.messages + 1, self.bytes + len(self.codec.encode(message))


def settled(spread: SpreadName) -> Town:
    town = live_town(spread)
    for peer in range(NODES):
        town.start(peer, ".t")
    town.run(12)
    return town


def lacking(town: Town, peers: Iterable[Peer], events: Iterable[EventId]) -> int:
    there = [*peers]
    return sum(peer not in town.fate(each).got for each in events for peer in there)


def away(spread: SpreadName) -> tuple[Town, list[EventId], list[Peer]]:
    """One of eight leaves in good order, a hundred events are published, it returns."""
    town = settled(spread)
    town.leave(7)
    events = []
    for _ in range(100):
        events.append(town.publish(0, ".t"))
        town.run(0.01)
    town.run(5)
    town.restart(7, memory=True)
    return town, events, [7]


def parted(spread: SpreadName) -> tuple[Town, list[EventId], list[Peer]]:
    """Halves of four are parted for 15 s, 100 events/s on each side."""
    town = settled(spread)
    town.split([0, 1, 2, 3], [4, 5, 6, 7], noticed=True)
    events = []
    for _ in range(1500):
        events += [town.publish(0, ".t"), town.publish(4, ".t")]
        town.run(0.01)
    town.heal()
    for peer in town.up:  # a live node calls its seeds again
        town.world.give(peer, Contacted((0, 4)))
    return town, events, [*range(NODES)]


def caught_up(what: Callable[[SpreadName], tuple[Town, list[EventId], list[Peer]]], spread: SpreadName) -> str:
    town, events, peers = what(spread)
    lacked, spoken = lacking(town, peers, events), Spoken(town)
    took_s = town.seconds_until(lambda: not lacking(town, peers, events), AT_MOST_S)
    left = lacking(town, peers, events)
    return f"{left} of {lacked:,} | {took_s:.1f} s | {spoken.brought:,} | {spoken.bytes / 1024:.1f} KiB"


def at_rest(spread: SpreadName) -> str:
    town = settled(spread)
    for peer in range(4):
        for _ in range(25):
            town.publish(peer, ".t")
            town.run(0.01)
    town.run(20)
    spoken = Spoken(town)
    town.run(60)
    per_node_second = 60 * NODES
    return f"{spoken.bytes / per_node_second:.0f} B | {spoken.messages / per_node_second:.2f}"


def main() -> None:
    print("| Spread | What | missing still | after | events brought | said beside them |\n|---|---|---|---|---|---|")
    for name, what in (("100 events away", away), ("halves, 1,500 events each", parted)):
        for spread in SPREADS:
            print(f"| {spread} | {name} | {caught_up(what, spread)} |", flush=True)
    print("\n| Spread | at rest, per node and second | messages |\n|---|---|---|")
    for spread in SPREADS:
        print(f"| {spread} | {at_rest(spread)} |", flush=True)


if __name__ == "__main__":
    main()
