"""What one participant does with an event: whom it tells, on which level, and when it has done enough."""

from collections.abc import Sequence
from typing import Any

import pytest

from composing import use
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Fired, Note, Publish, Received, Send, SetTimer, Tune
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy as Topics
from gossamer.parts.seen import Seen
from gossamer.protocols.hpmcast import levels
from gossamer.protocols.hpmcast.addresses import address_of
from gossamer.protocols.hpmcast.levels import GossipStep, Levels
from gossamer.protocols.hpmcast.messages import LevelGossip
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.static import FixedHierarchy, StaticViews, Subsystem

EVENT = Event(EventId(0, 0, 1), ".e")
STEP_US = 100_000


def node(
    me: Peer, interested: Sequence[Peer], branching: tuple[int, ...] = (4, 4), ready: bool = True, **params: Any
) -> Stack:
    """A participant of a regular hierarchy in which these want the event."""
    chosen = Params(**params)
    places = 1
    for radix in branching:
        places *= radix
    addresses = [address_of(number, branching) for number in range(places)]
    made = Stack(me, 1, Topics({}), Seen())
    wants = [peer in interested for peer in range(places)]
    hierarchy = FixedHierarchy(
        addresses, chosen.delegates, lambda peers, members: Subsystem(peers, members, lambda peer, _: wants[peer])
    )

    class Ready(StaticViews):
        def ready(self) -> bool:
            return ready

    spread = Levels(made, Ready(hierarchy, me), chosen)
    use(made, spread, spread=spread)
    if me in interested:
        made.interest.subscribe(Pattern(".e"))
    return made


def sends(effects: Sequence[Effect]) -> list[tuple[tuple[Peer, ...], LevelGossip]]:
    return [(each.peers, each.message) for each in effects if isinstance(each, Send)]  # type: ignore[misc]


def kinds(effects: Sequence[Effect]) -> list[str]:
    return [each.kind for each in effects if isinstance(each, Note)]


def until_it_rests(machine: Stack, now_us: int = 0) -> list[tuple[tuple[Peer, ...], LevelGossip]]:
    """Everything it sends in its steps from now on."""
    said: list[tuple[tuple[Peer, ...], LevelGossip]] = []
    for step in range(1, 1000):
        effects = machine.step(Fired(GossipStep()), now_us + step * STEP_US)
        said += sends(effects)
        if not any(isinstance(each, SetTimer) for each in effects):
            return said
    raise AssertionError("it gossips without end")


def gossip(level: int, prob: float, rounds: int = 1, hops: int = 1, padding: int = 0) -> LevelGossip:
    return LevelGossip(Carried(EVENT, hops), level, prob, rounds, padding)


def test_an_event_is_gossiped_at_the_next_step_and_not_before() -> None:
    effects = node(0, range(16)).step(Publish(EVENT), 30_000)
    assert sends(effects) == []
    assert SetTimer(70_000, GossipStep()) in effects


def test_a_publisher_takes_part_on_every_level_from_the_topmost_down() -> None:
    machine = node(15, range(16))
    machine.step(Publish(EVENT), 0)
    levels_told = [message.level for _, message in until_it_rests(machine)]
    assert sorted(set(levels_told), reverse=True) == [2, 1]
    assert levels_told == sorted(levels_told, reverse=True)


def test_only_those_who_want_it_and_delegates_of_those_are_told() -> None:
    machine = node(15, [6, 13, 14])  # 6 lives in the second group, 13 and 14 in the publisher's own
    machine.step(Publish(EVENT), 0)
    told = {
        level: {peer for peers, m in until_it_rests(machine) if m.level == level for peer in peers} for level in (1, 2)
    }
    assert told[2] <= {4, 5, 6, 12, 13, 14}
    assert told[1] <= {13, 14}


def test_nobody_tells_itself() -> None:
    machine = node(0, range(16), fanout=3)
    machine.step(Publish(EVENT), 0)
    assert all(0 not in peers for peers, _ in until_it_rests(machine))


def test_rounds_and_probability_travel_along() -> None:
    machine = node(4, range(16))
    machine.step(Received(1, gossip(2, 0.75, rounds=2)), 50_000)
    first = sends(machine.step(Fired(GossipStep()), STEP_US))
    assert [(message.prob, message.rounds, message.carried.hops) for _, message in first] == [(0.75, 3, 2)]


def test_who_was_told_at_once_has_nothing_left_to_do_on_that_level() -> None:
    machine = node(4, range(16))
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    assert {message.level for _, message in until_it_rests(machine)} == {1}


def test_a_few_are_told_at_once_and_told_so() -> None:
    machine = node(15, [13, 14], direct=2)
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    ((peers, message),) = until_it_rests(machine)
    assert peers == (13, 14)
    assert message.prob == 0.0


def test_all_of_a_small_lan_are_told_at_once() -> None:
    machine = node(12, range(16), lan=4)
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    assert [peers for peers, _ in until_it_rests(machine)] == [(13, 14, 15)]


def test_what_may_be_lost_is_told_more_than_once() -> None:
    machine = node(15, [13, 14], direct=2, expected_loss=0.05)
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    assert [peers for peers, _ in until_it_rests(machine)] == [(13, 14)] * 2


