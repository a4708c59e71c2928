"""One workload, whatever carries it: the same crowd, the same events, and counts that add up."""

from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from gossamer.core.filters import parse
from gossamer.core.layer import Layer
from gossamer.core.machine import Fired
from gossamer.core.topics import Hierarchy
from gossamer.live.config.config import Config
from gossamer.live.config.place import LIVE_PLACE
from gossamer.protocols.assemble import SpreadName
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.sim.compared import ComparedDesign, Comparison, NetworkConditions, Spread, Workload
from gossamer.sim.comparison import NOTED, ComparedTown, measured, measures
from gossamer.sim.crowd import Crowd
from gossamer.sim.designs import node_of
from gossamer.sim.ledger import Compared, Ledger

WORK = Workload(branching=(2, 2, 3), areas=2, topics=2, subscriptions=2, events=6, every_s=0.2, payload=100)
CALM = NetworkConditions(warmup_s=8.0, settle_s=4.0)
DESIGNS = [ComparedDesign(spread=spread) for spread in get_args(Spread)]


def town(design: ComparedDesign, network: NetworkConditions = CALM, seed: int = 3) -> ComparedTown:
    made = ComparedTown(Comparison(design=design, workload=WORK, network=network), seed)
    made.play()
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


def test_those_of_the_smallest_addresses_stand_on_higher_levels() -> None:
    ranks = Crowd(WORK, 0.0, 1).rank(1)
    assert [*ranks.values()] == [3, 1, 1, 2, 1, 1, 3, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.spread)
def test_where_nothing_goes_wrong_counts_add_up(design: ComparedDesign) -> None:
    ran = town(design)
    ledger, fates = ran.ledger, ran.outcomes()
    assert len(fates) == WORK.events
    said = {kind: sum(count for (what, _), count in ledger.noted.items() if what == kind) for kind in NOTED}
    assert said["parasite"] == 0
    came = sum(sum(fate.copies.values()) for fate in fates)
    assert ledger.copies == came  # nothing is lost: what was sent came
    assert sum(ledger.load.values()) == 2 * came
    assert all(peer in fate.copies for fate in fates for peer in fate.took_us if peer != fate.publisher)
    unwanted = sum(peer not in fate.audience and peer != fate.publisher for fate in fates for peer in fate.copies)
    if design.spread in ("dispatch", "hpmcast"):
        assert said["relay"] == unwanted  # who carries for others says so
    else:
        assert said["relay"] == 0


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "dispatch", "flood"])
def test_where_nothing_goes_wrong_everybody_gets_everything(spread: Spread) -> None:
    said = measured(Comparison(design=ComparedDesign(spread=spread), workload=WORK, network=CALM), 3)
    assert (said["delivery"], said["reached_all"]) == (1.0, 1.0)
    assert 0 < said["latency_p50_ms"] <= said["latency_p99_ms"]
    assert said["words"] == 0 or spread == "spidercast"
    if spread == "flood":
        assert said["spurious"] == 1.0  # broadcast
    if spread == "dispatch":
        assert said["duplicates"] == 0.0  # a tree


def test_events_go_to_those_who_crash_before_they_do_and_count_for_nobody() -> None:
    ran = town(ComparedDesign(spread="flood"), NetworkConditions(crashed=0.25, warmup_s=8.0, settle_s=4.0))
    crashed = ran.crowd.crashed
    assert all(peer not in fate.audience for fate in ran.outcomes() for peer in crashed)
    assert any(peer in fate.copies for fate in ran.outcomes() for peer in crashed)
    assert all(peer not in ran.world.up for peer in crashed)
    last = ran.outcomes()[-1]
    assert not any(peer in last.copies for peer in crashed)


def test_what_is_told_of_nodes_is_told_of_those_that_stay() -> None:
    ran = town(ComparedDesign(spread="dispatch"), NetworkConditions(crashed=0.4, warmup_s=8.0, settle_s=4.0))
    crashed, fates = ran.crowd.crashed, ran.outcomes()
    assert any(ran.ledger.noted.get(("relay", peer)) for peer in crashed)  # they did carry for others
    said = measures(ran)
    assert said["relays"] == said["unwanted"] > 0
    stayed = [count for fate in fates for peer, count in fate.copies.items() if peer in ran.crowd.stayers]
    assert said["duplicates"] * len(fates) == sum(stayed) - len(stayed)


