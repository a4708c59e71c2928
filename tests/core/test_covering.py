"""Held back is what something shown covers, whatever `covers` can tell."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import lines_run
from gossamer.core.covering import FREED_PAIRS_MAX, SEARCHED_MAX, Covering
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy

PLAIN, CROSSED = Hierarchy(), Hierarchy({".a.b": [".x"], ".x.y": [".a"]})
TOPICS = [".", ".a", ".a.b", ".a.b.c", ".x", ".x.y"]
NAMES = ["", *(f"n{number}" for number in range(4))]
PATTERNS = [Pattern(topic, name) for topic in TOPICS for name in NAMES]
ACTS = st.lists(st.tuples(st.booleans(), st.sampled_from(PATTERNS)), max_size=60)
RELATION = st.sets(st.tuples(st.sampled_from(NAMES[1:]), st.sampled_from(NAMES[1:])), max_size=8)


def from_pairs(pairs: set[tuple[str, str]]) -> Callable[[str, str], bool]:
    return lambda wide, narrow: wide == narrow or (wide, narrow) in pairs


def includes(hierarchy: Hierarchy, covers: Callable[[str, str], bool], wide: Pattern, narrow: Pattern) -> bool:
    within = hierarchy.includes(wide.topic, narrow.topic)
    return within and (not wide.where or (narrow.where != "" and covers(wide.where, narrow.where)))


def reachable(hierarchy: Hierarchy, covers: Callable[[str, str], bool], wide: Pattern) -> set[Pattern]:
    """Everything under a pattern, step by step: what `covers` tells need not be all."""
    found = [wide]
    for each in found:
        found += [other for other in PATTERNS if other not in found and includes(hierarchy, covers, each, other)]
    return set(found)


def may_compare(pairs: int) -> AbstractContextManager[object]:
    return patch("gossamer.core.covering.FREED_PAIRS_MAX", pairs)


@settings(max_examples=150)
@given(ACTS, RELATION, st.sampled_from([PLAIN, CROSSED]), st.sampled_from([0, 3, 1_000]))
def test_everything_held_back_stands_under_something_shown(
    acts: list[tuple[bool, Pattern]], pairs: set[tuple[str, str]], hierarchy: Hierarchy, most: int
) -> None:
    """The relation of filters is drawn at will: neither complete, nor without circles. However few are compared."""
    with may_compare(most):
        check_held(acts, from_pairs(pairs), hierarchy)


def check_held(acts: list[tuple[bool, Pattern]], covers: Callable[[str, str], bool], hierarchy: Hierarchy) -> None:
    kept, there = Covering(hierarchy, covers), {}
    told: dict[Pattern, None] = {}
    for comes, pattern in acts:
        if comes:
            kept.add(pattern)
            there[pattern] = None
        else:
            kept.remove(pattern)
            there.pop(pattern, None)
        for changed in kept.changed:  # whoever follows the changes knows what is shown
            told.pop(changed, None)
            if changed in kept.shown:
                told[changed] = None
        kept.changed.clear()
        assert told.keys() == kept.shown.keys()
        assert {*kept.shown, *kept.held} == {*there}
        assert not {*kept.shown} & {*kept.held}
        assert {each for topic in TOPICS for each in kept.of_topic(topic)} == {*kept.shown}
        under = [(held, by) for by in kept.shown for held in kept.under(by)]
        assert sorted(held for held, _ in under) == sorted(kept.held)
        assert all(kept.held_by(held) == by for held, by in under)
        for held, by in under:
            assert held in reachable(hierarchy, covers, by)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.sampled_from(TOPICS)), max_size=60))
def test_where_covers_is_an_order_the_widest_are_shown(acts: list[tuple[bool, int, str]]) -> None:
    def divides(wide: str, narrow: str) -> bool:
        return int(narrow) % int(wide) == 0

    kept = Covering(CROSSED, divides)
    there: set[Pattern] = set()
    for comes, number, topic in acts:
        pattern = Pattern(topic, str(number) if number else "")
        with may_compare(10_000):
            (kept.add if comes else kept.remove)(pattern)
        (there.add if comes else there.discard)(pattern)
        widest = [
            each
            for each in there
            if not any(other != each and includes(CROSSED, divides, other, each) for other in there)
        ]
        assert sorted(kept.shown) == sorted(widest)


@pytest.mark.parametrize("filtered", [False, True])
def test_without_a_relation_everything_is_shown(filtered: bool) -> None:
    kept, there = Covering(None), [each for each in PATTERNS if filtered or not each.where]
    for each in there:
        kept.add(each)
    assert [*kept.shown] == there
    for each in there:
        kept.remove(each)
    assert not kept.shown


def test_beyond_a_number_no_filters_are_compared() -> None:
    asked = 0

    def never(wide: str, narrow: str) -> bool:
        nonlocal asked
        asked += 1
        return False

    kept = Covering(PLAIN, never)
    for number in range(4 * SEARCHED_MAX):
        kept.add(Pattern(".a", f"n{number}"))
    assert len(kept.shown) == 4 * SEARCHED_MAX
    assert asked <= 2 * SEARCHED_MAX * (SEARCHED_MAX + 1)
    for number in range(4 * SEARCHED_MAX):
        kept.add(Pattern(f".a.b{number}"))
    kept.add(Pattern(".", "n0"))
    assert asked <= 2 * SEARCHED_MAX * (SEARCHED_MAX + 1)


def test_topics_are_told_apart_however_many_there_are() -> None:
    kept = Covering(PLAIN)
    for number in range(3 * SEARCHED_MAX):
        kept.add(Pattern(f".a.t{number}"))
    kept.add(Pattern(".a"))
    kept.add(Pattern(".a.t7.below", "x > 1"))
    assert [*kept.shown] == [Pattern(".a")]
    kept.remove(Pattern(".a"))
    assert len(kept.shown) == 3 * SEARCHED_MAX
    assert [*kept.held] == [*kept.under(Pattern(".a.t7"))] == [Pattern(".a.t7.below", "x > 1")]


def nested(patterns: int) -> list[Pattern]:
    """Each includes all that follow."""
    return [Pattern(".a", str(number)) for number in range(patterns)]


ORDERS: dict[str, Callable[[list[Pattern]], Sequence[Pattern]]] = {
    "widest first": lambda patterns: patterns,
    "narrowest first": lambda patterns: patterns[::-1],
    "from the middle": lambda patterns: sorted(patterns, key=lambda each: abs(int(each.where) - len(patterns) // 2)),
}


@pytest.mark.parametrize("comes", ORDERS)
@pytest.mark.parametrize("goes", ORDERS)
def test_nested_filters_go_at_the_cost_of_a_few_comparisons_each(comes: str, goes: str) -> None:
    asked = 0

    def is_less(wide: str, narrow: str) -> bool:
        nonlocal asked
        asked += 1
        return int(wide) <= int(narrow)

    kept, patterns = Covering(PLAIN, is_less), nested(4 * SEARCHED_MAX)
    for each in ORDERS[comes](patterns):
        kept.add(each)
    assert [*kept.shown] == patterns[:1]
    asked = 0
    steps = lines_run(lambda: [kept.remove(each) for each in ORDERS[goes](patterns)])
    assert not {*kept.shown, *kept.held}
    assert asked <= FREED_PAIRS_MAX**2
    assert steps <= 110 * len(patterns)


def test_ever_wider_filters_come_at_the_cost_of_a_few_steps_each() -> None:
    def steps(patterns: int) -> int:
        kept = Covering(PLAIN, lambda wide, narrow: int(wide) <= int(narrow))
        return lines_run(lambda: [kept.add(each) for each in reversed(nested(patterns))])

    assert steps(2_000) <= 11 * steps(200)
