"""A town knows who should get which event, tells machines what a live driver would, and lets no broken promise pass."""

from collections.abc import Callable, Sequence

import pytest
from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Fired, Given, PeerDown, Received, Send, SetTimer
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.links import Keep
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.camcast_checks import astray
from gossamer.sim.checkers import CheckFailed, Promises
from gossamer.sim.designs import flood_node
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher

Make = Callable[[Peer], Stack]
DESIGNS: dict[str, tuple[Make, Sequence[type[Struct]] | None]] = {
    "camcast": (lambda me: camcast_node(me, 1), CATALOGUE["camcast"].spoken),
    "spidercast": (lambda me: spidercast_node(me, 1), CATALOGUE["spidercast"].spoken),
    "dispatch": (lambda me: dispatch_node(me, 1), CATALOGUE["dispatch"].spoken),
    "hpmcast": (
        lambda me: hpmcast_node(me, 1, (me // 4, me % 4), (4, 4), params=HpmcastParams.live()),
        CATALOGUE["hpmcast"].spoken,
    ),
    "flood": (lambda me: flood_node(me, 1), None),
}


def town_of(spread: str = "camcast", size: int = 0, **options: object) -> Town:
    make, messages = DESIGNS[spread]
    town = Town(make, messages, **options)  # type: ignore[arg-type]
    for peer in range(size):
        town.start(peer, ".d" if peer % 2 else ".d.g", Pattern(".price", f"x > {peer}"))
    return town


class Downs(Watcher):
    """Who was told that whom was gone, and when."""

    def __init__(self) -> None:
        self.told: list[tuple[float, Peer, Peer]] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is PeerDown:
            self.told.append((now_us / 1e6, peer, given.peer))


# -- who should get what --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", DESIGNS)
def test_whatever_carries_events_processes_of_several_topics_come_and_go_and_get_what_they_asked_for(
    spread: str,
) -> None:
    town = town_of(spread, 12)
    town.run(12)
    town.crash(3)
    town.leave(4)
    town.run(12)
    town.restart(3)
    town.restart(4, memory=True)
    town.unsubscribe(5, ".d")
    town.run(12)
    event = town.publish(11, ".d.g")
    price = town.publish(0, ".price", {"x": 6})
    town.run(2)
    assert town.missing() == []
    assert sorted(town.delivered(event)) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert sorted(town.delivered(price)) == [0, 1, 2, 3, 4, 5]


def test_who_missed_an_event_is_known_and_who_went_or_no_longer_wants_it_missed_nothing() -> None:
    town = town_of(size=6)
    town.run(8)
    town.split([0, 2], [1, 3, 4, 5])
    event = town.publish(0, ".d.g")
    town.run(1)
    assert sorted(town.missing()) == [(1, event), (3, event), (4, event), (5, event)]
    town.crash(3)
    town.restart(3)
    town.leave(4)
    town.unsubscribe(5, ".d")
    assert town.missing(event) == [(1, event)]


def test_what_died_with_its_publisher_nobody_could_get() -> None:
    town = town_of()
    town.start(1, ".d")
    town.start(2, ".d")
    event = town.publish(1, ".d")  # it has not found its place yet
    assert town.missing() == [(2, event)]
    town.crash(1)
    assert town.missing() == []


def test_who_comes_back_wants_what_it_wanted_and_with_a_memory_gets_nothing_again() -> None:
    town = town_of(size=4)
    town.run(8)
    event = town.publish(0, ".d.g")
    town.run(1)
    town.crash(1)
    town.restart(1, memory=True)
    assert [*town.node(1).interest.patterns] == [*town.interests[1].patterns]
    assert town.node(1).knows(event)
    town.crash(1)
    town.restart(1)
    assert not town.node(1).knows(event)


def test_events_of_two_lives_have_different_names() -> None:
    town = town_of(size=2)
    before = town.publish(1, ".d")
    town.crash(1)
    town.restart(1)
    assert (before, town.publish(1, ".d")) == (EventId(1, 1, 1), EventId(1, 2, 1))


# -- what a live driver tells ---------------------------------------------------------------------------------------


def test_whoever_was_linked_to_one_that_crashed_is_told_soon_and_nobody_else() -> None:
    town = town_of(size=6)
    town.run(10)
    town.world.watch(downs := Downs())
    linked = sorted(town.unreachable.known(5))  # type: ignore[union-attr]
    town.crash(5)
    town.run(1.6)
    assert sorted(peer for _, peer, gone in downs.told if gone == 5) == linked
    assert all(0.5 < at - 10 < 1.6 for at, _, _ in downs.told)


def test_a_cut_that_nobody_could_notice_tells_nobody() -> None:
    town = town_of(size=4)
    town.run(10)
    town.world.watch(downs := Downs())
    town.split([0, 1], [2, 3])
    town.run(10)
    assert downs.told == []
    town.split([0, 1], [2, 3], noticed=True)
    assert {(peer, gone) for _, peer, gone in downs.told} == {
        (a, b) for a in range(4) for b in range(4) if a // 2 != b // 2
    }


def test_a_town_may_be_one_where_nobody_is_told() -> None:
    town = town_of(size=6, told_of_failures=False)
    town.run(10)
    town.world.watch(downs := Downs())
    town.crash(5)
    town.run(10)
    assert downs.told == []


def test_one_way_cuts_silence_one_side_only() -> None:
    town = town_of(size=4)
    town.run(8)
    town.cut([0], [1, 2, 3])
    deaf, heard = town.publish(0, ".d.g"), town.publish(2, ".d.g")
    town.run(1)
    assert (town.delivered(deaf), sorted(town.delivered(heard))) == ([0], [0, 1, 2, 3])


# -- the simulator's own tables -------------------------------------------------------------------------------------


def test_a_town_keeps_nothing_for_each_event_on_each_link() -> None:
    town = town_of(size=6, loss=0.1)
    town.run(8)
    for _ in range(50):
        town.publish(1, ".d")
        town.run(0.1)
    assert not town.network.copies
    town.run(60)
    timers = sum(sum(counts.values()) for counts in town.timers.pending.values())
    assert len(town.world._heap) < timers + 100


# -- checkers ---------------------------------------------------------------------------------------------------


class Broken:
    """A machine that answers a message with whatever it likes."""

    def __init__(self, node: Stack, answer: Effect) -> None:
        self.node, self.answer = node, answer

    def __call__(self, given: Given, now_us: int) -> list[Effect]:
        return [self.answer] if type(given) is Received else Stack.step(self.node, given, now_us)


STRAY = Event(EventId(99, 0, 1), ".elsewhere")
OURS = Event(EventId(99, 0, 1), ".d")


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([Deliver(OURS), Deliver(OURS)], "twice"),
        ([Deliver(STRAY)], "did not ask for"),
        ([Send((1,), Carry(Carried(OURS)))], "to itself"),
        ([Send((0,), Carry(Carried(STRAY)))], "without being a member"),
    ],
)
def test_a_checker_stops_a_town_at_a_broken_promise(answers: list[Effect], complaint: str) -> None:
    town = town_of(size=2)
    for answer in answers[:-1]:
        town.node(1).step = Broken(town.node(1), answer)  # type: ignore[method-assign]
        town.world.give(1, Received(0, Carry(Carried(OURS))))
    town.node(1).step = Broken(town.node(1), answers[-1])  # type: ignore[method-assign]
    with pytest.raises(CheckFailed, match=complaint):
        town.world.give(1, Received(0, Carry(Carried(OURS))))