def test_a_lone_reader_is_told_nothing_without_a_floor_or_a_direct_word() -> None:
    machine = node(12, [15])
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    assert until_it_rests(machine) == []


def test_a_floor_lets_the_first_of_a_view_count_as_interested() -> None:
    machine = node(12, [15], audience_floor=3, fanout=3)
    machine.step(Received(1, gossip(2, 0.0)), 50_000)
    said = until_it_rests(machine)
    assert {peer for peers, _ in said for peer in peers} == {13, 14, 15}
    assert {message.padding for _, message in said} == {3}
    assert {message.prob for _, message in said} == {1.0}


def test_who_hears_of_a_floor_keeps_to_it() -> None:
    machine = node(13, [15], fanout=3)
    machine.step(Received(12, gossip(1, 1.0, rounds=0, padding=3)), 50_000)
    assert {peer for peers, _ in until_it_rests(machine) for peer in peers} == {12, 14, 15}


def test_rfpbcast_tells_whoever_is_picked() -> None:
    machine = node(0, [15], branching=(16,), variant="rfpbcast", fanout=15)
    machine.step(Publish(EVENT), 0)
    assert until_it_rests(machine)[0][0] == tuple(range(1, 16))


def test_what_is_wanted_is_delivered_and_what_is_not_is_carried_on_as_a_relay() -> None:
    heard = Received(1, gossip(2, 1.0))
    wanted, unwanted = node(5, [5]).step(heard, 0), node(4, [5]).step(heard, 0)
    assert [each.event for each in wanted if isinstance(each, Deliver)] == [EVENT]
    assert kinds(unwanted) == ["relay"]
    assert any(isinstance(each, SetTimer) for each in unwanted)


def test_pmcast_relays_nothing() -> None:
    effects = node(4, [5], branching=(16,), variant="pmcast").step(Received(1, gossip(1, 1.0)), 0)
    assert kinds(effects) == ["parasite"]
    assert not any(isinstance(each, SetTimer) for each in effects)


def test_a_second_copy_changes_nothing() -> None:
    machine = node(4, range(16))
    machine.step(Received(1, gossip(2, 0.75, rounds=1)), 0)
    assert kinds(machine.step(Received(2, gossip(1, 0.1, rounds=50)), 1)) == ["duplicate"]
    assert sends(machine.step(Fired(GossipStep()), STEP_US))[0][1].rounds == 2


def test_hops_are_limited() -> None:
    machine = node(4, range(16), hops=2)
    assert any(isinstance(each, SetTimer) for each in machine.step(Received(1, gossip(2, 1.0, hops=1)), 0))
    late = node(4, range(16), hops=2)
    assert [type(each) for each in late.step(Received(1, gossip(2, 1.0, hops=2)), 0)] == [Deliver]


def test_repetitions_are_limited_on_each_level() -> None:
    machine = node(15, range(16), repetitions=1)
    machine.step(Publish(EVENT), 0)
    assert [message.level for _, message in until_it_rests(machine)] == [2, 1]


@pytest.mark.parametrize("message", [gossip(3, 0.5), gossip(1, 1.5), gossip(1, float("nan")), gossip(1, -0.1)])
def test_what_makes_no_sense_is_rejected(message: LevelGossip) -> None:
    assert kinds(node(4, range(16)).step(Received(1, message), 0)) == ["reject"]


def test_a_publisher_without_a_place_waits() -> None:
    machine = node(0, range(16), ready=False)
    machine.step(Publish(EVENT), 0)
    assert machine.waiting == 1
    assert not machine.spread.has_place(".e")


def test_an_event_published_again_is_spread_again() -> None:
    machine = node(0, range(16))
    machine.step(Publish(EVENT), 0)
    first = until_it_rests(machine)
    machine.step(Publish(EVENT), 90 * STEP_US)
    assert until_it_rests(machine, 90 * STEP_US) == first


def test_parameters_can_change() -> None:
    machine = node(0, range(16), branching=(16,))
    machine.step(Tune(".", Params(fanout=15)), 0)
    machine.step(Publish(EVENT), 0)
    assert len(until_it_rests(machine)[0][0]) == 15


def test_who_becomes_a_relay_says_so() -> None:
    """Or an audit would take what it carries from then on for parasites."""
    machine = node(0, range(16), branching=(16,), variant="pmcast")
    assert kinds(machine.step(Tune(".", Params(variant="pmcast", fanout=3)), 0)) == []
    assert kinds(machine.step(Tune(".", Params(variant="pmcast", audience_floor=4)), 0)) == ["relay"]
    assert kinds(machine.step(Tune(".", Params(variant="pmcast", audience_floor=5)), 0)) == []


def test_when_there_is_too_much_to_gossip_the_oldest_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "BUFFERED_MAX", 2)
    machine = node(0, range(16))
    dropped = []
    for number in range(4):
        event = Event(EventId(0, 0, number), ".e")
        effects = machine.step(Publish(event), 0)
        dropped += [each.event for each in effects if isinstance(each, Note) and each.kind == "drop"]
    assert dropped == [EventId(0, 0, 0), EventId(0, 0, 1)]
