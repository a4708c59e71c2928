"""Many patterns asked at once: by the event they match, and by the pattern they may include."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.covering import covers
from gossamer.core.events import Event
from gossamer.core.filters import parse
from gossamer.core.ids import EventId
from gossamer.core.pattern_index import PatternIndex
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy

CROSSED = Hierarchy({".a.b": [".x"]})
WHERES = ["", "x > 1", "x > 2", "x > 2 and y", "y", "x == 5", "x in (3, 5)", "not y", "false", "x != 3"]
PATTERNS = st.builds(
    Pattern,
    st.sampled_from([".", ".a", ".a.b", ".x"]),
    st.sampled_from(WHERES).map(lambda w: parse(w).text if w else ""),
)


def indexed(patterns: list[Pattern]) -> PatternIndex:
    index = PatternIndex(CROSSED)
    for each in patterns:
        index.add(each, parse(each.where) if each.where else None)
    return index


@settings(max_examples=200)
@given(st.lists(PATTERNS, unique=True, max_size=12), PATTERNS, st.data())
def test_whatever_includes_a_pattern_is_among_those_around_it(
    patterns: list[Pattern], asked: Pattern, data: st.DataObject
) -> None:
    index = indexed(patterns)
    for gone in data.draw(st.lists(st.sampled_from(patterns), unique=True) if patterns else st.just([])):
        index.remove(gone)
        patterns = [each for each in patterns if each != gone]
    around = [*index.around(asked, parse(asked.where) if asked.where else None)]
    assert {*around} <= {*patterns}
    assert {each for each in patterns if covers(each, asked, CROSSED)} <= {*around}


@given(st.lists(PATTERNS, unique=True, max_size=12), st.sampled_from([".", ".a", ".a.b.c", ".x", ".z"]))
def test_an_event_matches_what_it_would_match_one_by_one(patterns: list[Pattern], topic: str) -> None:
    index = indexed(patterns)
    for x in range(6):
        event = {"x": x, "y": x % 2 == 1}
        wanted = {
            each
            for each in patterns
            if CROSSED.includes(each.topic, topic) and (not each.where or parse(each.where).matches(event))
        }
        assert {*index.matching(topic, event)} == wanted
        assert index.matches(topic, event) == bool(wanted)


def test_of_very_many_filters_few_are_looked_at() -> None:
    class Asked(dict[str, int]):
        times = 0

        def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
            self.times += 1
            return super().get(name, default)

    index = indexed([Pattern(".a", f"price == {number} and x > 1") for number in range(300)])
    event = Asked(price=7, x=1)
    assert not index.matches(".a.b", event)
    assert event.times <= 3
    assert [*index.around(Pattern(".a", "price == 7 and x > 3"), parse("price == 7 and x > 3"))] == [
        Pattern(".a", "price == 7 and x > 1")
    ]


def test_filters_that_ask_for_more_than_attributes_are_given_it_and_others_are_not() -> None:
    index = indexed([Pattern(".a", "x > 1")])
    event = Event(EventId(7, 1, 1), ".a.b", attributes={"x": 1, "@topic": ".z"}, published_us=5)
    assert index.asked(event) is event.attributes
    asking = Pattern(".a", '@topic == ".a.b" and @publisher == 7 and @published < 6')
    index.add(asking, parse(asking.where))
    assert [*index.matching(event.topic, index.asked(event))] == [asking]
    index.remove(asking)
    assert index.asked(event) is event.attributes
