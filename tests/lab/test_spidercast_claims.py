"""Verdicts about SpiderCast: each follows from the numbers, and could be the other one."""

from collections.abc import Callable

import pytest

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, by_group
from gossamer.lab.papers import spidercast_compared as compared
from gossamer.lab.papers import spidercast_connected as connected
from gossamer.lab.papers import spidercast_moving as moving
from gossamer.lab.papers import spidercast_readings as readings
from gossamer.lab.papers import spidercast_scaling as scaling
from gossamer.lab.papers import spidercast_table as table
from gossamer.lab.papers.spidercast_words import straightness
from lab.worlds import Change, World, assert_finished

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


def test_the_cells_of_the_table_and_the_other_reading_are_counted_apart_from_the_papers_claims() -> None:
    counted = by_group([*WORLD.claims(9.0).values()])
    assert [*counted] == ["", table.CELLS, readings.AS_PRINTED]
    assert {claim.id.partition("-")[0] for claim in counted[table.CELLS]} == {"fig12"}
    assert (len(counted[table.CELLS]), len(counted[readings.AS_PRINTED])) == (42, 8)
    assert not [claim.id for claim in counted[""] if claim.id.startswith("fig12") or claim.id.startswith("by-figure")]


def test_each_number_of_the_other_reading_is_judged_like_the_claim_by_the_prose() -> None:
    claims = WORLD.claims(9.0)
    again = [claim for claim in claims.values() if claim.group == readings.AS_PRINTED]
    assert {claim.id.removeprefix("by-figure-") for claim in again} <= claims.keys()
    for claim in again:  # in a flat world both readings give the same
        twin = claims[claim.id.removeprefix("by-figure-")]
        assert (claim.verdict, claim.where, claim.ours) == (twin.verdict, twin.where, twin.ours)
        assert claim.why.partition(" By the prose")[0] in twin.why


def test_the_report_shows_both_readings_and_says_where_the_print_lies_between_them() -> None:
    book = WORLD.book(
        11.0, ("fig11", "degree_mean", 11.5, {}), ("readings-churn", "degree_mean", 14.9, {"nodes": 1250})
    )
    one, other = (
        next(claim for claim in readings.by_the_figure(book) if claim.id == f"by-figure-churn-degree-{up}")
        for up in (1000, 2000)
    )
    assert (one.ours, one.verdict) == ("14.9", "differs")
    assert "By the prose ours is 11.5: the print lies between the two." in one.why
    assert "the print does not lie between the two." in other.why
    part = readings.two_readings(book)
    assert ("mean degree, 1,000 nodes up", "13", "11.5 ± 0.001", "14.9 ± 0.001") in part.rows
    assert f"Of these {len(part.rows)} printed numbers 1 lie" in part.text


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
        scaling.links_cover, "reproduced", 1.5, (("coverage", "topics_covered_per_link", 4.0, {"case": "(3,0)"}),),
    ),
    "ends that share much cover no more for it": (
        scaling.links_cover, "differs", 1.5, (("coverage", "topics_per_link", 4.0, {"case": "(3,0)"}),),
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
    claim = judge(WORLD.book(value, *changes))
    assert claim.verdict == expected
    assert_finished(claim)


@pytest.mark.parametrize(
    ("whole", "words"), [(6.0, "has 6, as printed."), (7.0, "has 7: neither is the printed number.")]
)
def test_of_the_whole_overlay_it_is_said_that_it_has_the_printed_diameter_only_where_it_has(
    whole: float, words: str
) -> None:
    book = WORLD.book(9.0, ("fig8a", "diameter_overlay", whole, {"topics": 100}))
    claim = next(claim for claim in connected.diameters(book) if claim.id == "fig8a-diameter-100")
    assert claim.verdict == "differs"
    assert claim.why.endswith(words)


def of_6000(partitioned: float) -> Claim:
    """The claim on Figure 6(a) at 6,000 nodes, of which 15 topics are printed."""
    book = WORLD.book(9.0, ("fig6", "topics_partitioned", partitioned, {"case": "(3,0)", "nodes": 6000}))
    return next(claim for claim in connected.zipf2_table(book) if claim.id == "fig6-partitioned-6000")


def test_ours_are_said_to_hold_topics_together_only_where_none_is_partitioned() -> None:
    whole, apart, near = of_6000(0.0), of_6000(7.0), of_6000(14.0)
    assert [claim.verdict for claim in (whole, apart, near)] == ["differs", "differs", "reproduced"]
    assert [connected.TIES in claim.why for claim in (whole, apart, near)] == [True, False, False]


def test_a_skew_that_partitions_at_one_size_is_not_said_to_hold_topics_together() -> None:
    book = WORLD.book(0.0, ("fig6", "topics_partitioned", 7.0, {"case": "(3,0)", "nodes": 8000}))
    claim = connected.zipf2_partitions(book)
    assert (claim.verdict, connected.TIES in claim.why) == ("differs", False)
    assert connected.TIES in connected.zipf2_partitions(WORLD.book(0.0)).why


@pytest.mark.parametrize(
    ("most", "verdict", "lower"), [(17.0, "differs", True), (30.0, "reproduced", False), (60.0, "differs", False)]
)
def test_a_maximum_is_said_to_be_lower_only_where_it_is(most: float, verdict: str, lower: bool) -> None:
    claims = scaling.max_degrees(WORLD.book(9.0, ("fig8a", "degree_max", most, {})))
    assert [(claim.verdict, "lower" in claim.why) for claim in claims] == [(verdict, lower)] * 2


def test_straightness_is_that_of_the_scale_asked_for() -> None:
    assert straightness([1, 2, 3], [2, 4, 6], log=False) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=True) == pytest.approx(1.0)
    assert straightness([1, 10, 100], [1, 2, 3], log=False) < 0.9
    assert straightness([1, 2, 3], [5, 5, 5], log=True) == 0.0
