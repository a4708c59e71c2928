"""Places keep the order of topics: all below one begins alike, and nobody else does."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from gossamer.core.topics import ROOT, topic
from gossamer.protocols.pgrid.places import (
    MEMBER_BITS,
    PLACE_BITS_MAX,
    TOPIC_BITS_MAX,
    across,
    below,
    beside,
    common,
    members_of,
    place_of,
)

BITS = st.text("01", max_size=40)
SEGMENTS = st.lists(st.sampled_from(["a", "b", "news", "x9"]), max_size=6)
TOPICS = SEGMENTS.map(lambda segments: topic("." + ".".join(segments)))


def plain(name: str) -> str:
    return name


def is_above(one: str, other: str) -> bool:
    """Or the same."""
    return one in (ROOT, other) or other.startswith(one + ".")


@given(BITS, BITS)
@example("", "")
@example("0110", "01")
def test_as_much_is_common_as_letter_by_letter(one: str, other: str) -> None:
    alike = 0
    while alike < min(len(one), len(other)) and one[alike] == other[alike]:
        alike += 1
    assert common(one, other) == common(other, one) == alike


@given(BITS, st.data())
def test_across_is_the_other_half_and_back_again(path: str, data: st.DataObject) -> None:
    assume(path)
    level = data.draw(st.integers(0, len(path) - 1))
    other = across(path, level)
    assert len(other) == level + 1
    assert common(other, path) == level
    assert across(other, level) == path[: level + 1]


@given(st.text("01", min_size=1, max_size=12), st.data())
def test_beside_is_the_nearest_place_on_the_other_side(place: str, data: st.DataObject) -> None:
    level = data.draw(st.integers(0, len(place) - 1))
    bits = data.draw(st.integers(level + 1, 12))
    found = beside(place, level, bits)
    assert len(found) == bits
    half = across(place, level)
    assert found.startswith(half)
    edge = "1" if place[level] == "1" else "0"  # the last of what is to the left, the first of what is to the right
    assert found == half + edge * (bits - level - 1)


@given(TOPICS, TOPICS)
def test_what_is_below_a_topic_begins_like_it_and_nothing_else_does(one: str, other: str) -> None:
    first, second = below(one, plain), below(other, plain)
    assert second.startswith(first) == is_above(one, other)


@given(TOPICS, TOPICS)
def test_no_two_topics_share_the_range_of_their_members(one: str, other: str) -> None:
    assume(one != other)
    first, second = members_of(one, plain), members_of(other, plain)
    assert not first.startswith(second)
    assert not second.startswith(first)


@given(TOPICS, TOPICS)
def test_members_of_a_topic_lie_in_the_range_of_all_above_it(one: str, other: str) -> None:
    inside = members_of(other, plain).startswith(below(one, plain))
    assert inside == is_above(one, other)


@given(TOPICS, st.integers(0, 2**64 - 1))
def test_a_member_has_its_place_in_the_range_of_its_topic(wanted: str, member: int) -> None:
    members = members_of(wanted, plain)
    place = place_of(member, members)
    assert place.startswith(members)
    assert len(place) == len(members) + MEMBER_BITS <= PLACE_BITS_MAX


def test_the_root_has_members_and_everything_below_it() -> None:
    assert below(ROOT, plain) == ""
    assert members_of(ROOT, plain) == "0"


def test_a_topic_deeper_than_places_reach_shares_that_of_the_one_above() -> None:
    deep = topic("." + ".".join("a" * 30))
    deeper = topic(deep + ".b")
    assert below(deep, plain) == below(deeper, plain)
    assert len(below(deep, plain)) == TOPIC_BITS_MAX
    assert len(place_of(2**64 - 1, members_of(deeper, plain))) == PLACE_BITS_MAX


def test_names_that_are_hidden_keep_their_order() -> None:
    def hidden(name: str) -> str:
        return f"secret of {name}"

    assert below(".a.b", hidden).startswith(below(".a", hidden))
    assert below(".a", hidden) != below(".a", plain)


def test_the_members_of_a_topic_spread_evenly_over_its_range() -> None:
    members = members_of(".a", plain)
    left = sum(place_of(member, members)[len(members)] == "0" for member in range(4000))
    assert abs(left - 2000) < 4 * 4000**0.5 / 2
