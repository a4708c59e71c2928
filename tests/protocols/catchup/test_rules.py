"""How catching up decides, compared with plain sets."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Run
from gossamer.core.patterns import Pattern, Tag
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.messages import Stream

STRETCHES = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=6)
A, B = Stream(".a", 1, 7), Stream(".b", 2, 7)


def numbers(ordinals: Ordinals) -> set[int]:
    return {each for first, last in ordinals for each in range(first, last + 1)}


@given(st.lists(STRETCHES, max_size=5), st.integers(1, 5))
def test_what_enough_say_is_what_so_many_sets_have(said: list[list[tuple[int, int]]], needed: int) -> None:
    sets = [Ordinals(each) for each in said]
    expected = {each for each in range(31) if sum(each in some for some in sets) >= needed}
    assert numbers(rules.said_by(sets, needed)) == expected


@given(STRETCHES, STRETCHES, st.integers(1, 20), st.integers(1, 8))
def test_a_page_is_the_oldest_of_each_stream_and_never_more_than_fits(
    one: list[tuple[int, int]], other: list[tuple[int, int]], events: int, runs: int
) -> None:
    needs = [(A, Ordinals(one)), (B, Ordinals(other))]
    page = rules.page(needs, events, runs)
    assert len(page) <= runs
    chosen = rules.by_stream(page)
    assert sum(each.count for each in chosen.values()) <= events
    for stream, ordinals in needs:
        asked, left = numbers(chosen.get(stream, Ordinals())), numbers(ordinals)
        assert asked == {*sorted(left)[: len(asked)]}
    if any(ordinals for _, ordinals in needs):
        assert page


@given(STRETCHES, STRETCHES)
def test_logs_are_alike_if_they_reach_as_far_and_lack_the_same_wherever_they_begin(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    first, second = Ordinals(one), Ordinals(other)
    same = first.top == second.top and first.holes() == second.holes()
    assert (rules.word_of(5, first) == rules.word_of(5, second)) == same


def test_what_retention_deleted_makes_no_difference_and_a_hole_does() -> None:
    whole, pruned, torn = Ordinals([(1, 100)]), Ordinals([(60, 100)]), Ordinals([(1, 50), (52, 100)])
    assert rules.word_of(5, whole) == rules.word_of(5, pruned) != rules.word_of(5, torn)
    assert rules.word_of(5, whole) != rules.word_of(6, whole)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), st.randoms())
def test_a_digest_does_not_depend_on_the_order(words: list[int], chance: "st.Random") -> None:  # type: ignore[name-defined]
    shuffled = [*words]
    chance.shuffle(shuffled)
    assert rules.digest_of(words) == rules.digest_of(shuffled) < 2**63
    assert rules.digest_of([]) == 0


@given(st.integers(1, 5000), st.integers(1, 5000), STRETCHES)
def test_the_first_event_that_is_young_enough_is_found_in_a_few_steps(
    last: int, young: int, lacked: list[tuple[int, int]]
) -> None:
    """By halves, whatever the other lacks in between."""
    held = Ordinals([(1, last)]).without(lacked)
    older, newer, steps = 0, last + 1, 0
    while (unsure := held.between(older + 1, newer - 1)).count > rules.SEARCHED:
        for first, upto in rules.searches(unsure):
            (met, _), *_ = held.between(first, upto)
            older, newer = (max(older, met), newer) if met < young else (older, min(newer, met))
        steps += 1
    assert steps <= 14
    assert older < young <= max(newer, young)


def test_an_event_that_says_when_its_stream_began_proves_that_all_of_it_is_wanted() -> None:
    def event(ordinal: int, *tags: Tag) -> Event:
        return Event(EventId(1, 1, 90), ".a", published_us=9_000_000, ordinal=ordinal, tags=tags)

    mine = Pattern(".a").signature
    young = event(7, Tag(5, 7, 1), Tag(mine, 7, 3_000))  # the first was published three seconds before
    assert rules.wanted_from_one(young, since_us=6_000_000)
    assert not rules.wanted_from_one(young, since_us=6_000_001)
    assert rules.wanted_from_one(event(1), since_us=9_000_000)
    assert not rules.wanted_from_one(event(1), since_us=9_000_001)
    assert not rules.wanted_from_one(event(7, Tag(mine, 6, 3_000)), 0)  # the count began later than the stream
    assert not rules.wanted_from_one(event(7, Tag(mine, 7)), 0)  # nobody knows
    assert not rules.wanted_from_one(event(7), 0)


def test_every_topic_has_its_first_turn_before_any_has_its_second() -> None:
    waiting = [(1, ".a"), (2, ".a"), (3, ".a"), (1, ".b"), (4, ".c"), (5, ".b")]
    turns = rules.in_turn(waiting)
    assert turns == [(1, ".a"), (1, ".b"), (4, ".c"), (2, ".a"), (5, ".b"), (3, ".a")]


def test_all_there_are_is_enough_if_these_are_few() -> None:
    assert [rules.enough(3, members) for members in (0, 1, 2, 3, 50)] == [1, 1, 2, 3, 3]


def test_runs_of_one_stream_are_put_together() -> None:
    runs = [Run(".a", 1, 7, 5, 9), Run(".b", 2, 7, 1, 1), Run(".a", 1, 7, 1, 4)]
    assert rules.by_stream(runs) == {A: Ordinals([(1, 9)]), B: Ordinals([(1, 1)])}
