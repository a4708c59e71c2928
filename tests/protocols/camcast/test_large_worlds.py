"""Communities that are too large to know each other: events travel by draws over SCAMP's views, and looking after links
costs those above the same however many are below."""

import pytest
from msgspec.structs import replace

from gossamer.protocols.camcast.params import Params
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.sim.town import Town
from protocols.towns import camcast, settle

DRAWN = replace(Params.live(), small=0)
"Nobody tells its whole view, however small the community."
LIVE = replace(Recovery.live(), store=False)
ABOVE = 20


def probed(below: int, seconds: float) -> float:
    """Probes a second at a community of 20, from one of so many below it."""
    town = settle(camcast(1), {".": ABOVE, ".d": below}, min(seconds, 12) if below < 100 else seconds)
    before = town.chronicle.sends.get("Probe", 0)
    town.run(seconds)
    return (town.chronicle.sends.get("Probe", 0) - before) / seconds


def check_alike(rates: list[float]) -> None:
    first, *others = rates
    assert all(0.8 * first <= rate <= 1.2 * first for rate in others), rates


def test_links_cost_those_above_the_same_however_many_are_below() -> None:
    check_alike([probed(20, 36), probed(40, 36)])


@pytest.mark.slow
def test_links_cost_those_above_the_same_at_40_160_and_640() -> None:
    rates = [probed(below, 60) for below in (40, 160, 640)]
    print(f"probes a second at {ABOVE} above 40, 160 and 640: {rates}")
    check_alike(rates)


def drawn(size: int, loss: float, recovers: bool, events: int) -> Town:
    """Events of a community of so many, below another of as many."""
    warmup_s = 12 if size < 100 else 40
    town = settle(camcast(1, params=DRAWN, recovery=LIVE if recovers else None), {".": size, ".d": size}, warmup_s)
    town.lose(loss)
    publishers = town.members(".d")
    for number in range(events):
        town.publish(publishers[number * 7 % len(publishers)], ".d")
        town.run(0.25)
    town.run(5)
    return town


def share_missing(town: Town) -> float:
    return len(town.missing()) / sum(len(fate.due) for fate in town.chronicle.fates.values())


def test_forty_members_that_tell_a_few_each_miss_nothing_where_recovery_helps() -> None:
    town = drawn(40, 0.1, True, 6)
    assert town.seconds_until(lambda: not town.missing(), 30, step=2.0) <= 30


@pytest.mark.slow
@pytest.mark.parametrize("size", [200, 1_000])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_events_reach_large_communities_by_draws(size: int, loss: float) -> None:
    """Each first receiver tells ln N + 5; a copy lost is made good by others, but for e^-5 or so."""
    town = drawn(size, loss, False, 40)
    share = share_missing(town)
    print(f"{size} members each, loss {loss}: {share:.5%} missing of 40 events")
    assert share < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("size", [200, 1_000])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_with_recovery_nothing_is_missing_in_large_communities(size: int, loss: float) -> None:
    town = drawn(size, loss, True, 40)
    print(f"{size} members each, loss {loss}, with recovery: {share_missing(town):.5%} missing after 5 s")
    assert town.seconds_until(lambda: not town.missing(), 60, step=2.0) <= 60, len(town.missing())
