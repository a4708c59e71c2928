"""What runs of the kernel of recovery must come to: exact theory where there is one, and what was asked for."""

import pytest

from gossamer.core.errors import Misuse
from gossamer.fast import recovery
from gossamer.fast.recovery import play, result, run
from gossamer.protocols.recovery import theory
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.kernel import arrays
from gossamer.protocols.recovery.params import Params

BRIEF = {"seconds": 2.0, "measure_from": 0.2, "measure_to": 1.5}
WINDOW = {"seconds": 3.0, "measure_from": 0.5, "measure_to": 2.5}


def setting(method: str, **changed: object) -> EpidemicSetting:
    return EpidemicSetting(**{**BRIEF, **changed}, recovery=Params(method=method))  # type: ignore[arg-type]


@pytest.mark.parametrize("tree", ["balanced", "random"])
@pytest.mark.parametrize("loss", [0.02, 0.1, 0.2])
def test_without_recovery_a_tree_delivers_what_its_distances_say(loss: float, tree: str) -> None:
    bare = setting("none", dispatchers=60, loss=loss, tree=tree)
    seeds = range(10)
    found = [each.delivery for each in run(bare, seeds)]
    expected = [theory.unaided(bare, *theory.readers(bare, seed), seed) for seed in seeds]
    beyond = [ours - theirs for ours, theirs in zip(found, expected)]
    mean = sum(beyond) / len(beyond)
    error = (sum((each - mean) ** 2 for each in beyond) / (len(beyond) - 1) / len(beyond)) ** 0.5
    assert 0 < error < 0.01
    assert abs(mean) < 4 * error


@pytest.mark.parametrize("method", ["subscriber-pull", "publisher-pull", "combined"])
def test_where_nothing_is_lost_pull_is_silent(method: str) -> None:
    for each in run(setting(method, loss=0.0), range(3)):
        assert (each.gossip_hops, each.requests, each.retransmissions, each.missed) == (0, 0, 0, 0)
        assert each.delivered == each.expected > 0


def test_where_nothing_is_lost_push_gossips_all_the_same() -> None:
    for each in run(setting("push", loss=0.0), range(3)):
        assert each.gossip_hops > 1000
        assert each.delivered == each.expected > 0


@pytest.mark.parametrize(("method", "least"), [("push", 0.9), ("combined", 0.9)])
def test_recovery_finds_most_of_what_a_hundred_dispatchers_lose(method: str, least: float) -> None:
    """100 of degree 4, 70 patterns, 2 subscriptions, up to 3 patterns an event, 50 events/s, cache 1500, T 30 ms."""
    paper = EpidemicSetting(recovery=Params(method=method))  # type: ignore[arg-type]
    assert 0.54 < theory.unaided(paper, *theory.readers(paper, 1), 1) < 0.58
    assert run(paper, [1])[0].delivery >= least


SPARSE = {"patterns": 200, "subscriptions": 1, "patterns_per_event": 3, "rate": 40.0, "measure_from": 0.0}
"An event of a stream every 2.5 seconds: most losses are of the first few."


@pytest.mark.parametrize("method", ["publisher-pull", "combined"])
def test_the_first_events_of_a_stream_are_found_too(method: str) -> None:
    sparse = {**SPARSE, "dispatchers": 30, "seconds": 20.0, "measure_to": 3.0}
    (found,) = run(EpidemicSetting(**sparse, recovery=Params(method=method)), [1])  # type: ignore[arg-type]
    (without,) = run(EpidemicSetting(**sparse, recovery=Params(method="none")), [1])  # type: ignore[arg-type]
    assert without.delivery < 0.72
    assert found.delivery > 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("publisher-pull", 0.93), ("combined", 0.90)])
def test_that_holds_where_streams_are_sparse(method: str, least: float) -> None:
    """100 of degree 4, 200 patterns, 1 subscription, up to 3 patterns an event, 40 events/s, cache 1,000, T 30 ms."""
    sparse = EpidemicSetting(**SPARSE, recovery=Params(method=method, cache=1000))  # type: ignore[arg-type]
    found = [each.delivery for each in run(sparse, range(8))]
    assert sum(found) / len(found) >= least


