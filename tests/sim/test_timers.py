"""Layers say what they keep and by which timers they live, and a town is stopped when one of these is lost."""

import pytest
from msgspec import Struct

from gossamer.core.machine import Fired
from gossamer.core.publications import LookForIdle
from gossamer.parts import tree
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.links import Keep
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.probing import Check
from gossamer.protocols.dispatch.subscriptions import Agree, Repeat
from gossamer.protocols.hpmcast.levels import GossipStep
from gossamer.protocols.hpmcast.membership import CompareTurn
from gossamer.protocols.interests.layer import Turn
from gossamer.protocols.recovery.rounds import Round
from gossamer.protocols.scamp import layer as scamp
from gossamer.protocols.scamp.headcount import Count
from gossamer.protocols.search.layer import AskOn
from gossamer.protocols.spidercast.beats import BeatDue
from gossamer.protocols.spidercast.layer import Maintain
from gossamer.sim.checkers import CheckFailed
from gossamer.sim.town import Town
from sim.towns import DESIGNS, LIVE, busy, town_of, without


def test_whatever_carries_events_says_what_it_keeps_and_by_which_timers_it_lives() -> None:
    """Else nobody would check: of every layer that hears timers or peers, some say so themselves."""
    for spread in DESIGNS:
        town = town_of(spread, size=4)
        town.run(5)
        node = town.node(1)
        assert [bound for layer in node.layers for bound in layer.bounds()], spread
        alive = [timer for layer in node.layers for topic in (None, *node.interest.mine())
                 for timer in layer.lives_by(topic)]  # fmt: skip
        assert alive, spread
        assert all(town.timers.is_pending(1, timer) for timer in alive), spread


@pytest.mark.parametrize(
    ("spread", "kind", "layer"),
    [
        ("camcast", scamp.AnswerDue, "Scamp"),
        ("camcast", scamp.Renew, "Scamp"),
        ("camcast", Count, "Headcount"),
        ("camcast", Check, "Probing"),
        ("spidercast", Turn, "Interests"),
        ("spidercast", Maintain, "Spidercast"),
        ("spidercast", BeatDue, "Beats"),
        ("dispatch", Repeat, "Subscriptions"),
        ("dispatch", Agree, "Subscriptions"),
        ("dispatch", tree.Tick, "SpanningTree"),
        ("hpmcast", CompareTurn, "Membership"),
        ("hpmcast", GossipStep, "Hpmcast"),
    ],
)
def test_a_checker_stops_a_town_at_any_timer_that_is_lost(spread: str, kind: type[Struct], layer: str) -> None:
    town = town_of(spread, size=6)
    without(town.node(1), kind)
    with pytest.raises(CheckFailed, match=f"lost a timer that {layer} lives by: {kind.__name__}"):
        busy(town, 40)


def test_a_checker_stops_a_town_when_what_waits_to_be_asked_for_is_forgotten() -> None:
    town = town_of(size=2)
    without(town.node(1), AskOn)
    with pytest.raises(CheckFailed, match="lost a timer that Search lives by"):
        [town.subscribe(1, f".many.t{number}") for number in range(100)]


def test_a_checker_stops_a_town_when_nobody_looks_for_idle_topics() -> None:
    town = town_of(size=2)
    without(town.node(1), LookForIdle)
    with pytest.raises(CheckFailed, match="looks no more"):
        town.publish(1, ".elsewhere")


def test_a_checker_stops_a_town_when_recovery_goes_on_no_more() -> None:
    town = Town(lambda me: camcast_node(me, 1, recovery=LIVE), CATALOGUE["camcast"].spoken)
    for peer in range(4):
        town.start(peer, ".d")
    town.run(8)
    without(town.node(1), Round)
    town.lose(0.5)
    with pytest.raises(CheckFailed, match="lost a timer that Recovery lives by: Round"):
        busy(town, 40)


def test_a_checker_stops_a_town_when_a_community_is_not_looked_after_any_more() -> None:
    town = town_of(size=2)
    without(town.node(1), Keep)
    with pytest.raises(CheckFailed, match="lost a timer that Links lives by"):
        town.run(10)


def test_timers_of_a_life_that_ended_are_not_counted() -> None:
    town = town_of(size=2)
    town.crash(1)
    assert town.timers.pending[1] == {}
    town.run(30)
    assert not any(type(what) is Fired for _, _, peer, _, what in town.world._heap if peer == 1)
