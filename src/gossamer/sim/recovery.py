"""Experiments on recovery with real machines: dispatchers on a given tree in the simulated world.

Slow, and what the kernel is measured by: the same seed gives the same run, message by message.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import Deliver, Effect, Given, Message, Missing, Note, Publish, Received
from gossamer.core.patterns import Pattern
from gossamer.core.setting import event_id
from gossamer.core.stack import Stack
from gossamer.parts.bursts import GilbertElliott
from gossamer.parts.tagging import Tagger
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.node import static_dispatcher
from gossamer.protocols.dispatch.static import fill
from gossamer.protocols.dispatch.table import Table
from gossamer.protocols.recovery.experiment.results import Result, summed_up
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import Edge, Reconfiguration, edges, happenings, neighbours
from gossamer.protocols.recovery.experiment.workload import Workload, workload
from gossamer.protocols.recovery.kernel.arrays import refuse_unknown
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Lost, Want
from gossamer.sim.network import Independent, Latency, Loss, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

TOPIC = ".e"
SENT = {
    Route: "event_hops",
    Digest: "digests",
    Lost: "lost_digests",
    Ask: "asks",
    Want: "requests",
    Again: "retransmissions",
}

ALONG_THE_TREE = (Route, Digest, Lost)


def run(setting: EpidemicSetting, seeds: Sequence[int]) -> list[Result]:
    """One result per seed."""
    return [result(setting, seed, play(setting, seed)) for seed in seeds]


def patterns(count: int) -> list[Pattern]:
    """What stands for the patterns of an experiment: an attribute each, numbered so that signatures ascend."""
    return sorted((Pattern(TOPIC, f"p{number}") for number in range(count)), key=lambda pattern: pattern.signature)


class Counting(Watcher):
    """Watches, and counts what the kernel counts: no machine counts anything itself."""

    def __init__(self, published: Workload, dispatchers: int) -> None:
        ids = zip(published.source.tolist(), published.sequence.tolist())
        self.rows = {event_id(who, number): row for row, (who, number) in enumerate(ids)}
        self.counts = dict.fromkeys((*SENT.values(), "useless", "recovered", "missed", "served_by_publisher"), 0)
        self.delivered: dict[tuple[Peer, int], None] = {}
        "Dispatchers, and rows of the workload."
        self.via = np.full((len(self.rows), dispatchers), -1, np.int16)
        self.latencies_us: list[int] = []
        self.served = [0] * dispatchers
        self.served_event = [0] * len(self.rows)

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        self.counts[SENT[type(message)]] += 1
        if type(message) is Again:
            self.served[sender] += 1
            if message.carried.event.id.publisher == sender:
                self.counts["served_by_publisher"] += 1
                self.served_event[self.rows[message.carried.event.id]] += 1

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        duplicate = False
        for effect in effects:
            if type(effect) is Deliver:
                self.delivered[peer, self.rows[effect.event.id]] = None
            elif type(effect) is Missing:
                self.counts["missed"] += effect.last - effect.first + 1
            elif type(effect) is Note:
                duplicate |= effect.kind == "duplicate"
                if effect.kind == "recover":
                    self.counts["recovered"] += 1
                    self.latencies_us += [] if effect.detail is None else [int(effect.detail)]
        if type(given) is Received:
            message = given.message
            if type(message) is Route and not duplicate:
                self.via[self.rows[message.carried.event.id], peer] = given.peer
            elif type(message) is Again:
                self.counts["useless"] += duplicate
        elif type(given) is Publish:
            self.via[self.rows[given.event.id], peer] = peer


class Lines(Network):
    """What goes along the tree needs its links; requests and retransmissions go straight, whatever becomes of these."""

    down: tuple[Edge, ...] = ()

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        down = self.down
        if down and type(message) in ALONG_THE_TREE and ((sender, target) in down or (target, sender) in down):
            self._key(sender, target, message)  # it counts as sent
            return []
        return super().transit(sender, target, message)


class Stage:
    """Dispatchers joined to their tree, and everything that is going to be published."""

    def __init__(self, setting: EpidemicSetting, seed: int, codec: Codec | None = None) -> None:
        refuse_unknown(setting.recovery)
        self.setting = setting
        self.published = workload(setting, seed)
        self.counting = Counting(self.published, setting.dispatchers)
        self.patterns = patterns(setting.patterns)
        self.taggers = [Tagger() for _ in range(setting.dispatchers)]
        latency = Latency(median_us=setting.latency_us)
        self.network = Lines(seed, latency, self._loss(seed), by_link=(Digest, Want, Lost, Ask), by_event=True)
        self.edges, self.happenings = edges(setting, seed), happenings(setting, seed)
        self.wanted = {who: [self.patterns[each] for each in mine] for who, mine in enumerate(setting.subscribed(seed))}
        tree = self.tree()
        self.world = World(
            lambda me: static_dispatcher(me, seed, tree, self.wanted, setting.recovery),
            self.network,
            [self.counting],
            codec,
        )

    def tree(self) -> dict[Peer, list[Peer]]:
        return dict(enumerate(neighbours(self.edges, self.setting.dispatchers)))

    def _loss(self, seed: int) -> Loss:
        if self.setting.burst > 1:
            worsens, improves = self.setting.bursts
            return GilbertElliott(seed, worsens=worsens, improves=improves)
        if self.setting.loss_period_s:
            return Independent(lambda sender, target: 1.0 - self.setting.loss_at(self.world.now_us))
        arrives = 1.0 - self.setting.loss
        return Independent(lambda sender, target: arrives)

    def play(self) -> Counting:
        for who in range(self.setting.dispatchers):
            self.world.start(who)
        for at_us, vanishes, change in self.happenings:
            self.world.at(at_us, partial(self.vanish if vanishes else self.appear, change))
        for row, at_us in enumerate(self.published.at_us.tolist()):
            self.world.at(at_us, partial(self.publish, row))
        self.world.run(self.setting.until_us)
        return self.counting

    def publish(self, row: int) -> None:
        who, number = int(self.published.source[row]), int(self.published.sequence[row])
        matched = {self.patterns[each].where: True for each in self.published.patterns[row].tolist() if each >= 0}
        signatures = sorted(self.world.machines[who].patterns(TOPIC, matched))
        now_us = self.world.now_us
        tags = self.taggers[who].tags(signatures, now_us)
        event = Event(event_id(who, number), TOPIC, attributes=dict(matched), published_us=now_us, tags=tags)
        self.world.give(who, Publish(event, join=False))

    def vanish(self, change: Reconfiguration) -> None:
        """Nothing passes a link any more; tables do not know yet."""
        self.network.down += (change.old,)

    def appear(self, change: Reconfiguration) -> None:
        """Another link takes its place, and all tables are right again."""
        self.network.down = tuple(edge for edge in self.network.down if edge != change.old)
        self.edges[self.edges.index(change.old)] = change.new
        tree = self.tree()
        for who in range(self.setting.dispatchers):
            self.refill(who, tree)

    def refill(self, who: Peer, tree: dict[Peer, list[Peer]]) -> None:
        node = self.world.machines[who]
        assert isinstance(node, Stack)
        assert isinstance(node.spread, Dispatch)
        dispatch = node.spread
        dispatch.table = dispatch.subscriptions.table = Table(node.interest)
        dispatch.subscriptions.tellings.clear()
        fill(dispatch, tree, self.wanted)


def play(setting: EpidemicSetting, seed: int, codec: Codec | None = None) -> Counting:
    """One run until its end, and what was seen of it."""
    return Stage(setting, seed, codec).play()


def result(setting: EpidemicSetting, seed: int, seen: Counting) -> Result:
    wanted = expected(setting, seed)
    counted = {
        "events": len(seen.rows),
        "expected": len(wanted),
        "delivered": sum(pair in seen.delivered for pair in wanted),
        **seen.counts,
        "expired": None,
        "served_max": max(seen.served),
        "served_event_max": max(seen.served_event, default=0),
    }
    return summed_up(setting, seed, counted, seen.latencies_us, seen.via)


def expected(setting: EpidemicSetting, seed: int) -> list[tuple[Peer, int]]:
    """Who should get which of the window's events."""
    published, subscribed = workload(setting, seed), setting.subscribed(seed)
    first_us, last_us = setting.window_us
    readers = [[who for who, mine in enumerate(subscribed) if each in mine] for each in range(setting.patterns)]
    return [
        (who, row)
        for row in np.nonzero((first_us <= published.at_us) & (published.at_us < last_us))[0].tolist()
        for who in dict.fromkeys(who for each in published.patterns[row].tolist() if each >= 0 for who in readers[each])
    ]
