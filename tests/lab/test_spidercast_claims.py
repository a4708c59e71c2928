"""Verdicts about SpiderCast: each follows from the numbers, and could be the other one."""

from collections.abc import Callable

import pytest

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim
from gossamer.lab.papers import spidercast_compared as compared
from gossamer.lab.papers import spidercast_connected as connected
from gossamer.lab.papers import spidercast_moving as moving
from gossamer.lab.papers import spidercast_scaling as scaling
from gossamer.lab.papers import spidercast_table as table
from gossamer.lab.papers.spidercast_words import straightness
from lab.worlds import Change, World

WORLD = World.of("spidercast")
OURS = compared.OURS


def test_every_claim_can_be_judged_and_says_by_which_rule() -> None:
    assert len(WORLD.claims(9.0)) >= 95


def test_every_number_of_the_table_is_judged() -> None:
    claims = {claim.id: claim for claim in table.table(WORLD.book(10.1))}
    assert len(claims) == 7 * 6
    assert claims["fig12-similarity(10,0)-1000"].verdict == "reproduced"
    assert claims["fig12-spidercast(3,0)-10000"].verdict == "differs"
    assert "10.81" in claims["fig12-spidercast(3,0)-1000"].paper_says


def test_in_a_world_without_differences_no_difference_is_found() -> None:
    held = WORLD.reproduced(9.0)
    assert not held & {
        "at-least-45-percent", "3-0-suffices", "fig7-falls-with-nodes", "fig7-order", "fig8a-degree", "fig8d-tdi",
        "fig8b-logarithmic", "fig8c-up-and-down", "fig8f-tdi", "links-cover-topics", "fig13-others-fall-apart",
        "fig13-grow-with-nodes", "fig13-random-instead-of-similar", "fig11-connected", "fig10-connected",
        "churn-fewer-messages-with-more-nodes", "fig13-all-connected",
    }  # fmt: skip
    assert {"fig7-below-12", "fig9-equal-means", "fig10-small-effect", "fig14-ring-does-not-change"} <= held


def test_every_section_can_be_drawn() -> None:
    assert len(WORLD.drawn(0.5)) == 3


CHANGED: dict[str, tuple[Callable[[Book], Claim], str, float, tuple[Change, ...]]] = {
    "a degree above 12": (
        table.below_twelve, "differs", 9.0, (("fig7", "degree_mean", 12.5, {"case": "nyse", "nodes": 1000}),),
    ),
    "the order of popularities": (
        table.order_of_popularities, "reproduced", 9.0,
        (("fig7", "degree_mean", 8.0, {"case": "nyse"}), ("fig7", "degree_mean", 10.0, {"case": "uniform"})),
    ),
    "alike and yet more links": (
        table.tdi_explains, "differs", 9.0,
        (("fig7", "degree_mean", 8.0, {"case": "nyse"}), ("fig7", "tdi", 8.0, {"case": "nyse"})),
    ),
    "one topic falls apart once": (
        connected.greedy_suffices, "differs", 0.0,
        (("fig7", "topics_partitioned", 1.0, {"case": "rss", "nodes": 4000}),),
    ),
    "none does": (connected.greedy_suffices, "reproduced", 0.0, ()),
    "fewer links connect as well": (
        connected.fewest_links, "differs", 0.0, (("coverage", "degree_mean", 9.0, {"case": "(3,0)"}),),
    ),
    "fewer links do not": (
        connected.fewest_links, "reproduced", 1.0,
        (
            ("coverage", "topics_partitioned", 0.0, {"case": "(3,0)"}),
            ("coverage", "degree_mean", 9.0, {"case": "(3,0)"}),
        ),
    ),
    "a skew partitions": (
        connected.zipf2_partitions, "reproduced", 0.0,
        tuple(("fig6", "topics_partitioned", 14.0, {"case": "(3,0)", "nodes": n}) for n in (6000, 8000, 10000)),
    ),
    "a skew does not partition": (connected.zipf2_partitions, "differs", 0.0, ()),
    "adaptive nodes spend random links for nothing": (
        connected.adaptive, "differs", 0.0, (("adaptive", "random_links", 0.2, {"case": "uniform"}),),
    ),
    "ways grow much": (
        connected.diameter_is_logarithmic, "differs", 6.0,
        (("fig8a", "diameter_topic_max", 20.0, {"topics": 100, "nodes": 10000}),),
    ),
    "degrees rise, then fall": (
        scaling.subscriptions_at_ten_thousand, "reproduced", 9.0,
        tuple(("fig8c", "degree_mean", mean, {"case": case, "nodes": 10000})
              for case, mean in (("10", 9.0), ("15", 10.0), ("20", 11.0), ("30", 10.5), ("40", 9.5))),
    ),
    "degrees only rise": (
        scaling.subscriptions_at_ten_thousand, "differs", 9.0,
        tuple(("fig8c", "degree_mean", mean, {"case": case, "nodes": 10000})
              for case, mean in (("10", 9.0), ("15", 10.0), ("20", 11.0), ("30", 12.0), ("40", 13.0))),
    ),
    "degrees follow the logarithm": (
        scaling.logarithmic_in_topics, "reproduced", 9.0,
        tuple(("fig8b", "degree_mean", mean, {"topics": topics})
              for topics, mean in ((100, 2.0), (200, 2.3), (400, 2.6), (600, 2.78), (800, 2.9), (1000, 3.0))),
    ),
    "degrees follow the number": (
        scaling.logarithmic_in_topics, "differs", 9.0,
        tuple(("fig8b", "degree_mean", topics / 100, {"topics": topics}) for topics in (100, 200, 400, 600, 800, 1000)),
    ),
    "small views cost much": (
        scaling.small_views, "differs", 9.0, (("fig10", "degree_mean", 14.0, {"view": 0.05, "nodes": 8000}),),
    ),
    "greedy links serve many topics": (
        scaling.links_cover, "reproduced", 1.5, (("coverage", "topics_per_link", 4.0, {"case": "(3,0)"}),),
    ),
    "rings cost nearly twice": (
        compared.at_least_45, "reproduced", 120.0,
        (("fig14", "degree_mean", 66.0, {"case": OURS}), ("fig12", "degree_mean", 60.0, {"case": OURS})),
    ),
    "rings cost half as much again": (
        compared.at_least_45, "differs", 120.0,
        (("fig14", "degree_mean", 80.0, {"case": OURS}), ("fig12", "degree_mean", 60.0, {"case": OURS})),
    ),
    "one snapshot shows a gap": (
        moving.stays_connected, "differs", 0.0, (("fig11", "topics_partitioned", 1.0, {"nodes": 2500, "up_s": 100.0}),),
    ),
    "no snapshot does": (moving.stays_connected, "reproduced", 0.0, ()),
    "short lives cost links": (
        moving.degree_is_flat, "differs", 9.0, (("fig11", "degree_mean", 11.0, {"nodes": 2500, "up_s": 100.0}),),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judge", "expected", "value", "changes"), CHANGED.values(), ids=CHANGED)
def test_the_numbers_decide(
    judge: Callable[[Book], Claim], expected: str, value: float, changes: tuple[Change, ...]
) -> None:
    assert judge(WORLD.book(value, *changes)).verdict == expected


def test_straightness_is_that_of_the_scale_asked_for() -> None:
    assert straightness([1, 2, 3], [2, 4, 6], log=False) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=True) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=False) < 0.9
    assert straightness([1, 2, 3], [5, 5, 5], log=True) == 0.0
