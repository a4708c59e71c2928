"""A town knows who should get which event, tells machines what a live driver would, and lets no broken promise pass."""

import pytest

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Given, PeerDown, Received
from gossamer.sim import chronicle
from gossamer.sim.network import Latency
from gossamer.sim.world import Watcher
from sim.towns import DESIGNS, Unheard, town_of


class Downs(Watcher):
    """Who was told that whom was gone, and when."""

    def __init__(self) -> None:
        self.told: list[tuple[float, Peer, Peer]] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is PeerDown:
            self.told.append((now_us / 1e6, peer, given.peer))


# -- who should get what -------------------------------------------------------------------------------------------


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


# -- what a live driver tells --------------------------------------------------------------------------------------


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


# -- the simulator's own tables ------------------------------------------------------------------------------------


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


def test_a_town_forgets_what_it_is_told_to() -> None:
    town = town_of("dispatch", size=8)
    town.run(8)
    old = [town.publish(1, ".d") for _ in range(5)]
    town.run(10)
    assert {*old} <= {*town.chronicle.relays}
    new = town.publish(1, ".d")
    town.run(1)
    town.forget(5)
    assert [*town.chronicle.fates] == [new]
    assert {*town.chronicle.relays} <= {new}
    assert town.missing() == []


def test_rejects_are_kept_up_to_a_bound_and_counted_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chronicle, "REJECTS_MAX", 3)
    town = town_of(size=2)
    for _ in range(5):
        town.world.give(1, Received(0, Unheard()))
    assert (len(town.chronicle.rejects), town.chronicle.rejected) == (3, 5)


def test_who_unsubscribed_meanwhile_missed_nothing_whatever_it_wants_later() -> None:
    town = town_of(size=4)
    town.run(8)
    town.cut([0], [1])
    event = town.publish(0, ".d.g")
    town.cut([2, 3], [1])
    town.run(1)
    assert town.missing() == [(1, event)]
    town.unsubscribe(1, ".d")
    town.subscribe(1, ".d")
    assert town.missing() == []


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
