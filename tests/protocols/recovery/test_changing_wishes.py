"""Other users of a node come and go while a loss is under way: it is looked for all the same."""

import pytest
from msgspec.structs import replace

from composing import use
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Message, Missing, Publish, Subscribe, Unsubscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.tagging import Tagger
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.messages import Again
from gossamer.protocols.recovery.params import Method, Params
from gossamer.protocols.recovery.reading import LEFT_MAX
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import Watcher, World
from protocols.dispatch.networks import ByHand
from protocols.recovery.field import A, B, Node, S, event, only
from protocols.recovery.losing import losing
from protocols.test_many_subscriptions import lines_run

METHODS: tuple[Method, ...] = ("push", "subscriber-pull", "publisher-pull", "combined")
PUBLISHER, READER = 0, 2
FIVE = {"p": 5}


def params(method: Method) -> Params:
    """Without offers, which would find everything anyway."""
    return replace(Params.live(), method=method, push_every_us=0)


class Losing(Network):
    """The second event arrives nowhere by itself."""

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        lost = type(message) is Route and message.carried.event.id.sequence == 2
        return [] if lost else super().transit(sender, target, message)


class Chain(Watcher):
    """A publisher that reads everything, a dispatcher between, and a reader."""

    def __init__(self, params: Params, *wanted: Subscribe) -> None:
        self.world = World(lambda me: self.make(me, params), Losing(1, Latency()))
        self.world.watch(self)
        self.tagger = Tagger()
        self.got: list[int] = []
        self.told: list[tuple[Pattern, int, int]] = []
        for who in range(3):
            self.world.start(who)
        self.give(PUBLISHER, Subscribe("."))
        self.give(READER, *wanted)
        for me, other in ((0, 1), (1, 0), (1, 2), (2, 1)):
            spread = self.node(me).spread
            assert isinstance(spread, Dispatch)
            assert isinstance(spread.overlay, ByHand)
            spread.overlay.near[other] = None
            spread.links_changed(".")
            self.give(me, Unsubscribe(".never"))
        self.run(3)

    def make(self, me: Peer, params: Params) -> Stack:
        node = Stack(me, 1, Hierarchy(), Seen())
        spread = Dispatch(node, DispatchParams(), ByHand())
        recover = Recovery(node, spread, lambda topic: params)
        return use(node, spread, recover, spread=spread, recover=recover)

    def node(self, who: Peer) -> Stack:
        node = self.world.machines[who]
        assert isinstance(node, Stack)
        return node

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if peer == READER:
            self.got += [e.event.id.sequence for e in effects if type(e) is Deliver]
            self.told += [(e.pattern, e.first, e.last) for e in effects if type(e) is Missing]

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def give(self, who: Peer, *givens: Given) -> None:
        for each in givens:
            self.world.give(who, each)

    def publish(self, sequence: int) -> None:
        now_us = self.world.now_us
        tags = self.tagger.tags(self.node(PUBLISHER).patterns(".e", FIVE), now_us)
        made = Event(EventId(PUBLISHER, 0, sequence), ".e", attributes=dict(FIVE), published_us=now_us, tags=tags)
        self.give(PUBLISHER, Publish(made))


