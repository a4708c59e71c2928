"""Networks that fall apart, each part doing well, and grow together again when they can."""

import pytest

from gossamer.core.ids import Peer
from gossamer.core.machine import PeerDown
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.search.layer import Search
from gossamer.sim.town import Town
from protocols.towns import camcast, components, layer, links, scamp

SIZES: dict[Topic, int] = {".": 3, ".d": 7, ".d.g": 20}
HOMES: dict[Peer, Topic] = dict(enumerate(topic for topic, size in SIZES.items() for _ in range(size)))
TOGETHER_S = 120
"Twice a lease: by then everybody has renewed its subscription, each time through whatever stranger was named."


def started(seed: int, loss: float = 0.0, seeds: list[Peer] | None = None) -> Town:
    town = camcast(seed, params=Params.live(), loss=loss)
    for peer, topic in HOMES.items():
        town.start(peer, topic, contacts=[each for each in seeds if each < peer] if seeds else None)
        town.run(0.1)
    town.run(20)
    return town


def forget(town: Town, islands: tuple[list[Peer], ...]) -> None:
    """As after months: nobody knows anybody of another island, but for the peers it began with."""
    for here in islands:
        for peer in here:
            search = layer(town.node(peer), Search)
            search.lost.clear()
            assert {*search.acquaintances} <= {*here}


def apart(town: Town) -> list[Topic]:
    return [topic for topic in SIZES if components({p: scamp(town, p).about(topic) for p in town.members(topic)}) > 1]


def check_one_again(town: Town) -> None:
    assert apart(town) == []
    for publisher in (0, 5, 12, 29):
        topic = HOMES[publisher]
        event = town.publish(publisher, topic)
        town.run(2)
        assert town.missing(event) == []


def test_a_minute_apart_in_three_islands_is_mended_within_two() -> None:
    town = started(1)
    islands = [[peer for peer in HOMES if peer % 3 == island] for island in range(3)]
    town.split(*islands, noticed=True)
    town.run(60)
    assert apart(town)
    town.heal()
    town.run(TOGETHER_S)
    check_one_again(town)


def check_islands(apart_s: float, forgotten: bool) -> None:
    """Fifteen and fifteen, with members of every topic on both sides: nobody ever feels alone."""
    town = started(3, seeds=[0, 1, 11, 12])
    islands = ([peer for peer in HOMES if peer % 2], [peer for peer in HOMES if not peer % 2])
    town.split(*islands, noticed=True)
    town.run(apart_s)
    if forgotten:
        forget(town, islands)
    for here in islands:
        event = town.publish(here[-1], ".d.g")
        town.run(2)
        assert {*town.delivered(event)} == {*here}  # everybody of this island reads .d.g, and it is well
    town.heal()
    town.run(TOGETHER_S)
    check_one_again(town)


def test_islands_that_each_do_well_and_have_forgotten_each_other_are_one_within_two_minutes() -> None:
    check_islands(60, forgotten=True)


@pytest.mark.slow
@pytest.mark.parametrize("forgotten", [False, True])
def test_islands_that_did_well_apart_for_ten_minutes_are_one_within_two(forgotten: bool) -> None:
    check_islands(600, forgotten)


def test_an_island_without_anybody_above_finds_its_way_up_again() -> None:
    """Nobody above is reachable for two minutes; links are looked for ever more rarely."""
    town = started(4)
    below = [peer for peer in HOMES if HOMES[peer] == ".d.g"]
    town.split(below, [peer for peer in HOMES if peer not in below], noticed=True)
    town.run(120)
    assert not any(table for peer in below for table in links(town, peer).tables(".d.g"))
    town.heal()
    town.run(TOGETHER_S)
    check_one_again(town)


def test_islands_become_one_on_a_network_that_loses_a_tenth() -> None:
    town = started(5, loss=0.1)
    islands = ([peer for peer in HOMES if peer % 2], [peer for peer in HOMES if not peer % 2])
    town.split(*islands, noticed=True)
    town.run(30)
    town.heal()
    town.run(TOGETHER_S)
    assert apart(town) == []


def test_a_node_whose_seeds_were_all_away_at_first_joins_when_one_is_back() -> None:
    town = camcast(6, params=Params.live())
    town.start(0, ".d")
    town.split([0], [1])
    town.start(1, ".d", contacts=[0])
    town.world.give(1, PeerDown(0))
    town.run(600)
    assert scamp(town, 1).about(".d") == []
    town.heal()
    town.run(30)
    assert scamp(town, 1).about(".d") == [0]
