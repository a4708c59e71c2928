"""Seen ids: exact for short histories, bounded for long ones."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import EventId
from gossamer.parts.seen import Seen

IDS = st.builds(EventId, st.integers(0, 3), st.integers(0, 1), st.integers(0, 20))


def number(sequence: int) -> EventId:
    return EventId(1, 0, sequence)


@given(st.lists(IDS, max_size=60))
def test_a_short_history_is_remembered_like_a_set_would(history: list[EventId]) -> None:
    seen, plain = Seen(limit=60), set[EventId]()
    for each in history:
        assert (each in seen) == (each in plain)
        assert seen.add(each) == (each not in plain)
        plain.add(each)


@given(st.lists(st.integers(0, 1000), max_size=300), st.integers(1, 20))
def test_the_last_ids_are_remembered_whatever_came_before_and_memory_stays_bounded(
    history: list[int], limit: int
) -> None:
    seen, new = Seen(limit), list[int]()
    for each in history:
        if seen.add(number(each)):
            new.append(each)
        assert all(number(recent) in seen for recent in new[-limit:])
        assert len(seen.young) + len(seen.old) <= 2 * limit


@given(st.lists(st.lists(IDS, min_size=1, max_size=5), max_size=20))
def test_several_are_remembered_if_all_are_new_and_otherwise_none(history: list[list[EventId]]) -> None:
    seen, plain = Seen(limit=100), set[EventId]()
    for some in history:
        assert seen.has_any(some) == any(each in plain for each in some)
        new = len({*some}) == len(some) and not plain.intersection(some)
        assert seen.add_all(some) == new
        plain |= {*some} if new else set()
        assert {each for each in some if each in seen} == plain.intersection(some)


def test_of_several_at_a_time_the_last_are_remembered_too() -> None:
    seen = Seen(limit=10)
    for first in range(0, 100, 4):
        assert seen.add_all([number(each) for each in range(first, first + 4)])
        assert all(number(recent) in seen for recent in range(max(0, first - 6), first + 4))
        assert len(seen.young) + len(seen.old) <= 26


def test_asking_does_not_make_an_id_seen() -> None:
    seen = Seen()
    assert number(1) not in seen
    assert number(1) not in seen
    assert seen.add(number(1))
    assert number(1) in seen


def test_what_is_forgotten_is_new_again() -> None:
    seen = Seen(limit=2)
    assert all(seen.add(number(each)) for each in range(5))
    assert number(0) not in seen
    assert seen.add(number(0))


def test_an_event_of_a_later_incarnation_is_another_event() -> None:
    seen = Seen()
    assert seen.add(EventId(1, 0, 7))
    assert seen.add(EventId(1, 1, 7))
    assert not seen.add(EventId(1, 0, 7))