def test_a_checker_stops_a_town_at_an_event_that_nobody_asked_for() -> None:
    town = town_of(size=2)
    with pytest.raises(CheckFailed, match="unasked"):
        town.world.give(1, Received(0, Carry(Carried(STRAY))))


def test_a_checker_stops_a_town_at_a_table_that_is_too_large() -> None:
    town = town_of(size=2)
    town.node(1).owners.update(dict.fromkeys(range(20_001), 1))
    with pytest.raises(CheckFailed, match="owners"):
        Promises(town.world).look(1)


def without(node: Stack, kind: type[Struct]) -> None:
    """From now on the node sets no timers of this kind."""
    step = node.step

    def forgetful(given: Given, now_us: int) -> list[Effect]:
        return [e for e in step(given, now_us) if not (type(e) is SetTimer and type(e.timer) is kind)]

    node.step = forgetful  # type: ignore[method-assign]


def test_a_checker_stops_a_town_when_a_community_is_not_looked_after_any_more() -> None:
    town = town_of(size=2)
    without(town.node(1), Keep)
    with pytest.raises(CheckFailed, match="lost a timer that Links lives by"):
        town.run(10)


def test_a_checker_stops_a_town_when_a_process_without_links_looks_for_none() -> None:
    town = town_of(size=2)
    without(town.node(1), Widen)
    with pytest.raises(CheckFailed, match="has no timer for it"):
        town.run(10)


def test_a_checker_says_whose_links_lead_astray() -> None:
    town = town_of()
    for peer, topic in enumerate((".", ".d", ".d.g", ".d.g")):
        town.start(peer, topic)
    assert town.seconds_until(lambda: not astray(town.world), 10) < 10
    town.crash(1)
    assert {(each.peer, each.should, each.strangers) for each in astray(town.world)} == {
        (2, (".",), (1,)),
        (3, (".",), (1,)),
    }


def test_the_same_seed_is_the_same_history() -> None:
    def history(seed: int) -> tuple[object, ...]:
        town = town_of(
            size=8, seed=seed, loss=0.1, duplicated=0.1, latency=Latency(median_us=9_000, shape="exponential")
        )
        town.world.watch(downs := Downs())
        town.run(6)
        town.crash(3)
        town.publish(1, ".d")
        town.run(6)
        return town.chronicle.sends, downs.told

    assert history(5) == history(5)
    assert history(5) != history(6)


def test_timers_of_a_life_that_ended_are_not_counted() -> None:
    town = town_of(size=2)
    town.crash(1)
    assert town.timers.pending[1] == {}
    town.run(30)
    assert not any(type(what) is Fired for _, _, peer, _, what in town.world._heap if peer == 1)
