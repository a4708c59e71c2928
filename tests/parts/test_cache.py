from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import EventId
from gossamer.core.patterns import Tag
from gossamer.parts.cache import PATTERN_BYTES, PLACE_BYTES, Cache, Drawn, OthersFirst, Queue

A, B = 10, 20
BYTES = 10_000_000


def event(number: int) -> EventId:
    return EventId(7, 0, number)


class Some:
    """A parcel of events, given with their tags. Each tag takes a byte."""

    def __init__(self, tags: dict[int, tuple[Tag, ...]]) -> None:
        self.tags = tags
        self.size = sum(map(len, tags.values()))

    def __len__(self) -> int:
        return len(self.tags)

    def entries(self) -> list[tuple[EventId, tuple[Tag, ...]]]:
        return [(event(number), tags) for number, tags in self.tags.items()]


def some(*numbers: int, patterns: Sequence[int] = (A,)) -> Some:
    return Some({number: tuple(Tag(each, number) for each in patterns) for number in numbers})


def put(cache: Cache[Some], *numbers: int, ours: bool = True, patterns: Sequence[int] = (A,)) -> list[list[int]]:
    """Which events left, parcel by parcel."""
    return [[*gone.tags] for gone in cache.put(some(*numbers, patterns=patterns), ours)]


def tagged(cache: Cache[Some], pattern: int) -> list[int]:
    return [event_id.sequence for event_id, _ in cache.backwards(pattern)][::-1]


def test_an_event_is_found_by_id_by_any_of_its_places_and_by_pattern() -> None:
    cache: Cache[Some] = Cache(10, BYTES)
    parcel = Some({1: (Tag(A, 5), Tag(B, 4)), 2: (Tag(A, 6),)})
    cache.put(parcel)
    assert cache.get(event(1)) is cache.get(event(2)) is parcel
    assert cache.at(7, 0, A, 5) == cache.at(7, 0, B, 4) == event(1)
    assert cache.at(7, 0, A, 6) == event(2)
    assert cache.at(7, 0, A, 4) is cache.at(7, 1, A, 5) is cache.at(8, 0, A, 5) is None
    assert tagged(cache, A) == [1, 2]
    assert tagged(cache, B) == [1]
    assert tagged(cache, 30) == []
    assert cache.get(event(3)) is None


@pytest.mark.parametrize("asked", [False, True])
def test_the_oldest_leaves_a_full_cache_whether_or_not_it_was_opened(asked: bool) -> None:
    cache: Cache[Some] = Cache(2, BYTES)
    gone = []
    for number in (1, 2, 3, 4):
        gone.append(put(cache, number))
        if asked:
            cache.get(event(1))
    assert gone == [[], [], [[1]], [[2]]]
    assert tagged(cache, A) == [3, 4]
    assert cache.at(7, 0, A, 1) is None
    assert len(cache) == 2


@pytest.mark.parametrize("asked", [False, True])
def test_what_came_together_leaves_together(asked: bool) -> None:
    cache: Cache[Some] = Cache(5, BYTES)
    gone = []
    for numbers in ((1, 2), (3,), (4, 5), (6,), (7, 8)):
        gone.append(put(cache, *numbers))
        if asked:
            cache.get(event(1))
    assert gone == [[], [], [], [[1, 2]], [[3]]]
    assert len(cache) == 5
    assert put(cache, *range(10, 20)) == [[4, 5], [6], [7, 8]]  # more than there is room for: it stays alone
    assert len(cache) == 10
    assert put(cache, 20) == [[*range(10, 20)]]


def test_a_drawn_one_leaves_and_the_order_of_the_others_stays() -> None:
    cache: Cache[Some] = Cache(3, BYTES, Drawn(3, lambda parcel, count: next(iter(parcel.tags)) % count))
    gone = [put(cache, number) for number in (1, 2, 3, 4, 5)]
    assert gone == [[], [], [], [[2]], [[3]]]
    assert tagged(cache, A) == [1, 4, 5]


def test_what_is_not_ours_leaves_first() -> None:
    cache: Cache[Some] = Cache(3, BYTES, OthersFirst(3))
    gone = [put(cache, number, ours=ours) for number, ours in ((1, True), (2, False), (3, True), (4, True), (5, False))]
    assert gone == [[], [], [], [[2]], [[5]]]
    assert put(cache, 6) == [[1]]
    assert tagged(cache, A) == [3, 4, 6]


def test_a_publisher_that_gives_one_place_to_two_events_confuses_only_itself() -> None:
    cache: Cache[Some] = Cache(2, BYTES)
    cache.put(Some({1: (Tag(A, 1),)}))
    assert cache.at(7, 0, A, 1) == event(1)
    cache.put(Some({2: (Tag(A, 1),)}))
    assert cache.at(7, 0, A, 1) == event(2)
    put(cache, 3)
    assert cache.at(7, 0, A, 1) == event(2)
    assert tagged(cache, A) == [2, 3]


@pytest.mark.parametrize("asked", [False, True])
def test_of_two_parcels_with_the_same_event_the_later_one_counts(asked: bool) -> None:
    cache: Cache[Some] = Cache(3, BYTES)
    put(cache, 1, 2)
    if asked:
        cache.get(event(1))
    later = some(2)
    cache.put(later)
    assert cache.get(event(2)) is later
    assert put(cache, 3) == [[1, 2]]
    assert cache.get(event(2)) is later
    assert cache.get(event(1)) is None
    assert tagged(cache, A) == [2, 3]