CHANGES: dict[str, tuple[list[Subscribe], list[Given]]] = {
    "nothing": ([Subscribe(".e", "p > 1")], []),
    "a wider filter comes": ([Subscribe(".e", "p > 1")], [Subscribe(".e", "p > 0")]),
    "a wider topic comes": ([Subscribe(".e")], [Subscribe(".")]),
    "a wider topic goes": ([Subscribe(".e"), Subscribe(".")], [Unsubscribe(".")]),
    "a wider filter goes": ([Subscribe(".e", "p > 0"), Subscribe(".e", "p > 1")], [Unsubscribe(".e", "p > 0")]),
    "a wider filter comes and goes": (
        [Subscribe(".e", "p > 1")],
        [Subscribe(".e", "p > 0"), Unsubscribe(".e", "p > 0")],
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("noticed", [True, False])
def test_on_a_tree_a_loss_is_looked_for_whatever_else_is_wanted_meanwhile(
    method: Method, change: str, noticed: bool
) -> None:
    before, changes = CHANGES[change]
    chain = Chain(params(method), *before)
    chain.publish(1)
    chain.run(1)
    chain.publish(2)
    chain.run(0.05)
    if noticed:
        chain.publish(3)
        chain.run(0.02)
    chain.give(READER, *changes)
    if not noticed:
        chain.run(0.02)
        chain.publish(3)
    chain.run(8)
    chain.publish(4)
    chain.run(1)
    assert sorted(chain.got) == [1, 2, 3, 4]
    assert {(first, last) for _, first, last in chain.told} <= {(2, 2)}
    assert len(chain.told) <= 2
    if method != "push":
        assert chain.told


@pytest.mark.parametrize("method", METHODS[1:])
def test_and_when_a_wider_one_takes_the_place_of_the_one_that_missed_it(method: Method) -> None:
    """By push nobody is told of it: who holds it knows it by the old pattern only."""
    chain = Chain(params(method), Subscribe(".e", "p > 1"))
    for sequence in (1, 2, 3):
        chain.publish(sequence)
        chain.run(0.05)
    chain.give(READER, Subscribe(".e", "p > 0"), Unsubscribe(".e", "p > 1"))
    chain.run(8)
    assert sorted(chain.got) == [1, 2, 3]
    assert chain.told == [(Pattern(".e", "p > 1"), 2, 2)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("change", ["nothing", "wider comes", "wider goes"])
def test_over_cyclic_links_too(method: Method, change: str) -> None:
    town = losing({".d.g": 6}, params(method))
    publisher, reader = town.members(".d.g")[:2]
    if change == "wider goes":
        town.subscribe(reader, ".d")
        town.run(5)
    town.publish(publisher, ".d.g")
    town.run(1)
    town.cut([each for each in town.up if each != reader], [reader])
    town.publish(publisher, ".d.g")
    town.run(0.08)
    town.heal()
    town.publish(publisher, ".d.g")
    town.run(0.04)
    if change == "wider comes":
        town.subscribe(reader, ".d")
    elif change == "wider goes":
        town.unsubscribe(reader, ".d")
    town.run(8)
    assert town.missing() == []


# What is said


def narrow_and_wide() -> tuple[Pattern, Pattern]:
    return Pattern(".a.b"), Pattern(".a")


def heard(node: Node, wide: Pattern, narrow: Pattern, *places: int) -> list[tuple[Pattern, int, int]]:
    effects = [e for n in places for e in node.hear(replace(event(n, (wide, n), (narrow, n)), topic=narrow.topic))]
    return [(e.pattern, e.first, e.last) for e in only(effects, Missing) if type(e) is Missing]


PULL = Params(method="subscriber-pull")


def test_of_two_patterns_one_of_which_includes_the_other_only_the_wider_tells() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, wide, narrow)
    assert heard(node, wide, narrow, 1, 3) == [(wide, 2, 2)]


def test_unless_it_came_later_and_may_not_know() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, narrow)
    assert heard(node, wide, narrow, 1) == []
    node.now_us = SECOND_US
    node.take(Subscribe(wide.topic))
    assert (narrow, 2, 2) in heard(node, wide, narrow, 3)


def test_what_was_published_before_a_wider_one_came_is_not_missing_of_it() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, narrow)
    heard(node, wide, narrow, 1, 3)
    node.now_us = SECOND_US
    node.take(Subscribe(wide.topic))
    late = replace(event(2, (wide, 2), (narrow, 2)), topic=narrow.topic)
    node.get(1, Again(Carried(late, 1)))
    other = event(9, (wide, 7), at_us=SECOND_US)
    assert only(node.hear(other), Missing) == []
    assert not node.recovery.streams.lost
    assert only(node.hear(event(11, (wide, 9), at_us=SECOND_US)), Missing) == [Missing(S, 0, wide, 8, 8)]