@pytest.mark.slow
def test_that_holds_for_eight_seeds_and_combining_beats_either_pull() -> None:
    found = {
        method: [each.delivery for each in run(EpidemicSetting(recovery=Params(method=method)), range(8))]
        for method in ("none", "push", "subscriber-pull", "publisher-pull", "combined")
    }
    assert all(0.54 < each < 0.58 for each in found["none"])
    assert min(found["push"]) >= 0.9
    assert min(found["combined"]) >= 0.9
    assert max(*found["subscriber-pull"], *found["publisher-pull"]) < min(found["combined"])


def test_a_run_that_needs_more_room_is_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = setting("push", dispatchers=20, patterns=5, latency_us=20_000)
    wide = run(busy, [3])
    for name, room in {"MESSAGES_AT_ONCE": 64, "DIGESTS_AT_ONCE": 8, "COPIES_AT_ONCE": 256, "LOST_AT_ONCE": 4}.items():
        monkeypatch.setattr(arrays, name, room)
    assert run(busy, [3]) == wide


def test_a_run_that_can_never_have_enough_room_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "SCALE_MAX", 1)
    monkeypatch.setattr(arrays, "MESSAGES_AT_ONCE", 2)
    with pytest.raises(OverflowError, match="lengthen the interval"):
        play(setting("push"), 1)


def test_losses_in_bursts_and_storms_are_as_many() -> None:
    for changed in ({"burst": 5.0}, {"loss_period_s": 0.5, "loss_share": 0.25}):
        lossy = setting("none", dispatchers=2, degree=1, patterns=1, subscriptions=1, patterns_per_event=1,
                        rate=2000.0, **WINDOW, **changed)  # fmt: skip
        found = run(lossy, range(4))
        # each event is wanted by its publisher, who has it, and by the other, who gets it or not
        assert sum(each.delivery for each in found) / 4 == pytest.approx(0.95, abs=0.01)


def test_a_vanished_link_costs_deliveries_and_the_next_tree_delivers_again() -> None:
    whole, broken = (setting("none", loss=0.0, reconfigure_every_s=every) for every in (0.0, 0.5))
    assert run(whole, [1])[0].delivery == 1
    assert 0.5 < run(broken, [1])[0].delivery < 1


def test_latencies_and_rates_are_in_the_units_they_say() -> None:
    one = run(setting("combined"), [1])[0]
    assert one.gossip_hops_per_s == one.gossip_hops / 100 / 2.0
    assert one.event_hops_per_s == one.event_hops / 100 / 2.0
    assert one.recovery_latency_ms_p50 is not None
    assert one.recovery_latency_ms_p99 is not None
    assert 1 < one.recovery_latency_ms_p50 < one.recovery_latency_ms_p99 < 2000


def test_publishers_compare_with_every_pattern_and_relays_stop_at_the_first() -> None:
    bare, pulling = (run(setting(method), [1])[0] for method in ("none", "combined"))
    assert pulling.matched_tagging == pulling.events * len({p for mine in setting("none").subscribed(1) for p in mine})
    assert bare.matched_tagging == 0
    assert bare.matched_routing == pulling.matched_routing
    assert bare.routed >= bare.events


def test_routing_a_line_of_three_compares_what_can_be_counted_by_hand() -> None:
    line = setting("none", dispatchers=3, degree=2, loss=0.0, patterns=2, subscriptions=2, patterns_per_event=1,
                   rate=50.0)  # fmt: skip
    room = play(line, 1)
    one = result(line, 1, room)
    first = room.book.tags[:, 0]
    # Two links are asked, whoever publishes. Everybody wants both patterns: one is found at once, one after the other.
    assert one.matched_routing == 2 * sum(int(tag) + 1 for tag in first)
    assert one.routed == 3 * one.events


def test_what_only_live_networks_do_is_refused() -> None:
    with pytest.raises(Misuse, match="tail_after_us is for live networks"):
        run(EpidemicSetting(recovery=Params(tail_after_us=1000)), [1])
