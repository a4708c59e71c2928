"""A node's own wants, change by change: how long they are is known before they are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.interest import Change
from gossamer.core.topics import Hierarchy
from gossamer.parts import own_wants
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.wants import WANTS_BYTES_MAX, WORDS_MAX, Wants

CROSSED = Hierarchy({".a.b": [".c"], ".c.c": [".a"]})
TOPICS = st.lists(st.sampled_from("abc"), max_size=4).map(lambda parts: "." + ".".join(parts))
ACTS = st.lists(st.tuples(st.booleans(), TOPICS), max_size=40)


def secret(topic: str) -> str:
    return f"secret {topic}"


def filled(topics: list[str], hierarchy: Hierarchy = CROSSED) -> OwnWants:
    own = OwnWants(hierarchy)
    own.take(Change(joined=tuple(topics)))
    return own


@given(ACTS, st.sampled_from([Hierarchy(), CROSSED]))
def test_they_are_what_the_topics_are_and_as_long_as_is_said(
    acts: list[tuple[bool, str]], hierarchy: Hierarchy
) -> None:
    own, there = OwnWants(hierarchy, secret), {}
    for comes, topic in acts:
        if comes == (topic in there):
            continue
        change = Change(joined=(topic,)) if comes else Change(left=(topic,))
        own.take(change)
        own.take(change)  # layers share it
        there = {**there, topic: None} if comes else {each: None for each in there if each != topic}
        assert own.now() == Wants.of(there, hierarchy, secret)
        assert own.size == len(own.now().packed)
        assert own.words == own.now().weight
        assert len(own) == len(there)


SOME = st.lists(TOPICS, max_size=6)


@given(st.lists(TOPICS, max_size=12, unique=True), SOME, SOME, st.integers(0, 150))
def test_there_is_room_exactly_for_what_could_be_told(
    held: list[str], more: list[str], gone: list[str], most: int
) -> None:
    own, whole = filled(held), filled([*dict.fromkeys([*(each for each in held if each not in gone), *more])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_wants, "WANTS_BYTES_MAX", most)
        assert own.has_room(more, gone) == (whole.size <= most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_wants, "WORDS_MAX", most // 8)
        assert own.has_room(more, gone) == (whole.words <= most // 8)


@pytest.mark.parametrize("topic", [".t{}", ".a{}.b{}.c{}", ".a.b.c.d.e.f.g.h{}"])
def test_ten_thousand_topics_can_be_told_however_they_are_named(topic: str) -> None:
    own = filled([topic.replace("{}", str(number)) for number in range(10_000)], Hierarchy())
    assert own.has_room([".more"])
    assert own.size <= WANTS_BYTES_MAX
    assert own.words <= WORDS_MAX


def test_much_more_cannot() -> None:
    own = filled([f".t{number}" for number in range(WANTS_BYTES_MAX // 8)], Hierarchy())
    assert own.size == len(own.now().packed) == WANTS_BYTES_MAX
    assert Wants.read(own.now().packed) == own.now()
    assert own.has_room([".t7"])
    assert not own.has_room([".more"])
