"""Whole hierarchies in virtual time: participants come, go and die; delegates are replaced; nobody misses an event."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gossamer.core.draws import CHURN, PUBLISH, chance, draw, fold, upper_pick
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from protocols.hpmcast.towns import EXCHANGE, HierarchyTown

LIVE = Params(direct=8, fanout=3, expected_loss=0.05)
TOPICS = (".market.tech", ".market.oil", ".news")


def wants(peer: Peer) -> Sequence[Pattern]:
    """Most want some prices of a topic, a few all of the market, some nothing."""
    if peer % 11 == 0:
        return []
    if peer % 7 == 0:
        return [Pattern(".market")]
    return [Pattern(TOPICS[peer % 3], f"price > {peer * 13 % 80}")]


def publish(town: HierarchyTown, number: int, among: Sequence[Peer]) -> None:
    key = fold(fold(town.seed, PUBLISH), number)
    up = [peer for peer in among if peer in town.up]
    peer = up[upper_pick(draw(key, 0), len(up))]
    town.publish(peer, TOPICS[number % 3], {"price": 100 * chance(key, 1)})


def publish_for(town: HierarchyTown, seconds: float, every: float, among: Sequence[Peer]) -> None:
    for number in range(round(seconds / every)):
        town.after(every * number, lambda number=number: publish(town, number, among))  # type: ignore[misc]


def nothing_wrong(town: HierarchyTown) -> None:
    assert town.missing() == []
    assert town.chronicle.rejects == []


def test_events_go_to_those_who_want_them_and_are_carried_by_delegates_only() -> None:
    town = HierarchyTown(range(64), wants, (4, 4, 4), params=LIVE, recovery=EXCHANGE)
    town.seconds_to_rest(20)
    town.run(3)
    publish_for(town, 3, 0.1, range(64))
    town.run(12)
    assert sum(len(fate.due) for fate in town.chronicle.fates.values()) > 200
    nothing_wrong(town)
    assert town.relays()
    assert all(town.hpmcast(peer).members.tables.stands(2) for peer in town.relays())


def test_delegates_that_crash_are_replaced_and_what_was_lost_meanwhile_comes_late() -> None:
    town = HierarchyTown(range(48), wants, (3, 4, 4), params=LIVE, recovery=EXCHANGE)
    town.seconds_to_rest(20)
    town.run(2)
    publish_for(town, 6, 0.2, range(3, 48, 4))
    town.run(1)
    for peer in (0, 1, 16, 17, 33):
        assert town.hpmcast(peer).members.tables.stands(3) or peer == 33
        town.crash(peer)
    town.run(20)
    assert town.seconds_to_rest(5) <= 5
    assert town.hpmcast(2).members.tables.stands(3)
    town.run(10)
    nothing_wrong(town)


def test_a_whole_group_that_dies_is_forgotten_and_its_place_taken() -> None:
    town = HierarchyTown(range(36), wants, (3, 3, 4), params=LIVE)
    town.seconds_to_rest(20)
    for peer in range(4):
        town.crash(peer)
    assert town.seconds_to_rest(60) > 10  # passively, above the lowest level
    town.come(2)
    town.seconds_to_rest(15)


def churn(town: HierarchyTown, seconds: float, per_minute: float, coming: Sequence[Peer]) -> None:
    """Now and then somebody goes, by turns without a word, and comes back, or somebody else comes."""
    changes = round(per_minute * len(town.world.up) * seconds / 60)
    for number in range(changes):
        town.after(seconds * number / changes, lambda number=number: change(town, number, coming))  # type: ignore[misc]


def change(town: HierarchyTown, number: int, coming: Sequence[Peer]) -> None:
    up, absent = [*town.world.up], [peer for peer in coming if peer not in town.world.up]
    gone = up[upper_pick(draw(fold(town.seed, CHURN), number), len(up))]
    (town.crash if number % 2 else town.leave)(gone)
    if absent:
        town.come(absent[upper_pick(draw(fold(town.seed, CHURN), ~number & 0xFFFF), len(absent))])


def test_views_follow_churn_and_survivors_miss_nothing() -> None:
    town = HierarchyTown(range(0, 60, 2), wants, (3, 4, 5), seed=3, loss=0.05, params=LIVE, recovery=EXCHANGE)
    town.seconds_to_rest(20)
    churn(town, 15, 1.5, range(60))
    publish_for(town, 15, 0.25, range(60))
    town.run(15)
    town.seconds_to_rest(60)
    town.run(15)
    assert town.missing() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_same_with_a_hundred_and_every_seed(seed: int) -> None:
    town = HierarchyTown(range(100), wants, (5, 4, 6), seed=seed, loss=0.05, params=LIVE, recovery=EXCHANGE)
    town.seconds_to_rest(40)
    churn(town, 60, 0.5, range(120))
    publish_for(town, 60, 0.25, range(120))
    town.run(60)
    town.seconds_to_rest(90)
    town.run(30)
    assert town.missing() == []


def test_a_change_of_mind_is_known_above_soon() -> None:
    town = HierarchyTown(range(32), lambda peer: [], (2, 4, 4), params=LIVE, recovery=EXCHANGE)
    town.seconds_to_rest(20)
    town.run(3)
    town.subscribe(31, ".late", "x == 1")
    town.run(6)
    wanted, other = (town.publish(0, ".late", {"x": x}) for x in (1, 2))
    town.run(5)
    assert (town.delivered(wanted), town.delivered(other)) == ([31], [])
    town.unsubscribe(31, ".late", "x == 1")
    town.run(8)
    before = town.relays()
    town.publish(0, ".late", {"x": 1})
    town.run(3)
    assert town.relays() == before


def test_one_level_is_pmcast_without_a_relay() -> None:
    pmcast = replace(LIVE, variant="pmcast")
    town = HierarchyTown(range(24), wants, (24,), params=pmcast, recovery=EXCHANGE)
    town.seconds_to_rest(20)
    publish_for(town, 3, 0.2, range(24))
    town.run(10)
    nothing_wrong(town)
    assert town.relays() == []


def test_views_are_compared_along_with_events() -> None:
    """What rides along is not sent alone: as many digests, whether there are events or not."""
    sent = []
    for events in (0, 30):
        town = HierarchyTown(range(27), wants, (3, 3, 3), params=LIVE)
        town.seconds_to_rest(20)
        town.run(10)
        before = dict(town.chronicle.sends)
        if events:
            publish_for(town, 6, 6 / events, range(27))
        town.run(10)
        sent.append(town.chronicle.sends["RowDigest"] - before["RowDigest"])
    assert town.chronicle.sends["LevelGossip"] > 500
    assert sent[1] < 1.4 * sent[0]


def test_coverage_chooses_delegates_that_carry_less_for_others() -> None:
    """In each group the one with the largest address wants everything, the others a few things."""

    def greedy(peer: Peer) -> Sequence[Pattern]:
        return [Pattern(".e")] if peer % 4 == 3 else [Pattern(".e", f"x == {peer % 5}")] if peer % 2 else []

    relayed = []
    params = replace(LIVE, delegates=1)
    for upkeep in (Upkeep(choice="address"), Upkeep(choice="coverage")):
        town = HierarchyTown(range(32), greedy, (2, 4, 4), params=params, upkeep=upkeep)
        town.run(15)
        for number in range(20):
            town.publish(number, ".e", {"x": number % 5})
        town.run(5)
        relayed.append(len(town.relays()))
        if upkeep.choice == "coverage":
            assert all(peers[0] % 4 == 3 for _, peers in town.views(0)[1])
    assert relayed[1] < relayed[0] / 4


def test_the_same_seed_is_the_same_history() -> None:
    def told(seed: int) -> tuple[object, ...]:
        town = HierarchyTown(range(0, 24, 2), wants, (2, 3, 4), seed=seed, loss=0.1, params=LIVE, recovery=EXCHANGE)
        churn(town, 6, 6.0, range(24))
        publish_for(town, 6, 0.3, range(24))
        town.run(8)
        delivered = [[*fate.got] for fate in town.chronicle.fates.values()]
        return town.chronicle.sends, delivered, [town.views(peer) for peer in town.up]

    assert told(5) == told(5)
    assert told(5) != told(6)
