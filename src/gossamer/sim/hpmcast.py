"""Experiments on hpmcast with real machines, in synchronous steps: everybody gossips, then everybody hears.

Slow, and what the kernel is measured by: the same seed gives the same run, message by message.
"""

from collections.abc import Iterator, Sequence

from gossamer.core.draws import ANSWER, LOSS, ORDER, chance, draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import Fired, Publish, Received, Send, SetTimer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import event_id
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy as Topics
from gossamer.parts.seen import Seen
from gossamer.protocols.hpmcast.addresses import address_of
from gossamer.protocols.hpmcast.experiment.results import HierarchyResult, summed_up
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.levels import Gossiped, GossipStep, Levels, Views
from gossamer.protocols.hpmcast.messages import LevelGossip
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.rules import turn
from gossamer.protocols.hpmcast.static import FixedHierarchy, StaticViews
from gossamer.wire.codec import Codec

TOPIC = ".e"


def run(setting: HierarchySetting, seeds: Sequence[int]) -> list[HierarchyResult]:
    """One result per seed."""
    return [play(setting, seed).result() for seed in seeds]


def play(setting: HierarchySetting, seed: int, codec: Codec | None = None) -> "Lockstep":
    """One run; what is left when it is over. With a codec, every message passes through bytes."""
    world = Lockstep(setting, seed, codec)
    world.run()
    return world


class MatchCount:
    """How often patterns were compared with the event."""

    total = 0
    measuring = 0


class CountedLine:
    """A subsystem that is known to want the event or not; says how often it was asked."""

    def __init__(self, peers: Sequence[Peer], wanted: bool, matching: MatchCount) -> None:
        self.peers, self.wanted, self.matching = peers, wanted, matching

    def matches(self, event: Event) -> bool:
        self.matching.total += 1
        return self.wanted


class Counted(Levels):
    """Tells what is matched to find out how many want the event from what is matched for those picked."""

    def __init__(self, node: Stack, views: Views, params: Params, matching: MatchCount) -> None:
        super().__init__(node, views, params)
        self.matching = matching

    def measure(self, it: Gossiped) -> None:
        before = self.matching.total
        super().measure(it)
        self.matching.measuring += self.matching.total - before

    def reckon(self, it: Gossiped) -> None:
        before = self.matching.total
        super().reckon(it)
        self.matching.measuring += self.matching.total - before


