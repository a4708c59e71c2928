"""An event that matches more patterns than fit into its tags, or nearly: whoever wants it gets it, lost or not."""

from collections.abc import Callable, Sequence

import pytest

from composing import use
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Effect, Given, Message, Missing, Publish, Subscribe
from gossamer.core.patterns import UNCOUNTED, Pattern, Tag
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.parts.tagging import Tagger
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.node import static_dispatcher
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.flood.messages import Pass
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Method, Params
from gossamer.sim.checked import checked
from gossamer.sim.chronicle import Chronicle
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import World

METHODS: tuple[Method, ...] = ("push", "subscriber-pull", "publisher-pull", "combined")
PUBLISHER: Peer = 0
TOPIC = ".e"
LONG = 60 * SECOND_US


class Losing(Network):
    """The first event arrives nowhere, however often it is spread; or the first few."""

    lost = 1

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        spread = type(message) in (Route, Pass)
        lost = spread and message.carried.event.id.sequence <= self.lost  # type: ignore[attr-defined]
        return [] if lost else super().transit(sender, target, message)


class Seeing(Chronicle):
    """Everybody wants everything here."""

    def __init__(self, world: World) -> None:
        super().__init__(world, lambda peer, event: True)
        self.uncounted: dict[Peer, list[Pattern]] = {}

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        super().stepped(peer, given, effects, now_us)
        for effect in effects:
            if type(effect) is Missing and not effect.counted:
                self.uncounted.setdefault(peer, []).append(effect.pattern)


class Audience:
    """A publisher, and readers of its events."""

    def __init__(self, make: Callable[[Peer], Stack], peers: Sequence[Peer], readers: Sequence[Peer]) -> None:
        self.world = World(make, Losing(1, Latency()))
        self.seeing, self.tagger, self.readers = Seeing(self.world), Tagger(), readers
        checked(self.world, self.seeing)
        for who in peers:
            self.world.start(who)
        self.world.run(SECOND_US)

    def publish(self, sequence: int, attributes: dict[str, Attribute]) -> tuple[Tag, ...]:
        now_us, node = self.world.now_us, self.world.machines[PUBLISHER]
        tags = self.tagger.tags(node.patterns(TOPIC, attributes), now_us)
        event = Event(
            EventId(PUBLISHER, 0, sequence), TOPIC, attributes=dict(attributes), published_us=now_us, tags=tags
        )
        self.seeing.publish(event, self.readers)
        self.world.give(PUBLISHER, Publish(event))
        return tags

    def wait(self, seconds: int) -> None:
        """Until everybody has the first event, and no longer than this."""
        for _ in range(seconds):
            if self.without(1):
                self.world.run(self.world.now_us + SECOND_US)

    def without(self, sequence: int) -> list[Peer]:
        got = self.seeing.fates[EventId(PUBLISHER, 0, sequence)].got
        return [reader for reader in self.readers if reader not in got]


def dispatchers(filters: int, leaves: int, params: Params) -> tuple[Audience, dict[str, Attribute]]:
    """A dispatcher in the middle, and leaves that share filters none of which includes another. The publisher reads
    everything, so that whoever asks subscribers has one to ask. And an event that matches them all."""
    ends = range(2, 2 + leaves)
    links: dict[Peer, list[Peer]] = {PUBLISHER: [1], 1: [PUBLISHER, *ends], **{leaf: [1] for leaf in ends}}
    wanted = {leaf: [Pattern(TOPIC, f's contains "<{n}>"') for n in range(leaf, filters + 2, leaves)] for leaf in ends}
    wanted[PUBLISHER] = [Pattern(TOPIC)]
    assert sum(map(len, wanted.values())) == filters + 1
    audience = Audience(lambda me: static_dispatcher(me, 1, links, wanted, params), [*links], ends)
    return audience, {"s": "".join(f"<{n}>" for n in range(2, filters + 2))}


CASES = [(60, 60), (300, 10), (300, 300), (3_000, 6)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("filters", "leaves"), [pytest.param(*case, marks=[pytest.mark.slow] * (case not in CASES[:2])) for case in CASES]
)
def test_a_lost_event_comes_to_whoever_wants_it_by_whichever_of_its_patterns(
    method: Method, filters: int, leaves: int
) -> None:
    audience, matched = dispatchers(filters, leaves, Params(method=method, expiry_us=LONG))
    tags = audience.publish(1, matched)
    assert (tags[-1].pattern == UNCOUNTED) == (filters == 3_000)
    audience.publish(2, matched)
    audience.wait(60)
    assert audience.without(1) == audience.without(2) == []


def test_a_last_event_of_many_patterns_is_found_though_nothing_follows_it() -> None:
    audience, matched = dispatchers(300, 10, Params.live())
    audience.publish(1, matched)
    audience.wait(60)
    assert audience.without(1) == []


def flooded(parents: int, params: Params) -> Audience:
    """A topic below very many others, each of which somebody may read."""
    topics = [f".p{number}" for number in range(parents)]
    hierarchy = Hierarchy({TOPIC: topics})
    read: dict[Peer, Topic] = {1: topics[0], 2: topics[parents // 2], 3: topics[-2], 4: topics[-1], 5: topics[-1]}
    communities = {topic: range(6) for topic in (TOPIC, *read.values())}

    def make(me: Peer) -> Stack:
        node = Stack(me, 1, hierarchy, Seen())
        members = Static(node, communities)
        spread = Flood(node, members)
        recover = Recovery(node, spread, lambda topic: params)
        return use(node, spread, recover, members=members, spread=spread, recover=recover)

    audience = Audience(make, range(6), [*read])
    for reader, topic in read.items():
        audience.world.give(reader, Subscribe(topic))
    audience.world.run(2 * SECOND_US)
    return audience


@pytest.mark.parametrize("method", METHODS)
def test_where_tags_exceed_their_bytes_ids_are_compared(method: Method) -> None:
    audience = flooded(3_000, Params(method=method))
    tags = audience.publish(1, {})
    assert len(tags) < 800
    assert tags[-1] == Tag(UNCOUNTED, 3_002 - len(tags) + 1)
    audience.wait(4)
    assert audience.without(1) == []
    assert audience.seeing.sends["Listed"] > 0


def test_readers_are_told_once_of_each_pattern_that_is_not_counted() -> None:
    audience = flooded(3_000, Params())
    for sequence in (2, 3, 4):
        audience.publish(sequence, {})
    audience.world.run(audience.world.now_us + SECOND_US)
    last = [Pattern(".p2999")]
    assert audience.seeing.uncounted == {2: [Pattern(".p1500")], 3: [Pattern(".p2998")], 4: last, 5: last}


def test_where_tags_fit_nobody_compares_ids() -> None:
    audience = flooded(300, Params())
    for sequence in (1, 2):
        audience.publish(sequence, {})
    audience.wait(4)
    assert audience.without(1) == []
    assert "Listed" not in audience.seeing.sends
    assert audience.seeing.uncounted == {}


def test_a_burst_of_them_is_held_until_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds events by their many tags is no reason to let go of events: 300 fit into 32 MiB, and 15 into this."""
    monkeypatch.setattr("gossamer.protocols.recovery.holding.BYTES_MAX", (32 << 20) // 20)
    monkeypatch.setattr(Losing, "lost", 15)
    audience = flooded(3_000, Params(expiry_us=LONG))
    for sequence in range(1, 16):
        audience.publish(sequence, {})
    audience.world.run(audience.world.now_us + 10 * SECOND_US)
    assert [sequence for sequence in range(1, 16) if audience.without(sequence)] == []
