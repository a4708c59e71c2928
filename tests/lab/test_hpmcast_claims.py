"""Verdicts about hpmcast: each follows from the numbers, and could be the other one."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim
from gossamer.lab.grid import points
from gossamer.lab.papers import hpmcast_analysis as analysis
from gossamer.lab.papers import hpmcast_costs as costs
from gossamer.lab.papers import hpmcast_plots as plots
from gossamer.lab.papers import hpmcast_reached as reached
from gossamer.lab.papers import paper
from gossamer.lab.spec import read
from gossamer.lab.studies.hierarchy.metrics import METRICS

PAPER = paper("hpmcast")
POINTS = {name: points(*read(name)) for name in PAPER.experiments}


def line(mean: float, metric: str = "delivery", ci95: float = 0.001, **point: Any) -> Line:
    said = {"p50": mean, "p99": mean, "max": mean, "runs": 8}
    return Line(point=point, group="all", metric=metric, mean=mean, ci95=ci95, **said)


def flat(value: float) -> dict[str, list[Line]]:
    """A world in which nothing makes a difference."""
    return {
        name: [line(value, metric, **point.swept) for point in made for metric in METRICS]
        for name, made in POINTS.items()
    }


def changed(experiment: str, metric: str, mean: float, **where: Any) -> Book:
    """The flat world, but for some lines."""
    lines = flat(0.5)
    hit = 0
    for at, each in enumerate(lines[experiment]):
        last = {field.rpartition(".")[2]: value for field, value in each.point.items()}
        if each.metric == metric and all(last[field] == value for field, value in where.items()):
            lines[experiment][at] = msgspec.structs.replace(each, mean=mean, p50=mean, p99=mean, max=mean)
            hit += 1
    assert hit
    return Book(lines)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain of 10,648 participants takes seconds; here any number does."""
    monkeypatch.setattr(analysis, "predicted", lambda interest: 0.5)
    monkeypatch.setattr(plots, "predicted", lambda interest: 0.5)
    monkeypatch.setattr(analysis, "PARTICIPANTS", 1000)


def test_every_claim_can_be_judged_and_says_by_which_rule() -> None:
    claims = PAPER.claims(Book(flat(0.5)))
    assert len({claim.id for claim in claims}) == len(claims) >= 45
    assert all(claim.why and claim.where and claim.paper_says and claim.ours for claim in claims)


def test_the_rule_of_every_claim_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text()
    assert [claim.id for claim in PAPER.claims(Book(flat(0.5))) if f"`{claim.id}`" not in page] == []


def test_in_a_world_without_differences_only_what_claims_none_or_is_worked_out_is_reproduced() -> None:
    held = {claim.id for claim in PAPER.claims(Book(flat(0.5))) if claim.verdict == "reproduced"}
    worked_out = {"fixed-rounds-weaken", "broadcast-identity", "updates", "mean-level-rises"}
    assert held == worked_out | {"markov-chain", "messages-grow-slowly", "matched-by-r", "broadcast-depth"}


def test_every_section_can_be_drawn() -> None:
    parts = PAPER.analysis(Book(flat(0.5)))
    drawn = [figure.name for part in parts for figure in part.figures]
    swept = [figure.name for made in POINTS.values() for figure in made[0].spec.figures]
    assert len(drawn) == 3
    assert len({*drawn, *swept}) == len(drawn) + len(swept)  # each becomes a file
    assert all(len(row) == len(part.columns) for part in parts for row in part.rows)