class Lockstep:
    """Machines that take their steps together."""

    def __init__(self, setting: HierarchySetting, seed: int, codec: Codec | None = None) -> None:
        self.setting, self.seed, self.codec = setting, seed, codec
        places = setting.inhabited(seed)
        flat = setting.levels == 1
        addresses = [(i,) if flat else address_of(place, setting.branching) for i, place in enumerate(places)]
        everybody = range(len(addresses))
        self.publisher = setting.publishes(seed, len(addresses))
        self.wants = [setting.wants(seed, who, place) for who, place in enumerate(places)]
        self.down = [who != self.publisher and setting.is_down(seed, who) for who in everybody]
        self.matching = MatchCount()
        self.topics = Topics({})
        self.hierarchy = FixedHierarchy(addresses, setting.params.delegates, self._line)
        self.nodes = {who: self._node(who) for who in everybody if not self.down[who]}
        self.top = [self._top(who) for who in everybody]
        self.word = setting.word(self.publisher)
        self.has: dict[Peer, None] = {self.publisher: None}
        self.ticking: dict[Peer, None] = {}
        self.step = self.rounds = self.steps = 0
        self.sent = [0] * (setting.levels + 1)
        self.load = [0] * (setting.levels + 1)

    def _line(self, peers: Sequence[Peer], members: Sequence[Peer]) -> CountedLine:
        return CountedLine(peers, any(self.wants[who] for who in members), self.matching)

    def _node(self, me: Peer) -> Stack:
        node = Stack(me, self.seed, self.topics, Seen())
        layer = Counted(node, StaticViews(self.hierarchy, me), self.setting.params, self.matching)
        node.use(layer, members=None, contacts=None, links=None, spread=layer, outside=None, recover=None)
        if self.wants[me]:
            node.interest.subscribe(Pattern(TOPIC))
        return node

    def _top(self, who: Peer) -> int:
        """The highest level on which somebody stands in a view."""
        views = StaticViews(self.hierarchy, who)
        standing = [level for level in range(1, views.levels + 1)
                    if any(who in line.peers for line in views.lines(level))]  # fmt: skip
        return max(standing)

    def run(self) -> None:
        period = self.setting.params.step_us
        event = Event(event_id(self.publisher, 0), TOPIC)
        self._perform(self.publisher, self.nodes[self.publisher].step(Publish(event), 0), [])
        while self.ticking:
            self.step += 1
            acting, self.ticking = list(self.ticking), {}
            under_way: list[tuple[Peer, Peer, LevelGossip]] = []
            for who in acting:
                effects = self.nodes[who].step(Fired(GossipStep()), self.step * period)
                self.steps = self.step if any(type(each) is SetTimer for each in effects) else self.steps
                self._perform(who, effects, under_way)
            for sender, target, message in self._in_order(under_way):
                self._hear(sender, target, message)

    def _perform(self, who: Peer, effects: Sequence[object], under_way: list[tuple[Peer, Peer, LevelGossip]]) -> None:
        for effect in effects:
            if type(effect) is SetTimer:
                self.ticking[who] = None
            elif type(effect) is Send:
                assert isinstance(effect.message, LevelGossip)
                for target in effect.peers:
                    arrived = self._transmit(who, target, effect.message)
                    under_way += [(who, target, effect.message)] * arrived

    def _transmit(self, sender: Peer, target: Peer, message: LevelGossip) -> int:
        """Sends until it is answered, or often enough; says how often it arrived."""
        copy = turn(message.level, message.rounds)
        key, answer = (fold(fold(fold(fold(self.seed, why), self.word), sender), copy) for why in (LOSS, ANSWER))
        attempts = self.setting.attempts if message.level == self.setting.levels else 1
        arrived = 0
        for attempt in range(attempts):
            self.sent[message.level] += 1
            if self.down[target] or self._lost(key, attempt, target):
                continue
            arrived += 1
            self.load[self.top[target]] += 1
            if not self._lost(answer, attempt, target):
                break
        return arrived

    def _lost(self, key: int, attempt: int, target: Peer) -> bool:
        return bool(chance(fold(key, attempt) if attempt else key, target) >= 1.0 - self.setting.loss)

    def _in_order(self, under_way: list[tuple[Peer, Peer, LevelGossip]]) -> Iterator[tuple[Peer, Peer, LevelGossip]]:
        """Of several copies, a receiver hears the one with the largest draw first."""
        base = fold(fold(self.seed, ORDER), self.word)
        ordered = sorted(under_way, key=lambda it: (it[1], -draw(fold(base, it[1]), it[0])))
        yield from ordered

    def _hear(self, sender: Peer, target: Peer, message: LevelGossip) -> None:
        if self.codec is not None:
            message = self.codec.decode(self.codec.encode(message))  # type: ignore[assignment]
        if not self.nodes[target].knows(message.carried.event.id):
            self.has[target] = None
            self.rounds = self.step
        period = self.setting.params.step_us
        now_us = self.step * period + period // 2
        self._perform(target, self.nodes[target].step(Received(sender, message), now_us), [])

    def result(self) -> HierarchyResult:
        n = len(self.wants)
        counted = [who for who in range(n) if who != self.publisher and not self.down[who]]
        views = [StaticViews(self.hierarchy, who) for who in range(n)]
        sizes = [len(line.peers) for each in views for level in range(1, each.levels + 1) for line in each.lines(level)]
        return summed_up(
            {
                "seed": self.seed,
                "participants": n,
                "interested": sum(self.wants[who] for who in counted),
                "delivered": sum(self.wants[who] and who in self.has for who in counted),
                "uninterested": sum(not self.wants[who] for who in counted),
                "spurious_count": sum(not self.wants[who] and who in self.has for who in counted),
                "rounds": self.rounds,
                "steps": self.steps,
                "view_size": sum(sizes) / n,
                "matches": self.matching.measuring,
                "matches_picked": self.matching.total - self.matching.measuring,
                "sent": tuple(self.sent[1:]),
                "load": tuple(self.load[1:]),
                "ranks": tuple(self.top.count(level) for level in range(1, self.setting.levels + 1)),
            }
        )
