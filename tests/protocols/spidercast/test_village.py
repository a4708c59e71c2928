"""Overlays of real machines in virtual time: latency, loss, deaths, and interests that change."""

import pytest
from msgspec.structs import replace

from gossamer.core.draws import distinct, fold
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.params import Params
from protocols.overlays import Village

TOPICS = [f".t{i}" for i in range(12)]


def interests(nodes: int, each: int, seed: int) -> dict[int, list[str]]:
    return {who: [TOPICS[i] for i in distinct(fold(seed, who), len(TOPICS), each)] for who in range(nodes)}


def sound(village: Village) -> None:
    """What holds whenever the overlay is at rest."""
    assert village.one_sided() == []
    assert [village.parts(topic) for topic in TOPICS] == [1] * len(TOPICS)
    for overlay in village.overlays.values():
        for task in overlay.links.tasks:
            assert task.degree <= task.limit + village.params.margin


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_topics_are_connected_within_seconds_and_stay_so(loss: float) -> None:
    village = Village(interests(24, 4, seed=3), loss=loss)
    village.run(8)
    assert [village.parts(topic) for topic in TOPICS] == [1] * len(TOPICS)
    village.run(4)
    if not loss:
        sound(village)


def test_a_lost_message_leaves_no_link_with_one_end_for_long() -> None:
    village = Village(interests(20, 4, seed=5), loss=0.3)
    village.run(6)
    village.world.network.loss = None
    village.run(6)
    sound(village)


def test_when_a_fifth_dies_the_others_heal_within_seconds() -> None:
    village = Village(interests(30, 4, seed=4))
    village.run(6)
    for peer in range(0, 30, 5):
        village.kill(peer)
    village.run(village.params.beats_missed + 6)
    sound(village)


def test_interests_that_change_are_followed() -> None:
    village = Village(interests(20, 4, seed=6))
    village.run(6)
    for peer in range(0, 20, 3):
        mine = village.overlays[peer].node.interest.mine()
        village.change(peer, add=[topic for topic in TOPICS if topic not in mine][:2], remove=mine[:2])
    village.change(1, publish=[".t0", ".t7"])
    village.run(8)
    sound(village)


def test_who_wants_less_has_fewer_links() -> None:
    village = Village(dict.fromkeys(range(12), TOPICS), Params(greedy=2))
    village.run(6)
    before = village.overlays[0].links.tasks[rules.GREEDY].limit
    village.change(0, remove=TOPICS[1:])
    village.run(8)
    assert village.overlays[0].links.tasks[rules.GREEDY].limit == before // len(TOPICS)
    village.change(0, remove=TOPICS[:1])
    village.run(2)
    assert village.overlays[0].links.neighbours() == {}
    assert all(0 not in neighbours for neighbours in village.links(rules.GREEDY).values())


@pytest.mark.parametrize("seed", range(5))
def test_those_who_want_a_topic_and_those_who_want_what_includes_it_are_connected(seed: int) -> None:
    wide = {who: [".s"] for who in range(8)}
    narrow = {8 + who: [".s.a", ".x"] for who in range(8)}
    village = Village({**wide, **narrow}, seed=seed)
    village.run(8)
    assert village.parts(".s.a") == 1
    assert village.parts(".s") == 1
    assert village.one_sided() == []


@pytest.mark.parametrize("seed", range(3))
def test_two_teams_with_topics_of_their_own_are_connected_in_the_one_they_share(seed: int) -> None:
    """Each prefers its own, who cover more; links between them are the first that both can do without."""
    teams = {who: [".all", *(f".team{who % 2}.t{i}" for i in range(5))] for who in range(16)}
    village = Village(teams, seed=seed)
    village.run(8)
    assert (village.parts(".all"), village.one_sided()) == (1, [])
    shedding = Village(teams, replace(Params.live(), insist=False), seed=seed)
    shedding.run(8)
    assert shedding.parts(".all") == 2


def test_a_node_alone_with_a_topic_finds_the_second_when_it_comes() -> None:
    class Blind:
        """Knows nobody: only homes can help."""

        changes = 0

        def __init__(self, me: int, village: Village) -> None:
            self.me = me

        def entries(self) -> dict[int, object]:
            return {}

        def towards_home(self, word: int) -> int | None:
            return None if self.me == 0 else 0

    village = Village({0: [".x"], 1: [".rare"]}, view=Blind)
    village.run(5)
    village.come(2, ".rare")
    village.run(10)
    assert village.parts(".rare") == 1
    assert village.overlays[1].about(".rare") == [2]
