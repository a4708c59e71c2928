"""What many want, said in few words: whoever wanted an event before still does, and little else is let through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.events import Attribute
from gossamer.core.filters import parse
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.lab.papers.hpmcast_filters import graded
from gossamer.protocols.hpmcast.condensing import TEXT_MAX, condensed
from gossamer.protocols.hpmcast.messages import PATTERNS_MAX
from gossamer.protocols.hpmcast.upkeep import GRADES, Grade, Upkeep
from gossamer.protocols.hpmcast.wanting import Interest, wanted

TOPICS = Hierarchy({".x": [".a"]})
SIZE = 64


def made(grade: Grade, *patterns: tuple[str, str], size: int = SIZE) -> list[tuple[str, str]]:
    asked = [(Pattern(topic, parse(where).text if where else ""),) for topic, where in patterns]
    return [(pattern.topic, pattern.where) for pattern in condensed(asked, grade, size, TOPICS)]


def test_exactly_is_all_but_what_others_include() -> None:
    assert made("exact", (".a", "p > 5"), (".a", "p > 7"), (".b", "p > 7"), (".a.c", "p > 6 and q")) == [
        (".a", "p > 5"),
        (".b", "p > 7"),
    ]
    assert made("exact", (".a", ""), (".a.b", "p"), (".x", "p")) == [(".a", "")]
    assert made("exact", (".a", "p == 1"), (".a", "p == 2")) == [(".a", "p == 1"), (".a", "p == 2")]


def test_by_attributes_is_one_filter_of_plain_comparisons_for_each_topic() -> None:
    assert made("attribute", (".a", "p == 1"), (".a", "p == 2"), (".b", "q")) == [(".a", "p in (1, 2)"), (".b", "q")]
    assert made("attribute", (".a", "p > 5"), (".a.b", "p > 7")) == [(".a", "p > 5")]
    assert made("attribute", (".a", "p > 5"), (".a", "")) == [(".a", "")]


def test_selectively_is_what_all_agree_on() -> None:
    assert made("selective", (".a", "p > 5 and s == 1"), (".a", "p > 7 and s == 1")) == [(".a", "s == 1")]
    assert made("selective", (".a", "p > 5"), (".a", "p < 1")) == [(".a", "")]
    assert made("selective", (".a", "s == 1"), (".a.b", "s == 1"), (".b", "p")) == [(".a", "s == 1"), (".b", "p")]


def test_by_type_is_topics_and_no_filters() -> None:
    assert made("type", (".a", "p > 5"), (".a.b", "p > 7"), (".b.c", "q"), (".x.y", "")) == [(".a", ""), (".b.c", "")]


def test_nothing_wanted_is_nothing_said() -> None:
    assert all(condensed([], grade, SIZE, TOPICS) == () for grade in GRADES)


def test_grades_go_up_with_levels_as_far_as_they_may() -> None:
    assert [Upkeep().grade(level) for level in range(1, 6)] == ["exact", "attribute", "selective", "type", "type"]
    assert [Upkeep(weakest="attribute").grade(level) for level in (1, 2, 3)] == ["exact", "attribute", "attribute"]


WHERE = st.sampled_from(
    [
        "",
        "p > 5",
        "p < 3",
        "p == 4",
        "q",
        "not q",
        "s startswith 'a'",
        "s in ('ab', 'b') and p > 1",
        "p > 2 or s == 'b'",
    ]
)
PATTERNS = st.builds(
    lambda topic, where: Pattern(topic, parse(where).text if where else ""),
    st.sampled_from([".", ".a", ".a.b", ".a.b.c", ".x", ".x.y", ".d"]),
    WHERE,
)
INTERESTS = st.lists(st.lists(PATTERNS, max_size=3).map(tuple), max_size=6)
EVENTS = [
    (topic, attributes)
    for topic in (".a", ".a.b", ".a.b.c", ".x", ".x.y", ".d", ".e")
    for attributes in ({}, {"p": 4}, {"p": 6, "q": True}, {"p": 0, "s": "ab"}, {"s": "b", "q": False}, {"p": 2.5})
]


def wants(interest: Interest, topic: str, attributes: dict[str, Attribute]) -> bool:
    read = wanted(interest)
    assert read is not None
    return read.matches(topic, attributes, TOPICS)


@settings(max_examples=60)
@given(INTERESTS, st.integers(1, 8))
def test_every_grade_covers_the_one_before_it_and_nobody_misses_an_event(interests: list[Interest], size: int) -> None:
    for topic, attributes in EVENTS:
        before = any(wants(interest, topic, attributes) for interest in interests)
        for grade in GRADES:
            found = condensed(interests, grade, size, TOPICS)
            assert not before or wants(found, topic, attributes), (grade, found)
            exact = grade == "exact" and sum(parse(p.where).size for i in interests for p in i if p.where) <= size
            if exact:
                assert wants(found, topic, attributes) == before


@settings(max_examples=60)
@given(INTERESTS)
def test_the_order_of_a_table_makes_no_difference(interests: list[Interest]) -> None:
    for grade in GRADES:
        assert condensed(interests, grade, 6, TOPICS) == condensed(interests[::-1], grade, 6, TOPICS)


@pytest.mark.parametrize("grade", GRADES)
def test_however_much_is_wanted_a_row_is_bounded(grade: Grade) -> None:
    topics = [f".{'deep.' * (number % 5)}t{number}" for number in range(500)]
    names = [f'n{number} == "{"x" * 400}"' for number in range(100)]
    plain = condensed([(Pattern(topic),) for topic in topics], grade, SIZE, TOPICS)
    filtered = condensed([(Pattern(".a.b" + topic, parse(where).text),) for topic, where in zip(topics, names)], grade,
                         2048, TOPICS)  # fmt: skip
    for found in (plain, filtered):
        assert len(found) <= PATTERNS_MAX
        assert sum(len(pattern.topic) + len(pattern.where) for pattern in found) <= TEXT_MAX
    assert all(wants(plain, topic, {}) for topic in topics)
    assert all(wants(filtered, ".a.b" + topics[n], {f"n{n}": "x" * 400}) for n in range(100))


# -- how much more is let through -------------------------------------------------------------------------------------


def test_the_weaker_filters_may_get_the_more_events_pass_for_nobody() -> None:
    found = {grade: [each.for_nobody for each in graded(grade)] for grade in GRADES}
    exact, attribute, selective, by_type = found.values()
    assert exact[:2] == [0.0, 0.0]  # no more than a row holds
    assert exact[2] < attribute[2] < 0.25
    assert attribute[:2] == [0.0, pytest.approx(0.02, abs=0.02)]
    assert selective[0] == 0.0
    assert attribute[1] + 0.5 < selective[1] < 0.8  # hardly anybody agrees on a price or a symbol: topics are left
    assert by_type == selective
