"""One workload, whatever carries it: the same crowd, the same events, and counts that add up."""

from typing import get_args

import pytest

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.patterns import Pattern
from gossamer.sim.compared import Comparison, Design, Links, Spread, Workload
from gossamer.sim.comparison import Town, measured
from gossamer.sim.crowd import Crowd

WORK = Workload(branching=(2, 2, 3), areas=2, topics=2, subscriptions=2, events=6, every_s=0.2, payload=100)
CALM = Links(warmup_s=8.0, settle_s=4.0)
DESIGNS = [Design(spread=spread) for spread in get_args(Spread)]


def town(design: Design, network: Links = CALM, seed: int = 3) -> Town:
    made = Town(Comparison(design=design, workload=WORK, network=network), seed)
    made.run()
    return made


def test_a_crowd_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    one, again, other = Crowd(WORK, 0.2, 1), Crowd(WORK, 0.2, 1), Crowd(WORK, 0.2, 2)
    assert (one.wants, one.crashed, one.events()) == (again.wants, again.crashed, again.events())
    assert one.wants != other.wants
    assert one.events() != other.events()


def test_events_are_published_by_those_who_stay_and_read_their_topic() -> None:
    crowd = Crowd(WORK, 0.25, 1)
    assert len(crowd.crashed) == 3
    for event in crowd.events():
        publisher = event.id.publisher
        assert publisher in crowd.stayers
        assert event.topic in [pattern.topic for pattern in crowd.wants[publisher]]
        assert publisher not in crowd.audience(event)


def test_an_audience_is_who_reads_the_topic_or_one_above_and_matches() -> None:
    crowd = Crowd(WORK, 0.0, 1)
    crowd.wants = {0: (Pattern(".a0.t1"),), 1: (Pattern(".a0"),), 2: (Pattern(".a0.t1", "level >= 50"),), 3: ()}
    crowd.stayers = [0, 1, 2, 3]
    crowd.interests = {peer: crowd._interest(peer) for peer in crowd.wants}
    low, high = (Event(EventId(9, 0, n), ".a0.t1", attributes={"level": level}) for n, level in ((1, 10), (2, 60)))
    assert (crowd.audience(low), crowd.audience(high)) == ([0, 1], [0, 1, 2])


def test_those_of_the_smallest_addresses_stand_on_higher_levels() -> None:
    ranks = Crowd(WORK, 0.0, 1).rank(1)
    assert [*ranks.values()] == [3, 1, 1, 2, 1, 1, 3, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.spread)
def test_where_nothing_goes_wrong_counts_add_up(design: Design) -> None:
    ran = town(design)
    ledger, fates = ran.ledger, [*ran.ledger.fates.values()]
    assert len(fates) == WORK.events
    assert ledger.parasites == 0
    came = sum(sum(fate.copies.values()) for fate in fates)
    assert ledger.copies == came  # nothing is lost: what was sent came
    assert sum(ledger.load.values()) == 2 * came
    assert all(peer in fate.copies for fate in fates for peer in fate.delivered if peer != fate.event.id.publisher)
    unwanted = sum(
        peer not in fate.audience and peer != fate.event.id.publisher for fate in fates for peer in fate.copies
    )
    if design.spread in ("dispatch", "hpmcast"):
        assert ledger.relays == unwanted  # who carries for others says so
    else:
        assert ledger.relays == 0


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "dispatch", "flood"])
def test_where_nothing_goes_wrong_everybody_gets_everything(spread: Spread) -> None:
    said = measured(Comparison(design=Design(spread=spread), workload=WORK, network=CALM), 3)
    assert (said["delivery"], said["reached_all"]) == (1.0, 1.0)
    assert 0 < said["latency_p50_ms"] <= said["latency_p99_ms"]
    assert said["words"] == 0 or spread == "spidercast"
    if spread == "flood":
        assert said["spurious"] == 1.0  # broadcast
    if spread == "dispatch":
        assert said["duplicates"] == 0.0  # a tree


def test_events_go_to_those_who_crash_before_they_do_and_count_for_nobody() -> None:
    ran = town(Design(spread="flood"), Links(crashed=0.25, warmup_s=8.0, settle_s=4.0))
    crashed = ran.crowd.crashed
    assert all(peer not in fate.audience for fate in ran.ledger.fates.values() for peer in crashed)
    assert any(peer in fate.copies for fate in ran.ledger.fates.values() for peer in crashed)
    assert all(peer not in ran.world.up for peer in crashed)
    last = [*ran.ledger.fates.values()][-1]
    assert not any(peer in last.copies for peer in crashed)


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["camcast", "spidercast", "hpmcast", "dispatch"])
def test_recovery_makes_good_what_links_lose(spread: Spread) -> None:
    lossy = Links(loss=0.2, warmup_s=20.0, settle_s=20.0)
    work = Workload(branching=(3, 3, 3), events=20)
    with_it, without = (
        measured(Comparison(design=Design(spread=spread, recovery=on), workload=work, network=lossy), 1)
        for on in ("live", "none")
    )
    assert with_it["delivery"] == 1.0
    assert without["delivery"] <= with_it["delivery"]
    assert with_it["words"] > without["words"]
