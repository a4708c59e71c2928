"""Verdicts about epidemic recovery: each follows from the numbers, and could be the other one."""

from typing import Any

import msgspec
import pytest

from gossamer.lab.book import Book
from gossamer.lab.claims import above, not_below
from gossamer.lab.papers import epidemic_costs as costs
from gossamer.lab.papers import epidemic_delivery as delivered
from gossamer.lab.papers import epidemic_tuning as tuning
from lab.worlds import World, assert_finished, line

WORLD = World.of("epidemic")


def test_every_claim_can_be_judged_and_says_by_which_rule() -> None:
    assert len(WORLD.claims(0.5)) >= 28


def test_in_a_world_without_differences_only_what_claims_none_is_reproduced() -> None:
    assert WORLD.reproduced(0.5) == {
        "nothing-by-itself", "limited-overhead", "few-subscribers-spare-push", "scalable", "load-is-shared",
    }  # fmt: skip


def test_every_section_can_be_drawn() -> None:
    assert len(WORLD.drawn(0.5)) == 6


ONE_CHANGE: dict[str, tuple[Any, str, str, str, float, dict[str, Any]]] = {
    "theory is met": (
        delivered.without_recovery, "differs", "loss", "delivery", 0.6, {"method": "none", "loss": 0.2},
    ),
    "pull is no quicker in the end": (
        delivered.pull_is_faster, "differs", "waiting", "delivery", 0.9, {"method": "combined", "seconds": 7.0},
    ),
    "push finds more at low rates": (
        delivered.low_rates_favour_push, "reproduced", "rates", "delivery", 0.6, {"method": "push", "rate": 0.25},
    ),
    "few subscribers find much less": (
        delivered.few_subscribers_hurt_pull, "reproduced", "subscribers", "found_again", 0.2,
        {"method": "subscriber-pull", "subscriptions": 1},
    ),
    "few subscribers find a little less": (
        delivered.few_subscribers_hurt_pull, "differs", "subscribers", "found_again", 0.4,
        {"method": "subscriber-pull", "subscriptions": 1},
    ),
    "push minds few subscribers": (
        delivered.few_subscribers_spare_push, "differs", "subscribers", "found_again", 0.3,
        {"method": "push", "subscriptions": 1},
    ),
    "combined is better than the subscribers alone": (
        delivered.combining_overcomes, "reproduced", "subscribers", "delivery", 0.6,
        {"method": "combined", "subscriptions": 1},
    ),
    "combined is better than both": (
        delivered.combining_improves, "reproduced", "subscribers", "delivery", 0.6,
        {"method": "combined", "subscriptions": 8},
    ),
    "patterns per event count": (
        delivered.patterns_per_event_decide, "reproduced", "per-event", "found_again", 0.9,
        {"method": "push", "patterns_per_event": 8},
    ),
    "the sheer number counts": (
        delivered.patterns_per_event_decide, "differs", "patterns", "found_again", 0.1,
        {"method": "push", "patterns": 160},
    ),
    "chance is the better policy": (
        tuning.discard_by_chance, "reproduced", "policies", "delivery", 0.6, {"case": "by chance", "method": "push"},
    ),
    "the whole table is the better choice": (
        tuning.whole_table, "reproduced", "variants", "delivery", 0.6, {"case": "push"},
    ),
    "too much overhead": (
        costs.limited_overhead, "differs", "methods", "overhead", 1.5, {"method": "push"},
    ),
    "rounds at once cost more": (
        costs.delayed_rounds, "reproduced", "variants", "gossip_hops_per_s", 0.9, {"case": "combined, at once"},
    ),
    "publishers send most": (
        costs.first_holder, "differs", "variants", "served_by_publisher", 0.9,
        {"case": "publisher-pull, kept along the way"},
    ),
    "one dispatcher bears the load": (
        costs.load_is_shared, "differs", "methods", "busiest", 5.0, {"method": "push"},
    ),
    "what is gained shrinks": (
        costs.scalable, "differs", "sizes", "delivery", 0.4, {"method": "push", "dispatchers": 120},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judge", "expected", "file", "metric", "mean", "where"), ONE_CHANGE.values(), ids=ONE_CHANGE)
def test_one_number_decides(
    judge: Any, expected: str, file: str, metric: str, mean: float, where: dict[str, Any]
) -> None:
    claim = judge(WORLD.book(0.5, (file, metric, mean, where)))
    assert claim.verdict == expected
    assert_finished(claim)


def test_silence_is_exact() -> None:
    lines = WORLD.flat(0.0)
    for each in lines["epidemic/loss"]:
        assert each.mean == 0
    lines["epidemic/loss"] = [
        msgspec.structs.replace(each, mean=1.0, p50=1.0, max=1.0)
        if each.metric == "delivery" or (each.metric == "gossip_hops_per_s" and each.point["recovery.method"] == "push")
        else each
        for each in lines["epidemic/loss"]
    ]
    assert costs.pull_is_silent(Book(lines)).verdict == "reproduced"
    lines["epidemic/loss"] = [
        msgspec.structs.replace(each, max=1.0)
        if (each.metric, each.point["recovery.method"]) == ("retransmissions", "combined")
        else each
        for each in lines["epidemic/loss"]
    ]
    assert costs.pull_is_silent(Book(lines)).verdict == "differs"  # one message in one run


def test_intervals_must_not_touch() -> None:
    assert above(line(0.6, ci95=0.04), line(0.5, ci95=0.04))
    assert not above(line(0.6, ci95=0.05), line(0.5, ci95=0.06))
    assert not_below(line(0.5, ci95=0.05), line(0.6, ci95=0.05))
    assert not not_below(line(0.5, ci95=0.04), line(0.6, ci95=0.04))
