"""Living participants of a hierarchy in a world: where they live, what is measured of them, and that it is true."""

from statistics import fmean
from typing import Any

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, SetTimer
from gossamer.fast.hpmcast import run as kernel
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.messages import Ping
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.sim.checkers import CheckFailed
from gossamer.sim.conditions import Churn
from gossamer.sim.hpmcast_changes import hpmcast_of
from gossamer.sim.hpmcast_conditions import LivingConditions, LivingSetting
from gossamer.sim.hpmcast_measures import measured
from gossamer.sim.hpmcast_residents import Distances, Residents
from gossamer.sim.hpmcast_world import LivingHierarchy, spread
from gossamer.sim.world import Watcher

DIRECT = Params(delegates=2, direct=16, lan=16)


def setting(
    branching: tuple[int, ...] = (3, 3, 3), params: Params = DIRECT, upkeep: Upkeep | None = None, loss: float = 0.0,
    interest: float = 0.3, local: float = 0.0, **world: Any,
) -> LivingSetting:  # fmt: skip
    hierarchy = HierarchySetting(branching=branching, params=params, interest=interest, local=local, loss=loss)
    short = {"warmup_s": 10.0, "seconds": 6.0, "settle_s": 4.0}
    return LivingSetting(hierarchy=hierarchy, upkeep=upkeep or Upkeep(), world=LivingConditions(**{**short, **world}))


def lived(seed: int = 1, **said: Any) -> LivingHierarchy:
    living = LivingHierarchy(setting(**said), seed)
    living.play()
    return living


# Where they live


def test_addresses_follow_places_or_chance_or_what_is_wanted() -> None:
    near, drawn, alike = (Residents(setting((4, 4, 4), addresses=how), 1) for how in ("near", "drawn", "alike"))
    assert near.wants == drawn.wants == alike.wants
    assert [near.addresses[peer] for peer in near.peers] == near.places
    assert sorted(drawn.addresses.values()) == sorted(alike.addresses.values()) == near.places
    by_level = [
        [fmean(shares) for shares in zip(*(people.joint_interest(topic, people.peers) for topic in people.topics))]
        for people in (near, drawn, alike)
    ]
    wanting = fmean(len(wants) / 6 for wants in near.wants.values())
    assert [shares[0] for shares in by_level] == pytest.approx([wanting] * 3)
    assert by_level[2][1] < 0.8 * min(by_level[0][1], by_level[1][1])


def test_who_is_farther_is_reached_later() -> None:
    people = Residents(setting((2, 2, 2), near_ms=2.0, farther=10.0, jitter=0.0), 1)
    network = Distances(people)
    assert [network.transit(0, other, Ping()) for other in (1, 2, 4)] == [[2_000], [20_000], [200_000]]
    assert [people.apart(0, other) for other in (1, 2, 4)] == [1, 2, 3]


def test_moments_are_spread_evenly() -> None:
    assert spread(100, 200, 5) == [110, 130, 150, 170, 190]
    assert spread(0, 100, 0) == []


def test_on_one_level_everybody_is_a_neighbour() -> None:
    living = lived(params=Params(variant="pmcast"), seconds=1.0, events=3)
    assert {len(hpmcast_of(living.world, peer).members.lines(1)) for peer in living.world.up} == {27}


# What is measured


def test_a_seed_is_a_run() -> None:
    one, again, other = (measured(setting(newcomers=3, crashes=2, events=6), seed) for seed in (1, 1, 2))
    assert one == again != other


def test_one_participant_alone_is_a_world_too() -> None:
    said = measured(setting((1, 1), events=2, crashes=1, topics=1, interest=1.0), 1)
    assert (said["delivery"], said["spurious"], said["messages"], said["participants"]) == (1, 0, 0, 1)
    assert said["interest_level_2"] == 1


def test_who_joins_through_a_neighbour_asks_once_and_is_answered_once() -> None:
    living = lived(newcomers=6)
    found = [*living.newcomers.found.values()]
    assert [each.distance for each in found] == [1, 2, 3] * 2
    assert all(each.took_us is not None for each in found)
    assert [each.messages for each in found if each.distance == 1] == [2, 2]
    assert min(each.messages for each in found if each.distance == 3) >= 5


def test_a_newcomer_knows_all_when_its_views_say_so() -> None:
    living = lived(newcomers=1)
    (peer,) = living.newcomers.found
    assert living.newcomers.knows_all(peer)
    mine = living.residents.addresses[peer]
    tables = hpmcast_of(living.world, peer).members.tables
    stranger = next(each for each in tables.others.values() if each.row.about != mine[: len(each.row.about)])
    tables.drop(stranger.row)
    assert not living.newcomers.knows_all(peer)


