from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import EventId
from gossamer.core.patterns import Tag
from gossamer.parts.cache import TAGS_MAX, Cache, Drawn, OthersFirst

A, B = 10, 20


def event(number: int) -> EventId:
    return EventId(7, 0, number)


def put(cache: Cache[str], number: int, ours: bool = True, patterns: tuple[int, ...] = (A,)) -> EventId | None:
    return cache.put(event(number), (tuple(Tag(each, number) for each in patterns), f"item {number}"), ours)


def test_an_event_is_found_by_id_by_any_of_its_places_and_by_pattern() -> None:
    cache: Cache[str] = Cache(10)
    cache.put(event(1), ((Tag(A, 5), Tag(B, 4)), "S:Pa-5:Pb-4"))
    assert cache.get(event(1)) == "S:Pa-5:Pb-4"
    assert cache.at(7, 0, A, 5) == cache.at(7, 0, B, 4) == event(1)
    assert cache.get(event(1)) == "S:Pa-5:Pb-4"
    assert cache.at(7, 0, A, 4) is cache.at(7, 1, A, 5) is cache.at(8, 0, A, 5) is None
    assert cache.tagged(A) == cache.tagged(B) == [event(1)]
    assert cache.tagged(30) == []
    assert cache.get(event(2)) is None


@pytest.mark.parametrize("asked", [False, True])
def test_the_oldest_leaves_a_full_cache_whether_or_not_it_was_indexed(asked: bool) -> None:
    cache: Cache[str] = Cache(2)
    gone = []
    for number in (1, 2, 3, 4):
        gone.append(put(cache, number))
        if asked:
            cache.tagged(A)
    assert gone == [None, None, event(1), event(2)]
    assert cache.last == ((Tag(A, 2),), "item 2")
    assert cache.tagged(A) == [event(3), event(4)]
    assert cache.at(7, 0, A, 1) is None
    assert len(cache) == 2


def test_a_drawn_one_leaves_and_the_order_of_the_others_stays() -> None:
    cache: Cache[str] = Cache(3, Drawn(3, lambda event_id, count: event_id.sequence % count))
    gone = [put(cache, number) for number in (1, 2, 3, 4, 5)]
    assert gone == [None, None, None, event(2), event(3)]
    assert cache.tagged(A) == [event(1), event(4), event(5)]


def test_what_is_not_ours_leaves_first() -> None:
    cache: Cache[str] = Cache(3, OthersFirst(3))
    gone = [put(cache, number, ours) for number, ours in ((1, True), (2, False), (3, True), (4, True), (5, False))]
    assert gone == [None, None, None, event(2), event(5)]
    assert put(cache, 6) == event(1)
    assert cache.tagged(A) == [event(3), event(4), event(6)]


def test_a_publisher_that_gives_one_place_to_two_events_confuses_only_itself() -> None:
    cache: Cache[str] = Cache(2)
    cache.put(event(1), ((Tag(A, 1),), "first"))
    assert cache.at(7, 0, A, 1) == event(1)
    cache.put(event(2), ((Tag(A, 1),), "second"))
    assert cache.at(7, 0, A, 1) == event(2)
    put(cache, 3)
    assert cache.at(7, 0, A, 1) == event(2)
    assert cache.tagged(A) == [event(2), event(3)]


def test_an_event_of_countless_tags_fills_a_bounded_part_of_the_index() -> None:
    cache: Cache[str] = Cache(1)
    cache.put(event(1), (tuple(Tag(each, 1) for each in range(10_000)), "wide"))
    assert cache.at(7, 0, 0, 1) == event(1)
    assert len(cache.places) == len(cache.by_pattern) == TAGS_MAX
    put(cache, 2)
    assert cache.tagged(A) == [event(2)]
    assert len(cache.places) == len(cache.by_pattern) == 1


STEPS = st.lists(
    st.tuples(st.lists(st.sampled_from([A, B, 30]), unique=True), st.booleans(), st.booleans()), max_size=60
)
QUEUES = {
    "oldest": lambda: None,
    "drawn": lambda: Drawn(4, lambda event_id, count: event_id.word() % count),
    "others first": lambda: OthersFirst(4),
}


@pytest.mark.parametrize("policy", QUEUES)
@given(STEPS)
def test_the_index_is_always_what_a_look_at_every_event_would_find(
    policy: str, steps: list[tuple[list[int], bool, bool]]
) -> None:
    cache: Cache[int] = Cache(4, QUEUES[policy]())
    model: OrderedDict[EventId, list[int]] = OrderedDict()
    for number, (patterns, ours, asked) in enumerate(steps):
        model[event(number)] = patterns
        gone = cache.put(event(number), (tuple(Tag(each, number) for each in patterns), number), ours)
        if gone is not None:
            del model[gone]
        assert len(cache) == len(model) <= 4
        if asked:
            for pattern in (A, B, 30):
                assert cache.tagged(pattern) == [each for each, tagged in model.items() if pattern in tagged]
                held = [each for each in model if cache.at(7, 0, pattern, each.sequence) == each]
                assert held == cache.tagged(pattern)
        assert all(cache.get(each) == each.sequence for each in model)
    cache.tagged(A)
    assert len(cache.places) == sum(map(len, model.values()))


def test_the_newest_of_a_pattern_is_the_one_that_came_last() -> None:
    cache: Cache[str] = Cache(2)
    assert cache.newest(A) is None
    put(cache, 1)
    put(cache, 2, patterns=(B,))
    assert cache.newest(A) == event(1)
    put(cache, 3, patterns=(B,))
    assert cache.newest(A) is None
    assert cache.newest(B) == event(3)