def test_nor_of_one_that_is_subscribed_to_again() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1)))
    node.take(Unsubscribe(A.topic))
    node.take(Subscribe(A.topic))
    assert only(node.hear(event(9, (A, 9))), Missing) == []


def test_nobody_is_told_of_a_gap_after_it_gave_the_pattern_up() -> None:
    node = Node(replace(PULL, patience_us=SECOND_US), A)
    node.hear(event(1, (A, 1)), event(2, (A, 5_000)))
    node.take(Unsubscribe(A.topic))
    node.take(Subscribe(B.topic))
    node.hear(event(3, (B, 1)))
    node.now_us = 10 * SECOND_US
    assert only(node.hear(event(5, (B, 3))), Missing) == []
    assert only(node.wait(2 * SECOND_US), Missing) == [Missing(S, 0, B, 2, 2)]


def test_when_the_wider_one_goes_the_other_tells_what_is_missing_of_it() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, wide, narrow)
    heard(node, wide, narrow, 1, 3)
    effects = node.take(Unsubscribe(wide.topic))
    assert only(effects, Missing) == [Missing(S, 0, narrow, 2, 2)]
    assert [*node.recovery.streams.lost.by_pattern] == [narrow.signature]


def test_one_that_another_includes_is_asked_for_until_found_and_then_forgotten() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, narrow)
    heard(node, wide, narrow, 1, 3)
    node.take(Subscribe(wide.topic))
    node.take(Unsubscribe(narrow.topic))
    assert [*node.recovery.streams.lost.by_pattern] == [narrow.signature]
    heard(node, wide, narrow, 2)
    assert not node.recovery.streams.lost
    node.take(Subscribe(A.topic))
    assert narrow.signature not in node.recovery.streams.patterns


def test_what_no_pattern_of_ours_includes_any_more_is_forgotten() -> None:
    narrow, wide = narrow_and_wide()
    node = Node(PULL, narrow)
    heard(node, wide, narrow, 1, 3)
    node.take(Subscribe(wide.topic))
    node.take(Unsubscribe(narrow.topic))
    node.take(Unsubscribe(wide.topic))
    assert not node.recovery.streams.lost
    assert not node.recovery.streams.patterns


def test_what_it_takes_to_give_up_a_pattern_does_not_grow_with_the_publishers_known() -> None:
    def lines(publishers: int) -> int:
        node = Node(PULL, A, B)
        for source in range(publishers):
            node.hear(event(1, (A, 1), source=100 + source))
        node.hear(event(1, (B, 1)))
        return lines_run(lambda: node.take(Unsubscribe(B.topic)))

    assert lines(500) <= lines(5) + 5


def test_since_when_topics_are_read() -> None:
    node = Node(PULL)
    reading = node.recovery.reading

    def at(now_us: int, *givens: Given) -> list[int | None]:
        node.now_us = now_us
        for each in givens:
            node.take(each)
        return [reading.since_us(topic) for topic in (".", ".e", ".e.f")]

    assert at(10, Subscribe(".e", "p > 1")) == [None, 10, 10]
    assert at(20, Subscribe("."), Subscribe(".e.f")) == [20, 10, 10]
    assert at(30, Unsubscribe(".e", "p > 1")) == [20, 10, 10]  # read on, as part of another
    assert at(40, Unsubscribe(".")) == [None, None, 10]
    assert at(50, Unsubscribe(".e.f")) == [None, None, None]
    assert reading.begun_us == reading.left == {}


def test_no_more_is_known_of_topics_that_went_than_a_bound() -> None:
    node = Node(PULL, Pattern("."))
    for number in range(LEFT_MAX + 5):
        node.take(Subscribe(f".t{number}"))
        node.take(Unsubscribe(f".t{number}"))
    assert len(node.recovery.reading.left) == LEFT_MAX
    assert len(node.recovery.reading.begun_us) == LEFT_MAX + 1
