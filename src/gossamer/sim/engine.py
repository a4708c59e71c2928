"""Runs a setting on real machines, one per process, and counts from outside what the kernel counts in arrays."""

from bisect import bisect_right
from collections.abc import Sequence

from gossamer.core.draws import STILLBORN, distinct, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import Deliver, Effect, Given, Message, Note, Publish, Received, Subscribe
from gossamer.core.setting import Publication, Setting, event_id
from gossamer.core.tally import (
    ARRIVED,
    ARRIVED_UP,
    COLUMNS,
    LIVE,
    PARASITES,
    REACHED,
    ROUNDS_LAST,
    SENT_INTRA,
    SENT_UP,
)
from gossamer.parts.sampling import crashed
from gossamer.protocols import Protocol
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

ROUND_US = 1_000_000
"Virtual time of one synchronous round."

LOCKSTEP = Latency(median_us=ROUND_US)
SCRAMBLED = Latency(median_us=ROUND_US, shape="lognormal", spread=1.0)


class Layout:
    """Who is in which community."""

    def __init__(self, setting: Setting, climbs: bool) -> None:
        self.setting = setting
        self.climbs = climbs
        self.starts = setting.starts

    def community(self, peer: Peer) -> int:
        return bisect_right(self.starts, peer) - 1

    def arrives(self, sender: Peer, target: Peer) -> float:
        """The chance that a transmission arrives, dynamic failures of the target included."""
        home = self.setting.communities[self.community(sender)]
        inside = not self.climbs or target in home.members
        return (home.success if inside else home.success_up) * (1.0 - self.setting.faults.unreached)


class Counting(Watcher):
    """Fills a tally by watching: no machine counts anything itself."""

    def __init__(self, layout: Layout, wants: Sequence[bool]) -> None:
        self.layout = layout
        self.wants = wants
        self.rows = [[0] * len(COLUMNS) for _ in layout.setting.communities]
        self.delivered: dict[Peer, int] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        home, there = self.layout.community(sender), self.layout.community(target)
        self.rows[home][SENT_UP if self.layout.climbs and home != there else SENT_INTRA] += 1

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        there = self.layout.community(peer)
        if type(given) is Received:
            self.rows[there][ARRIVED] += 1
            home = self.layout.community(given.peer)
            if self.layout.climbs and home != there:
                self.rows[home][ARRIVED_UP] += 1
            if not self.wants[there]:
                self.rows[there][PARASITES] += 1
        for effect in effects:
            carried = type(effect) is Note and effect.kind in ("relay", "parasite") and effect.event is not None
            first = type(effect) is Deliver or carried
            if first:
                self.delivered[peer] = now_us // ROUND_US
                self.rows[there][REACHED] += 1
                self.rows[there][ROUNDS_LAST] = max(self.rows[there][ROUNDS_LAST], now_us // ROUND_US)


def stillborn(setting: Setting, seed: int) -> set[Peer]:
    """Exactly round(fraction × size) processes of each community, the same the kernel marks."""
    dead: set[Peer] = set()
    for index, community in enumerate(setting.communities):
        count = crashed(community.size, setting.faults.stillborn)
        key = fold(fold(seed, STILLBORN), index)
        dead.update(community.start + i for i in distinct(key, community.size, count))
    return dead


def spread(
    protocol: Protocol,
    setting: Setting,
    publication: Publication,
    seed: int,
    latency: Latency = LOCKSTEP,
    codec: Codec | None = None,
    watchers: Sequence[Watcher] = (),
) -> Counting:
    """One seeded run of one event, until nothing is left to happen."""
    static_node = protocol.static_node
    layout = Layout(setting, protocol.climbs)
    counting = Counting(layout, setting.interested(publication.home))
    network = Network(seed, latency, Independent(layout.arrives), by_event=True)
    world = World(lambda me: static_node(setting, me, seed), network, [counting, *watchers], codec)
    dead = stillborn(setting, seed)
    for row, community in zip(counting.rows, setting.communities, strict=True):
        alive = [peer for peer in community.members if peer not in dead]
        row[LIVE] = len(alive)
        subscribe = Subscribe(community.topic)
        for peer in alive:
            world.start(peer)
            world.give(peer, subscribe)
    home = setting.communities[publication.home]
    publisher = next((peer for peer in home.members if peer not in dead), None)
    if publisher is not None:
        event = Event(event_id(publisher, publication.sequence), home.topic, climb=publication.climb)
        world.give(publisher, Publish(event))
        world.run()
    return counting


def tallies(
    protocol: Protocol,
    setting: Setting,
    publication: Publication,
    seeds: Sequence[int],
    latency: Latency = LOCKSTEP,
    codec: Codec | None = None,
) -> list[list[list[int]]]:
    """One table per seed: a row per community, columns as in `core.tally`."""
    return [spread(protocol, setting, publication, seed, latency, codec).rows for seed in seeds]
