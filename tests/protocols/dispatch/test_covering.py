"""Held back is what something shown covers, whatever `covers` can tell."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.patterns import Pattern
from gossamer.protocols.dispatch.covering import SEARCHED_MAX, Covering

NAMES = [f".n{number}" for number in range(8)]
ACTS = st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES)), max_size=60)
RELATION = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20)


def from_pairs(pairs: set[tuple[str, str]]) -> Callable[[Pattern, Pattern], bool]:
    return lambda wide, narrow: wide == narrow or (wide.topic, narrow.topic) in pairs


def reachable(covers: Callable[[Pattern, Pattern], bool], wide: Pattern) -> set[Pattern]:
    """Everything under a pattern, step by step: what `covers` tells need not be all."""
    found = [wide]
    for each in found:
        found += [other for name in NAMES if (other := Pattern(name)) not in found and covers(each, other)]
    return set(found)


@settings(max_examples=150)
@given(ACTS, RELATION)
def test_everything_held_back_stands_under_something_shown(
    acts: list[tuple[bool, str]], pairs: set[tuple[str, str]]
) -> None:
    """The relation is drawn at will: neither complete, nor without circles."""
    covers = from_pairs(pairs)
    kept, there = Covering(covers), {}
    told: dict[Pattern, None] = {}
    for comes, name in acts:
        pattern = Pattern(name)
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
        for held, by in kept.held.items():
            assert by in kept.shown
            assert held in reachable(covers, by)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
def test_where_covers_is_an_order_the_widest_are_shown(acts: list[tuple[bool, int]]) -> None:
    def divides(wide: Pattern, narrow: Pattern) -> bool:
        return int(narrow.topic[1:]) % int(wide.topic[1:]) == 0

    kept = Covering(divides)
    there: set[int] = set()
    for comes, number in acts:
        pattern = Pattern(f".{number + 1}")
        (kept.add if comes else kept.remove)(pattern)
        (there.add if comes else there.discard)(number + 1)
        widest = [each for each in there if not any(other != each and each % other == 0 for other in there)]
        assert sorted(kept.shown) == sorted(Pattern(f".{each}") for each in widest)


def test_without_a_relation_everything_is_shown() -> None:
    kept = Covering(None)
    for name in NAMES:
        kept.add(Pattern(name))
    assert [*kept.shown] == [Pattern(name) for name in NAMES]


def test_beyond_a_number_nothing_is_compared() -> None:
    asked = 0

    def never(wide: Pattern, narrow: Pattern) -> bool:
        nonlocal asked
        asked += 1
        return False

    kept = Covering(never)
    for number in range(4 * SEARCHED_MAX):
        kept.add(Pattern(f".n{number}"))
    assert len(kept.shown) == 4 * SEARCHED_MAX
    assert asked <= 2 * SEARCHED_MAX * (SEARCHED_MAX + 1)
