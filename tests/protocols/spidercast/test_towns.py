"""Nodes with many unrelated topics find each other, come and go: those who want a topic are connected again soon, and
nothing that was published is lost, doubled or carried by anybody who does not want it."""

from collections.abc import Callable, Sequence

import pytest

from gossamer.core.ids import EventId, Peer
from gossamer.core.topics import Topic
from gossamer.protocols.interests.params import Params as Interests
from protocols.spidercast.towns import LIVE, OverlayTown, unrelated

HEALED_S = 12
"After 20 % were killed at once, and nobody was told: heartbeats find neighbours dead after 6 to 7 seconds."


def missed(town: OverlayTown, stayers: Sequence[Peer]) -> list[tuple[Peer, EventId]]:
    """Who was there all the time, wanted an event and did not get it."""
    return [(peer, event) for peer, event in town.missing() if peer in stayers]


def test_nodes_with_10_to_70_topics_are_connected_by_topic_in_seconds_and_again_after_a_fifth_was_killed() -> None:
    town = OverlayTown(30, unrelated(150), recovery=LIVE)
    assert town.seconds_until(town.connected, 6) <= 6
    town.run(4)
    assert town.one_sided() == 0
    for peer in range(0, 30, 5):
        town.crash(peer)
    assert town.seconds_until(lambda: town.connected() and town.alive(), HEALED_S) <= HEALED_S
    town.run(3)
    assert town.one_sided() == 0
    stayers = [*town.world.up]
    town.publish_some(20, every=0.05, stayers=stayers)
    town.run(3)
    assert len(town.chronicle.fates) == 20
    assert missed(town, stayers) == []


@pytest.mark.slow
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_hundred_of_them_while_messages_are_lost(loss: float) -> None:
    town = OverlayTown(100, unrelated(300), loss=loss, recovery=LIVE)
    assert town.seconds_until(town.connected, 8) <= 8
    town.run(5)
    for peer in range(0, 100, 5):
        town.crash(peer)
    assert town.seconds_until(lambda: town.connected() and town.alive(), HEALED_S) <= HEALED_S
    town.churn(20, changes=10)
    stayers = [peer for peer in town.world.up if not peer % 2]
    town.publish_some(100, every=0.2, stayers=stayers)
    assert town.seconds_until(town.connected, HEALED_S) <= HEALED_S
    town.run(20)
    assert missed(town, stayers) == []


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_events_flow_through_churn_and_with_recovery_none_is_lost_doubled_or_unasked(loss: float) -> None:
    town = OverlayTown(24, unrelated(40, 4, 10), loss=loss, recovery=LIVE)
    assert town.seconds_until(town.connected, 6) <= 6
    stayers = range(0, 24, 2)
    town.churn(10, changes=6)
    town.publish_some(100, every=0.1, stayers=stayers)
    assert town.seconds_until(town.connected, HEALED_S) <= HEALED_S
    town.run(20)
    assert missed(town, stayers) == []


def test_whoever_wants_a_super_topic_gets_what_is_published_below_it() -> None:
    def wants(peer: Peer) -> list[Topic]:
        if peer < 4:
            return [".sport"]
        return [f".sport.s{peer % 5}", f".news.n{peer % 3}"]

    town = OverlayTown(30, wants, recovery=LIVE)
    town.run(6)
    for peer in range(4, 30):
        town.publish(peer, f".sport.s{peer % 5}")
    town.run(3)
    assert len(town.chronicle.fates) == 26
    for fate in town.chronicle.fates.values():
        assert sorted(fate.got) == [
            *range(4),
            *(peer for peer in range(4, 30) if fate.event.topic in wants(peer)),
        ]


def rare(at: tuple[Peer, ...], topics: int) -> Callable[[Peer], list[Topic]]:
    """A few common topics each, and one that only these want."""
    common = unrelated(topics, 3, 3)
    return lambda peer: [*common(peer), ".rare"] if peer in at else common(peer)


@pytest.mark.parametrize(
    ("size", "view", "seconds"),
    [(100, 16, 30), pytest.param(500, 24, 60, marks=pytest.mark.slow)],
)
def test_two_who_want_a_rare_topic_are_linked_through_its_home_though_views_are_small(
    size: int, view: int, seconds: float
) -> None:
    one, other = 17, size - 5
    town = OverlayTown(size, rare((one, other), 10), interests=Interests(view_max=view, leaves=4, marks=16))
    assert town.seconds_until(lambda: other in town.links()[one] and town.connected(), seconds) <= seconds


def test_a_lone_reader_has_no_more_links_than_others() -> None:
    town = OverlayTown(40, rare((17,), 8))
    town.run(10)
    degrees = [len(peers) for peers in town.links().values()]
    assert len(town.links()[17]) <= 2 * sum(degrees) / len(degrees)


def test_interest_that_changes_moves_links_and_events() -> None:
    town = OverlayTown(20, lambda peer: [f".t{peer % 4}"])
    town.run(6)
    for peer in (0, 5, 10):
        town.subscribe(peer, ".new")
        town.unsubscribe(peer, f".t{peer % 4}")
    assert town.seconds_until(lambda: not town.apart() and town.overlay(0).ready(".new"), 8) <= 8
    new, old = town.publish(5, ".new"), town.publish(4, ".t0")
    town.run(2)
    assert sorted(town.delivered(new)) == [0, 5, 10]
    assert sorted(town.delivered(old)) == [4, 8, 12, 16]