def test_a_failure_is_gone_from_a_level_when_nobody_has_it_there() -> None:
    living = lived(crashes=3, settle_s=15.0)
    assert {len(each.gone_us) for each in living.failures.found.values()} == {1, 2, 3}
    for peer, failure in living.failures.found.items():
        assert not failure.left
        assert 3_000_000 <= failure.gone_us[1] <= 8_000_000  # silent for 3 s, then asked 8 times, 0.2 s apart
        seen = [hpmcast_of(living.world, each).members.tables.peers() for each in living.world.up]
        assert not any(peer in each for each in seen)


def test_what_is_still_in_a_view_at_the_end_is_told() -> None:
    said = measured(setting(crashes=3, seconds=3.0, settle_s=0.5), 1)
    assert said["unnoticed"] == 1.0
    assert "gone_s_level_1" not in said


def test_the_far_are_given_up_by_who_asks_once_and_not_by_who_asks_often() -> None:
    far: dict[str, Any] = {"addresses": "drawn", "farther": 12.0, "seconds": 25.0}
    hasty, patient = (measured(setting(upkeep=Upkeep(asks=asks), **far), 3)["mistaken"] for asks in (1, 8))
    assert hasty > 0
    assert patient == 0
    near = measured(setting(upkeep=Upkeep(asks=1), seconds=25.0), 3)
    assert near["mistaken"] == 0
    assert near["suspected"] > 0


def test_views_are_right_where_nothing_happens_and_wrong_while_something_does() -> None:
    assert measured(setting(), 1)["views_right"] == 1.0
    assert measured(setting(crashes=3), 1)["views_right"] < 0.9
    assert "views_right" not in measured(setting(upkeep=Upkeep(choice="coverage")), 1)


class Crashes(Watcher):
    def __init__(self) -> None:
        self.at_us: list[tuple[Peer, int]] = []

    def crashed(self, peer: Peer, now_us: int) -> None:
        self.at_us.append((peer, now_us))


def test_of_those_that_come_and_go_who_stayed_up_for_as_long_as_an_event_may_take_counts() -> None:
    living = LivingHierarchy(setting(events=24, churn=Churn(up_s=8.0, down_s=3.0), seconds=12.0), 1)
    living.world.watch(crashes := Crashes())
    living.play()
    assert len(crashes.at_us) > 10
    for fate in living.ledger.fates.values():
        began, ended = fate.told.published_us, fate.told.published_us + 4_000_000
        went = {peer for peer, at_us in crashes.at_us if began < at_us <= ended}
        assert [*fate.stayed] == [peer for peer in fate.up if peer not in went]


@pytest.mark.parametrize(
    ("interest", "topics"),
    [(0.3, 10), pytest.param(0.3, 60, marks=pytest.mark.slow), pytest.param(1.0, 60, marks=pytest.mark.slow)],
)
def test_living_participants_deliver_as_many_as_the_rounds_of_the_kernel(interest: float, topics: int) -> None:
    """Each gossips at moments of its own, and views are its own: the same rules reach as many."""
    hierarchy = HierarchySetting(branching=(4, 4, 4), interest=interest)
    rounds = fmean(each.delivery for each in kernel(hierarchy, range(300)))
    world = {"events": max(30, topics), "topics": topics, "seconds": 8.0, "settle_s": 5.0}
    found = [measured(setting((4, 4, 4), Params(), interest=interest, **world), seed)["delivery"] for seed in (1, 2)]
    assert fmean(found) == pytest.approx(rounds, abs=0.03 if topics < 60 else 0.01)


# That it is true


def test_a_broken_promise_stops_a_run() -> None:
    """It is a town: what every other town watches is watched here too."""
    living = lived(seconds=1.0)
    node = living.node(0)
    step = node.step

    def forgetful(given: Given, now_us: int) -> list[Effect]:
        return [each for each in step(given, now_us) if type(each) is not SetTimer]

    node.step = forgetful  # type: ignore[method-assign]
    with pytest.raises(CheckFailed, match="lost a timer that Membership lives by"):
        living.run(60)


# What is refused


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"warmup_s": 0.0}, "world.warmup_s must be above 0"),
        ({"seconds": float("inf")}, "world.seconds must be above 0, at most 3,600"),
        ({"topics": 0}, "world.topics must be 1 to 10,000"),
        ({"events": -1}, "world.events must be 0 to 10,000"),
        ({"near_ms": 0.0}, "world.near_ms must be 0.001 to 1,000"),
        ({"farther": 0.5}, "world.farther must be 1 to 100"),
        ({"jitter": -1.0}, "world.jitter must be 0 to 3"),
        ({"churn": Churn(up_s=0.0)}, "world.churn.up_s and down_s must be above 0"),
        ({"churn": Churn(share=2.0)}, "world.churn.share must be between 0 and 1"),
        ({"churn": Churn(), "crashes": 1}, "world.churn has everybody come and go: leave out newcomers and crashes"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        LivingConditions(**said)
