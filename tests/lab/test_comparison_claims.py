"""Verdicts on what is held against hpmcast: each follows from the numbers, and could be the other one."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gossamer.lab.grid import points
from gossamer.lab.papers import comparison, paper
from gossamer.lab.papers.comparison import CALM, ROUNDS, WORKLOAD
from gossamer.lab.spec import read
from gossamer.protocols.hpmcast.params import Params
from lab.comparison_book import CASES, book

PAPER = paper("comparison")


BEARING_OUT: dict[str, list[tuple[str, str, str, float]]] = {
    "hpmcast-overhead": [(CALM, ROUNDS, "copies", 9.0)],
    "hpmcast-no-guarantee": [(CALM, ROUNDS, "delivery", 0.9)],
    "hpmcast-whole-events": [(WORKLOAD, ROUNDS, "bytes_delivery", 9.0)],
    "hpmcast-near-the-root": [
        (CALM, ROUNDS, "load_level_2", 2.0),
        (CALM, ROUNDS, "load_level_3", 3.0),
        (CALM, ROUNDS, "held_level_3", 2.0),
    ],
}
BREAKING = {
    "hpmcast-overhead": (CALM, ROUNDS, "duplicates", 0.0),
    "hpmcast-no-guarantee": (CALM, "dispatch", "delivery", 0.9),
    "hpmcast-whole-events": (WORKLOAD, "dispatch + recovery", "bytes_delivery", 9.0),
    "hpmcast-near-the-root": (CALM, ROUNDS, "held_level_1", 2.0),
}


def verdicts(*changes: tuple[str, str, str, float]) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in PAPER.claims(book(*changes))}


def test_where_nothing_makes_a_difference_no_claim_holds() -> None:
    assert verdicts() == {**dict.fromkeys(BEARING_OUT, "differs"), "hpmcast-whole-events": "cannot be compared"}
    assert all(claim.why and claim.ours and claim.runs == 5 for claim in PAPER.claims(book()))


@pytest.mark.parametrize("claim", BEARING_OUT)
def test_a_claim_holds_by_its_own_numbers_and_by_all_of_them(claim: str) -> None:
    assert verdicts(*BEARING_OUT[claim]) == {**verdicts(), claim: "reproduced"}
    assert verdicts(*BEARING_OUT[claim], BREAKING[claim])[claim] == verdicts()[claim]


def test_whole_events_are_judged_only_where_both_kinds_of_digests_say_the_same() -> None:
    ours, paper = ((WORKLOAD, f"dispatch + {how}", "bytes_delivery", 9.0) for how in ("recovery", "pulls"))
    assert verdicts(ours)["hpmcast-whole-events"] == verdicts(paper)["hpmcast-whole-events"] == "cannot be compared"
    assert verdicts(ours, paper)["hpmcast-whole-events"] == "differs"


@pytest.mark.parametrize(
    ("copies", "digests", "says"),
    [
        (3.0, 801.0, "from a payload of about 900 bytes on"),
        (3.0, 1.0, "from a payload of about 500 bytes on"),
        (1.0, 801.0, "no more copies than the tree"),
        (3.0, -1000.0, "with every payload"),
    ],
)
def test_the_payload_from_which_digests_pay_follows_from_copies_and_words(
    copies: float, digests: float, says: str
) -> None:
    made = book((WORKLOAD, ROUNDS, "copies", copies), (WORKLOAD, "dispatch + recovery", "bytes_delivery", digests))
    assert says in comparison.turning_point(made)


def test_the_table_has_a_row_per_design_and_the_figure_too() -> None:
    (part,) = PAPER.analysis(book())
    assert [row[0] for row in part.rows] == CASES[WORKLOAD]
    assert all(len(row) == len(part.columns) for row in part.rows)
    assert [figure.name for figure in part.figures] == ["comparison", "reached"]
    assert all(case in figure.svg for figure in part.figures for case in CASES[WORKLOAD])


def test_the_table_tells_of_parasites() -> None:
    changed = book(*((WORKLOAD, case, "parasites", 0.5 * (case == "flood")) for case in CASES[WORKLOAD]))
    (part,) = PAPER.analysis(changed)
    assert "which nothing explains: 0.5." in part.text


def test_hpmcast_is_compared_as_live_nodes_have_it_and_as_its_paper_does() -> None:
    for name, lost in ((WORKLOAD, 0.05), (CALM, 0.0)):
        params = {point.swept["case"]: point.spec.setting().params for point in points(*read(name))}
        assert params["hpmcast"] == Params.live()
        assert params[ROUNDS] == replace(Params.live(), direct=0, lan=0, expected_loss=lost)


def test_the_payload_spoken_of_is_that_of_the_files() -> None:
    said: list[Any] = [msgspec.to_builtins(each.spec) for name in PAPER.experiments for each in points(*read(name))]
    assert {each["workload"]["payload"] for each in said} == {comparison.PAYLOAD}
