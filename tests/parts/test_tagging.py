import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.patterns import UNCOUNTED, Tag
from gossamer.parts.tagging import TAG_BYTES_MAX, TAGS_BYTES_MAX, Tagger, fits, tag_bytes

PUBLISHED = st.lists(st.lists(st.integers(1, 7), unique=True, max_size=4), max_size=60)


def places(tags: tuple[Tag, ...]) -> list[tuple[int, int]]:
    return [(tag.pattern, tag.sequence) for tag in tags]


def test_every_pattern_is_counted_for_itself_from_one() -> None:
    """S:Pa-5:Pb-4, as the paper writes it."""
    tagger = Tagger()
    for _ in range(3):
        tagger.tags([10, 20], 0)
    tagger.tags([10], 0)
    assert places(tagger.tags([10, 20], 0)) == [(10, 5), (20, 4)]
    assert tagger.tags([], 0) == ()


@given(PUBLISHED)
def test_no_place_is_given_twice_however_few_counts_are_remembered(published: list[list[int]]) -> None:
    tagger = Tagger(most=3)
    given_places = [tag for signatures in published for tag in tagger.tags(signatures, 0)]
    assert len({(tag.pattern, tag.sequence) for tag in given_places}) == len(given_places)
    assert len(tagger.counts) <= 3
    assert tagger.began_us.keys() <= tagger.counts.keys()


@given(PUBLISHED)
def test_counts_have_no_holes_as_long_as_all_are_remembered(published: list[list[int]]) -> None:
    tagger, counts = Tagger(), dict.fromkeys(range(1, 8), 0)
    for signatures in published:
        for tag in tagger.tags(signatures, 0):
            counts[tag.pattern] += 1
            assert tag.sequence == counts[tag.pattern]


def test_an_event_that_is_not_published_leaves_no_hole() -> None:
    tagger = Tagger()
    tagger.tags([10], 0)
    tagger.take_back(tagger.tags([10, 20], 5_000))
    assert tagger.tags([10, 20], 9_000) == (Tag(10, 2, 10), Tag(20, 1))
    assert tagger.tags([20], 9_000) == (Tag(20, 2, 1),)


# How old a count is


def test_events_of_a_count_tell_how_long_ago_it_began_rounded_up() -> None:
    tagger = Tagger()
    ages = [tagger.tags([10], 1_000_000 + 1_500 * number)[0].age_ms for number in range(5_000)]
    assert ages[:4] == [0, 2, 4, 5]
    assert ages[-1] == 7_499


def test_a_count_that_goes_on_above_a_forgotten_one_tells_no_age() -> None:
    tagger = Tagger(most=1)
    tagger.tags([10], 0)
    assert tagger.tags([20], 0) == (Tag(20, 1),)
    assert tagger.tags([10], 0) == (Tag(10, 2),)
    assert tagger.tags([10], 50_000) == (Tag(10, 3),)


def test_a_clock_that_goes_back_makes_no_count_begin_in_the_future() -> None:
    tagger = Tagger()
    tagger.tags([10], 5_000_000)
    assert tagger.tags([10], 0) == (Tag(10, 2, 1),)


# Their bytes


@given(st.builds(Tag, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)))
def test_a_tag_takes_as_many_bytes_as_it_is_said_to(tag: Tag) -> None:
    assert tag_bytes(tag) == len(msgspec.msgpack.encode(tag)) <= TAG_BYTES_MAX


@given(st.integers(0, 3_000), st.integers(0, 2**40), st.sampled_from([0, 5, 500, TAGS_BYTES_MAX]))
def test_tags_keep_to_their_room_and_say_how_many_patterns_are_left(patterns: int, floor: int, room: int) -> None:
    tagger = Tagger()
    tagger.floor = floor
    signatures = range(2**62, 2**62 + patterns)
    tags = tagger.tags(signatures, 0, room)
    assert fits(tags)
    counted = [tag for tag in tags if tag.pattern != UNCOUNTED]
    assert [tag.pattern for tag in counted] == [*signatures[: len(counted)]]
    assert sum(map(tag_bytes, counted)) <= room
    if len(counted) < patterns:
        assert tags[-1] == Tag(UNCOUNTED, patterns - len(counted))
        assert room - sum(map(tag_bytes, counted)) < 3 * TAG_BYTES_MAX
    assert len(tagger.counts) == len(counted)


def test_hundreds_of_patterns_are_counted_in_any_case_and_thousands_in_none() -> None:
    for floor, age_us in ((0, 0), (2**62, 0), (0, 10**18)):
        tagger = Tagger()
        tagger.floor = floor
        for now_us in (0, age_us):
            assert len(tagger.tags(range(2**62, 2**62 + 300), now_us)) == 300
        assert tagger.tags(range(2**62, 2**62 + 3_000), age_us)[-1].pattern == UNCOUNTED
