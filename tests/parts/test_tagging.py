from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.patterns import Tag
from gossamer.parts.tagging import Tagger


def test_every_pattern_is_counted_for_itself_from_one() -> None:
    """S:Pa-5:Pb-4, as the paper writes it."""
    tagger = Tagger()
    for _ in range(3):
        tagger.tags([10, 20])
    tagger.tags([10])
    assert tagger.tags([10, 20]) == (Tag(10, 5), Tag(20, 4))
    assert tagger.tags([]) == ()


@given(st.lists(st.lists(st.integers(0, 6), unique=True, max_size=4), max_size=60))
def test_no_place_is_given_twice_however_few_counts_are_remembered(published: list[list[int]]) -> None:
    tagger = Tagger(most=3)
    given_places = [tag for signatures in published for tag in tagger.tags(signatures)]
    assert len({(tag.pattern, tag.sequence) for tag in given_places}) == len(given_places)
    assert len(tagger.counts) <= 3


@given(st.lists(st.lists(st.integers(0, 6), unique=True, max_size=4), max_size=60))
def test_counts_have_no_holes_as_long_as_all_are_remembered(published: list[list[int]]) -> None:
    tagger, counts = Tagger(), dict.fromkeys(range(7), 0)
    for signatures in published:
        for tag in tagger.tags(signatures):
            counts[tag.pattern] += 1
            assert tag.sequence == counts[tag.pattern]


def test_an_event_that_is_not_published_leaves_no_hole() -> None:
    tagger = Tagger()
    tagger.tags([10])
    tagger.take_back(tagger.tags([10, 20]))
    assert tagger.tags([10, 20]) == (Tag(10, 2), Tag(20, 1))
