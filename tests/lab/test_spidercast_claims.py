"""Verdicts about SpiderCast: each follows from the numbers, and could be the other one."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim
from gossamer.lab.grid import points
from gossamer.lab.papers import paper
from gossamer.lab.papers import spidercast_compared as compared
from gossamer.lab.papers import spidercast_connected as connected
from gossamer.lab.papers import spidercast_moving as moving
from gossamer.lab.papers import spidercast_scaling as scaling
from gossamer.lab.papers import spidercast_table as table
from gossamer.lab.papers.spidercast_words import straightness
from gossamer.lab.spec import read
from gossamer.lab.studies.overlay.metrics import METRICS

PAPER = paper("spidercast")
POINTS = {name: points(*read(name)) for name in PAPER.experiments}
OURS = compared.OURS
Change = tuple[str, str, float, dict[str, Any]]


def line(mean: float, metric: str, **point: Any) -> Line:
    said = {"p50": mean, "p99": mean, "max": mean, "runs": 3}
    return Line(point=point, group="all", metric=metric, mean=mean, ci95=0.001, **said)


def flat(value: float) -> dict[str, list[Line]]:
    """A world in which nothing makes a difference."""
    return {
        name: [line(value, metric, **point.swept) for point in made for metric in METRICS]
        for name, made in POINTS.items()
    }


def world(value: float, *changes: Change) -> Book:
    """The flat world, but for some lines."""
    lines = flat(value)
    for file, metric, mean, where in changes:
        of_file, hit = lines[f"spidercast/{file}"], 0
        for at, each in enumerate(of_file):
            last = {field.rpartition(".")[2]: said for field, said in each.point.items()}
            if each.metric == metric and all(last[field] == said for field, said in where.items()):
                of_file[at] = msgspec.structs.replace(each, mean=mean, p50=mean, p99=mean, max=mean)
                hit += 1
        assert hit
    return Book(lines)


def test_every_claim_can_be_judged_and_says_by_which_rule() -> None:
    claims = PAPER.claims(Book(flat(9.0)))
    assert len({claim.id for claim in claims}) == len(claims) >= 95
    assert all(claim.why and claim.where and claim.paper_says and claim.ours for claim in claims)


def test_every_number_of_the_table_is_judged() -> None:
    claims = {claim.id: claim for claim in table.table(Book(flat(10.1)))}
    assert len(claims) == 7 * 6
    assert claims["fig12-similarity(10,0)-1000"].verdict == "reproduced"
    assert claims["fig12-spidercast(3,0)-10000"].verdict == "differs"
    assert "10.81" in claims["fig12-spidercast(3,0)-1000"].paper_says


def test_in_a_world_without_differences_no_difference_is_found() -> None:
    held = {claim.id for claim in PAPER.claims(Book(flat(9.0))) if claim.verdict == "reproduced"}
    assert not held & {
        "at-least-45-percent", "3-0-suffices", "fig7-falls-with-nodes", "fig7-order", "fig8a-degree", "fig8d-tdi",
        "fig8b-logarithmic", "fig8c-up-and-down", "fig8f-tdi", "links-cover-topics", "fig13-others-fall-apart",
        "fig13-grow-with-nodes", "fig13-random-instead-of-similar", "fig11-connected", "fig10-connected",
        "churn-fewer-messages-with-more-nodes", "fig13-all-connected",
    }  # fmt: skip
    assert {"fig7-below-12", "fig9-equal-means", "fig10-small-effect", "fig14-ring-does-not-change"} <= held


def test_every_section_can_be_drawn() -> None:
    parts = PAPER.analysis(Book(flat(0.5)))
    names = [figure.name for part in parts for figure in part.figures]
    assert len(set(names)) == len(names) == 3
    assert all(len(row) == len(part.columns) for part in parts for row in part.rows)


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
    assert judge(world(value, *changes)).verdict == expected


def test_straightness_is_that_of_the_scale_asked_for() -> None:
    assert straightness([1, 2, 3], [2, 4, 6], log=False) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=True) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=False) < 0.9
    assert straightness([1, 2, 3], [5, 5, 5], log=True) == 0.0