def test_a_node_that_crashed_takes_no_upkeep() -> None:
    ran = town(ComparedDesign(spread="flood"), NetworkConditions(crashed=0.25, warmup_s=8.0, settle_s=4.0))
    lived_s = 9 * (6 * 0.2 + 4.0) + 3 * 0.4
    assert measures(ran)["upkeep"] == pytest.approx(ran.ledger.upkeep / lived_s)


def test_who_reads_the_topic_and_asked_for_other_values_is_not_off_topic() -> None:
    work = Workload(branching=(2, 2), areas=1, topics=1, subscriptions=1, wide=0.0, filtered=1.0, events=8)
    said = measured(Comparison(design=ComparedDesign(spread="flood"), workload=work, network=CALM), 3)
    assert said["unwanted"] > 0
    assert said["off_topic"] == 0.0


# -- comparisons with filters ---------------------------------------------------------------------------------------


def test_a_look_at_an_attribute_is_counted_for_whoever_steps_next() -> None:
    ledger = Ledger()
    said = Compared({"level": 5}, ledger)
    assert parse("level >= 5").matches(said)
    assert not parse("level < 5").matches(said)
    ledger.stepped(7, Fired(None), [], 0)
    assert msgspec.msgpack.encode(said) == msgspec.msgpack.encode({"level": 5})  # to be sent is not to be compared
    ledger.stepped(8, Fired(None), [], 0)
    assert ledger.matches == {7: 2}


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "flood"])
def test_where_filters_run_at_the_reader_each_asks_its_own_until_one_matches(spread: Spread) -> None:
    ran = town(ComparedDesign(spread=spread))
    asked = 0
    for fate in ran.outcomes():
        for peer in {**fate.copies, fate.publisher: 0}:
            mine = [each for each in ran.crowd.wants[peer] if each.topic in (fate.event.topic, fate.event.topic[:3])]
            for pattern in mine:
                asked += pattern.where != ""
                if not pattern.where or parse(pattern.where).matches({**fate.event.attributes}):
                    break
    assert asked > 0
    assert sum(ran.ledger.matches.values()) == asked


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_where_filters_run_inside_the_network_those_who_carry_ask_too(spread: Spread) -> None:
    inside, at_readers = (measures(town(ComparedDesign(spread=each))) for each in (spread, "camcast"))
    assert inside["matches"] > at_readers["matches"] > 0
    assert inside["matches"] >= inside["matches_max"] > 0


def test_without_filters_nothing_is_compared() -> None:
    plain = replace(WORK, filtered=0.0)
    for design in DESIGNS:
        assert measured(Comparison(design=design, workload=plain, network=CALM), 3)["matches"] == 0.0


# -- as live nodes have it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "hpmcast", "dispatch"])
def test_nodes_are_put_together_as_live_ones_are(spread: SpreadName) -> None:
    """But for the spool, which a world does not have."""
    config = Config(name="n", spread=spread, hpmcast=replace(LIVE_PLACE, branching=(2, 2), address="0.1"))
    live = config.design.node(
        1, 7, Hierarchy(), config.params_of, lambda: config.scamp, config.search, str, config.recovery_of
    )
    ours = node_of(ComparedDesign(spread=spread, recovery="live"), Comparison().params, 1, 7, (0, 1), (2, 2))
    assert [settings(layer) for layer in ours.layers] == [settings(layer) for layer in live.layers]


def settings(layer: Layer) -> tuple[object, ...]:
    """Its kind and what it was given: parameters of all topics are those of one."""
    said = getattr(layer, "settings", None) or getattr(layer, "params_of", None) or getattr(layer, "params", None)
    params = said.of(".a") if hasattr(said, "of") else said(".a") if callable(said) else said
    if isinstance(params, RecoveryParams):
        params = replace(params, store=False)
    tables = getattr(getattr(layer, "members", None), "tables", None)
    return type(layer), params, getattr(tables, "upkeep", None)


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["camcast", "spidercast", "hpmcast", "dispatch"])
def test_recovery_makes_good_what_links_lose(spread: Spread) -> None:
    lossy = NetworkConditions(loss=0.2, warmup_s=20.0, settle_s=20.0)
    work = Workload(branching=(3, 3, 3), events=20)
    with_it, without = (
        measured(Comparison(design=ComparedDesign(spread=spread, recovery=on), workload=work, network=lossy), 1)
        for on in ("live", "none")
    )
    assert with_it["delivery"] == 1.0
    assert without["delivery"] <= with_it["delivery"]
    assert with_it["words"] > without["words"]
