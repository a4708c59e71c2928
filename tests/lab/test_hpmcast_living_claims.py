"""Verdicts about living participants: each follows from the numbers, and could be the other one."""

from typing import Any

import pytest

from gossamer.lab.papers import hpmcast_living as living
from lab.worlds import Change, World

WORLD = World.of("hpmcast")

CONTACTS: list[Change] = [
    ("joining", f"join_{what}_{distance}", 10.0 * distance, {}) for what in ("ms", "messages") for distance in (1, 2, 3)
] + [("joining", "lost_newcomers", 0.0, {})]
NOTICED: Change = ("detection", "unnoticed", 0.0, {})
UNNOTICED: Change = ("detection", "unnoticed", 0.1, {"addresses": "near", "asks": 8})
CALM: list[Change] = [NOTICED, ("detection", "mistaken", 5.0, {"addresses": "drawn", "asks": 1})]
LEVELS: list[Change] = [NOTICED, *(("detection", f"gone_s_level_{level}", 3.0 + level, {}) for level in (1, 2, 3))]
APART: list[Change] = [
    ("locality", "way_ms", 20.0, {"addresses": "alike"}),
    ("locality", "interest_level_2", 0.2, {"addresses": "alike"}),
]
CHOSEN: list[Change] = [("choice", "spurious", 0.1, {"choice": "coverage"})]
LASTING: list[Change] = [("churn", "delivery", 0.99, {})]

CASES: dict[str, tuple[Any, list[Change], str]] = {
    "a near contact is cheaper": (living.close_contact, CONTACTS, "reproduced"),
    "it is no faster": (
        living.close_contact, [*CONTACTS, ("joining", "join_ms_1", 25.0, {"delegates": 2})], "differs",
    ),
    "it costs as much": (
        living.close_contact, [*CONTACTS, ("joining", "join_messages_3", 20.0, {"delegates": 1})], "differs",
    ),
    "somebody does not get in": (
        living.close_contact, [*CONTACTS, ("joining", "lost_newcomers", 0.01, {"delegates": 1})], "differs",
    ),
    "the near are rarely mistaken for dead": (living.close_detection, CALM, "reproduced"),
    "they are as often": (living.close_detection, [NOTICED], "differs"),
    "they are more often where one asks more": (
        living.close_detection, [*CALM, ("detection", "mistaken", 9.0, {"addresses": "near", "asks": 8})], "differs",
    ),
    "their end is noticed later": (
        living.close_detection, [*CALM, ("detection", "gone_s_level_1", 9.0, {"addresses": "near"})], "differs",
    ),
    "somebody's end is never noticed": (living.close_detection, [*CALM, UNNOTICED], "differs"),
    "failures travel": (living.failures_travel, LEVELS, "reproduced"),
    "failures are known at once": (
        living.failures_travel, [*LEVELS, ("detection", "gone_s_level_3", 5.0, {})], "differs",
    ),
    "a failure stays in a view": (living.failures_travel, [*LEVELS, UNNOTICED], "differs"),
    "both kinds of nearness compete": (living.locality_and_redundancy, APART, "reproduced"),
    "likeness costs no way": (living.locality_and_redundancy, APART[1:], "differs"),
    "likeness saves no groups": (living.locality_and_redundancy, APART[:1], "differs"),
    "choosing helps": (living.chosen_by_pattern, CHOSEN, "reproduced"),
    "choosing helps but for once": (
        living.chosen_by_pattern, [*CHOSEN, ("choice", "spurious", 0.5, {"choice": "coverage", "interest": 0.25})],
        "differs",
    ),
    "events survive churn": (living.lives_with_churn, LASTING, "reproduced"),
    "not where lives are short": (
        living.lives_with_churn, [*LASTING, ("churn", "delivery", 0.95, {"up_s": 30.0})], "differs",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judge", "changes", "expected"), CASES.values(), ids=CASES)
def test_a_verdict_follows_from_what_was_measured(judge: Any, changes: list[Change], expected: str) -> None:
    assert judge(WORLD.book(0.5, *changes)).verdict == expected