ONE_CHANGE: dict[str, tuple[Any, str, str, str, float, dict[str, Any]]] = {
    "the chain is missed": (
        analysis.chain, "differs", "variants", "delivery", 0.52, {"variant": "pmcast", "interest": 0.5},
    ),
    "pmcast bothers nobody": (
        costs.pmcast_is_genuine, "reproduced", "variants", "spurious", 0.0, {"variant": "pmcast"},
    ),
    "messages per participant explode": (
        costs.messages_grow_slowly, "differs", "sizes", "messages_each", 1.5, {"branching": 30000},
    ),
    "too much was matched": (costs.matched_by_few, "differs", "fig7", "matches", 40_000.0, {"interest": 0.5}),
    "everybody is reached": (costs.once_with_log_n, "reproduced", "once", "reached_all", 0.96, {"fanout": 10}),
    "estimates are cheap": (
        costs.estimates_suffice, "reproduced", "estimated", "matches", 0.05, {"estimated": True},
    ),
    "a broadcast below helps": (costs.broadcast_below, "reproduced", "lowest", "delivery", 0.9, {"lan": 22}),
    "the lowest level is to blame": (
        reached.lowest_level_fails_first, "reproduced", "lowest", "delivery", 0.9, {"lan": 22, "interest": 0.01},
    ),
    "the lowest level is hardly to blame": (
        reached.lowest_level_fails_first, "differs", "lowest", "delivery", 0.6, {"lan": 22, "interest": 0.01},
    ),
    "a reliable top helps": (costs.reliable_top, "reproduced", "top", "delivery", 0.6, {"attempts": 4}),
    "caution pays": (costs.conservative, "reproduced", "loss", "delivery", 0.6, {"expected_loss": 0.3}),
    "fanout saves rounds": (reached.fanout_saves_rounds, "reproduced", "fig10", "rounds", 0.3, {"fanout": 10}),
    "fanout costs rounds": (reached.fanout_saves_rounds, "differs", "fig10", "rounds", 0.7, {"fanout": 10}),
    "fanout matters": (reached.fanout_changes_reliability, "reproduced", "fig10", "delivery", 0.6, {"fanout": 4}),
    "depth costs rounds": (reached.depth_costs_rounds, "differs", "depth", "rounds", 3.0, {"case": "6"}),
    "few fall with size": (
        reached.small_interest_scales_worse, "reproduced", "fig11", "delivery", 0.4,
        {"interest": 0.02, "branching": 40},
    ),
    "more are bothered than delegates": (
        reached.delegates_only, "differs", "fig7", "spurious", 0.14, {"interest": 0.5},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judge", "expected", "file", "metric", "mean", "where"), ONE_CHANGE.values(), ids=ONE_CHANGE)
def test_one_number_decides(
    judge: Any, expected: str, file: str, metric: str, mean: float, where: dict[str, Any]
) -> None:
    claim: Claim = judge(changed(f"hpmcast/{file}", metric, mean, **where))
    assert claim.verdict == expected


def test_trends_are_read_off_whole_series() -> None:
    lines = flat(0.5)
    for file, field in (("fig8", "workload.interest"), ("fig12", "params.delegates")):
        values = sorted({each.point[field] for each in lines[f"hpmcast/{file}"]})
        shares = {value: 0.3 + 0.6 * (1 - 0.5 ** (at + 1)) for at, value in enumerate(values)}
        lines[f"hpmcast/{file}"] = [
            msgspec.structs.replace(each, mean=shares[each.point[field]]) if each.metric == "delivery" else each
            for each in lines[f"hpmcast/{file}"]
        ]
    book = Book(lines)
    assert reached.redundancy_helps(book).verdict == "reproduced"
    assert reached.redundancy_saturates(book).verdict == "reproduced"
    assert reached.falls_for_small_interest(book).verdict == "differs"  # it rises, but not below half at 0.01


def test_views_must_be_those_of_the_equation() -> None:
    lines, sizes = flat(0.5), {str(levels): made.view_size() for levels, made in analysis.DEPTHS.items()}
    for more, expected in ((0.0, "reproduced"), (1e-6, "differs")):
        lines["hpmcast/depth"] = [
            line(sizes[each.point["case"]] + more, each.metric, **each.point) for each in lines["hpmcast/depth"]
        ]
        assert analysis.view_size(Book(lines)).verdict == expected
    assert analysis.views_shrink(Book(lines)).verdict == "reproduced"


def test_the_repair_is_told_by_what_was_measured() -> None:
    assert plots.verdict_on_repair(Book(flat(0.5))) == "No number told at once reaches 99%."
    assert "no D does" in plots.verdict_on_repair(changed("hpmcast/repair", "delivery", 0.995, case="direct = 2"))
    both = plots.verdict_on_repair(Book(flat(0.995)))
    assert "direct = 1, with" in both
    assert "D = 4, with" in both