def test_an_event_is_found_by_every_tag_it_has() -> None:
    cache: Cache[Some] = Cache(2, BYTES)
    put(cache, 1, patterns=range(3_000))
    put(cache, 2, patterns=(A,))
    assert all(cache.at(7, 0, pattern, 1) == event(1) for pattern in range(3_000))
    assert [tagged(cache, pattern) for pattern in (0, A, 2_999)] == [[1], [1, 2], [1]]


@pytest.mark.parametrize("queue", [None, OthersFirst[Some](100)], ids=["oldest", "others first"])
def test_events_of_many_tags_leave_for_each_other_before_the_cache_is_full(queue: Queue[Some] | None) -> None:
    cache: Cache[Some] = Cache(100, 1_000, queue)
    gone = [put(cache, number, patterns=range(400)) for number in (1, 2, 3, 4)]
    assert gone == [[], [], [[1]], [[2]]]
    assert cache.bytes == 800
    assert put(cache, 5, patterns=range(5_000)) == [[3], [4]]  # more than there is room for: it stays alone
    assert cache.get(event(5)) is not None
    assert put(cache, 6) == [[5]]
    assert tagged(cache, A) == [6]
    cache.get(event(6))
    assert (len(cache.places), cache.bytes) == (1, 1 + PLACE_BYTES + PATTERN_BYTES)


@pytest.mark.parametrize("queue", [None, OthersFirst[Some](100)], ids=["oldest", "others first"])
def test_where_bytes_are_short_the_oldest_are_found_by_id_only_and_none_leaves_for_the_index(
    queue: Queue[Some] | None,
) -> None:
    tags, index = 100, 100 * PATTERN_BYTES
    cache: Cache[Some] = Cache(50, 20 * tags + index + 7 * tags * PLACE_BYTES, queue)
    for number in range(1, 11):
        assert put(cache, number, patterns=range(tags)) == []
    assert all(cache.get(event(number)) for number in range(1, 11))
    assert tagged(cache, A) == [4, 5, 6, 7, 8, 9, 10]
    assert cache.at(7, 0, 99, 4) == event(4)
    assert cache.at(7, 0, 99, 3) is None
    assert cache.bytes <= cache.bytes_max
    for number in range(11, 21):
        assert put(cache, number, patterns=range(tags)) == []
    assert all(cache.get(event(number)) for number in range(1, 21))
    assert tagged(cache, A) == [14, 15, 16, 17, 18, 19, 20]
    assert cache.bytes <= cache.bytes_max


def test_patterns_are_told_of_when_something_of_them_came_and_only_once() -> None:
    cache: Cache[Some] = Cache(3, BYTES)
    put(cache, 1, patterns=(A, B))
    put(cache, 2)
    assert [*cache.news()] == [A, B]
    assert [*cache.news()] == []
    put(cache, 3, patterns=(30,))
    assert cache.patterns() == [A, B, 30]
    for number in (4, 5, 6):
        put(cache, number)
    assert [*cache.news()] == [A]
    assert cache.patterns() == [A]


STEPS = st.lists(
    st.tuples(st.lists(st.sampled_from([A, B, 30]), unique=True), st.integers(1, 3), st.booleans(), st.booleans()),
    max_size=60,
)
QUEUES: dict[str, Callable[[], Queue[Some] | None]] = {
    "oldest": lambda: None,
    "drawn": lambda: Drawn(4, lambda parcel, count: parcel.entries()[0][0].word() % count),
    "others first": lambda: OthersFirst(4),
}


@pytest.mark.parametrize("policy", QUEUES)
@given(STEPS)
def test_what_is_found_is_always_what_a_look_at_every_event_would_find(
    policy: str, steps: list[tuple[list[int], int, bool, bool]]
) -> None:
    queue = QUEUES[policy]()
    cache: Cache[Some] = Cache(4, BYTES, queue)
    model: dict[int, tuple[Some, list[int]]] = {}
    number = 0
    for patterns, together, ours, asked in steps:
        numbers = range(number, number + (together if queue is None else 1))
        number = numbers.stop
        parcel = some(*numbers, patterns=patterns)
        model |= dict.fromkeys(numbers, (parcel, patterns))
        for gone in cache.put(parcel, ours):
            for each in gone.tags:
                del model[each]
        assert len(cache) == len(model) <= 4
        for pattern in (A, B, 30):
            assert tagged(cache, pattern) == [each for each, (_, tags) in model.items() if pattern in tags]
        if asked:
            for pattern in (A, B, 30):
                held = [each for each in model if cache.at(7, 0, pattern, each) == event(each)]
                assert held == tagged(cache, pattern)
            assert all(cache.get(event(each)) is parcel for each, (parcel, _) in model.items())
    cache.get(event(0))
    places = sum(len(tags) for _, tags in model.values())
    assert sum(map(len, cache.places.values())) == places
    assert cache.bytes == places * (1 + PLACE_BYTES) + len(cache.places) * PATTERN_BYTES
