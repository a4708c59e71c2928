"""Many topics, many filters: what one more of them costs does not grow with how many there are."""

import time
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from counting import lines_run
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Note, Publish, Started, Subscribe
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import World

OTHER, ME = 0, 1
SPREADS: dict[str, Callable[[Peer], Stack]] = {
    "camcast": lambda me: camcast_node(me, 1, recovery=Recovery.live()),
    "dispatch": lambda me: dispatch_node(me, 1, recovery=Recovery.live()),
    "spidercast": lambda me: spidercast_node(me, 1, recovery=Recovery.live()),
    "hpmcast": lambda me: hpmcast_node(me, 1, (0, me), (4, 16), recovery=replace(Recovery.live(), method="exchange")),
}
KINDS: dict[str, Callable[[int], Subscribe]] = {
    "topics": lambda number: Subscribe(f".a.t{number}"),
    "filters": lambda number: Subscribe(".a", f"price == {number}"),
}


def each(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("spread", SPREADS)(pytest.mark.parametrize("kind", KINDS)(test))


class Metered:
    """A machine, and the CPU time of its steps."""

    def __init__(self, machine: Stack) -> None:
        self.machine = machine
        self.cpu_s = 0.0
        self.delivered: list[Event] = []

    def step(self, given: Given, now_us: int) -> list[Effect]:
        began_s = time.process_time()
        effects = self.machine.step(given, now_us)
        self.cpu_s += time.process_time() - began_s
        self.delivered += [effect.event for effect in effects if type(effect) is Deliver]
        return effects

    def __getattr__(self, name: str) -> object:
        return getattr(self.machine, name)


class Neighbours:
    """A node that subscribes, and another it is linked with."""

    def __init__(self, spread: str) -> None:
        self.world = World(lambda me: Metered(SPREADS[spread](me)), Network(1, Latency(median_us=5_000)))  # type: ignore[arg-type,return-value]
        for peer in (OTHER, ME):
            self.world.start(peer, [OTHER] if peer == ME else [])
            self.world.give(peer, Subscribe(".other"))
        self.run(4)
        self.cpu_s = self.me.cpu_s

    @property
    def me(self) -> Metered:
        return self.world.machines[ME]  # type: ignore[return-value]

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def subscribe(self, wishes: Sequence[Subscribe], every_s: float) -> float:
        """The CPU time that all of them took, and what followed within a second."""
        for wish in wishes:
            self.world.give(ME, wish)
            if every_s:
                self.run(every_s)
        self.run(1)
        return self.me.cpu_s - self.cpu_s

    def publish(self, wishes: Sequence[Subscribe]) -> list[Event]:
        """An event for each of these, by another node."""
        made = [
            Event(EventId(OTHER, 0, 1 + number), wish.topic, attributes={"price": int(wish.where.split()[-1])})
            if wish.where
            else Event(EventId(OTHER, 0, 1 + number), wish.topic)
            for number, wish in enumerate(wishes)
        ]
        for event in made:
            self.world.give(OTHER, Publish(event))
        self.run(1)
        return made


def check_delivered(near: Neighbours, wishes: Sequence[Subscribe]) -> None:
    made = near.publish([wishes[0], wishes[len(wishes) // 2], wishes[-1]])
    assert [event.topic for event in near.me.delivered] == [event.topic for event in made]


@each
def test_two_thousand_one_by_one_cost_two_seconds_at_most_and_events_of_all_come(spread: str, kind: str) -> None:
    near, wishes = Neighbours(spread), [KINDS[kind](number) for number in range(2_000)]
    assert near.subscribe(wishes, every_s=0.001) <= 2.0
    check_delivered(near, wishes)


@pytest.mark.parametrize("spread", SPREADS)
def test_two_nodes_that_read_the_same_hundreds_of_topics_find_each_other_in_all_of_them(spread: str) -> None:
    check_found(spread, topics=300, seconds=5)


@pytest.mark.slow
@pytest.mark.parametrize("spread", SPREADS)
def test_and_in_thousands(spread: str) -> None:
    check_found(spread, topics=3_000, seconds=20)


def check_found(spread: str, topics: int, seconds: float) -> None:
    near, wishes = Neighbours(spread), [KINDS["topics"](number) for number in range(topics)]
    for peer in (OTHER, ME):
        for wish in wishes:
            near.world.give(peer, wish)
        near.run(seconds)
    made = near.publish(wishes[:: topics // 20])
    assert [event.topic for event in near.me.delivered] == [event.topic for event in made]


@pytest.mark.slow
@each
def test_ten_thousand_at_once_cost_five_seconds_at_most_and_events_of_all_come(spread: str, kind: str) -> None:
    near, wishes = Neighbours(spread), [KINDS[kind](number) for number in range(10_000)]
    assert near.subscribe(wishes, every_s=0) <= 5.0
    check_delivered(near, wishes)


@each
def test_the_last_of_many_takes_as_many_steps_as_the_first(spread: str, kind: str) -> None:
    node = SPREADS[spread](ME)
    node.step(Started(), 0)

    def subscribe(first: int, last: int) -> None:
        for number in range(first, last):
            node.step(KINDS[kind](number), 1 + number)

    subscribe(0, 300)  # where there are few, what others are told is said exactly
    first = lines_run(lambda: subscribe(300, 320))
    subscribe(320, 1_000)
    assert lines_run(lambda: subscribe(1_000, 1_020)) <= 1.2 * first


def test_a_topic_that_cannot_be_told_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 100 * 8)
    node = SPREADS["spidercast"](ME)
    node.step(Started(), 0)
    for number in range(100):
        assert node.refusal([f".t{number}"]) is None
        node.step(Subscribe(f".t{number}"), 1)
    assert "101 topics are more than this node can tell others about" in str(node.refusal([".one.more"]))
    assert node.refusal([".t7"]) is None  # more of the same is fine
    assert Note("reject", topic=".one.more", detail="too many topics") in node.step(Subscribe(".one.more"), 2)
    assert not node.interest.wants(".one.more")


def test_what_is_published_on_a_topic_that_cannot_be_told_is_handed_to_those_who_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.parts.own_wants.WANTS_BYTES_MAX", 50 * 8)
    near = Neighbours("spidercast")
    for number in range(49):
        near.world.give(OTHER, Subscribe(f".t{number}"))
    near.world.give(ME, Subscribe(".news"))
    near.run(3)
    near.publish([Subscribe(".news")])
    assert [event.topic for event in near.me.delivered] == [".news"]
    assert not near.world.machines[OTHER].interest.takes_part(".news")  # type: ignore[attr-defined]
