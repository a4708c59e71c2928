"""What a participant's row says of very many patterns: wider, never too little, and not worked out each time."""

import pytest

from gossamer.core.filters import parse
from gossamer.core.interest import Interest
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.protocols.hpmcast import asked
from gossamer.protocols.hpmcast.asked import GATHER_US, Asked
from gossamer.protocols.hpmcast.condensing import condensed, fits, of_many
from gossamer.protocols.hpmcast.messages import PATTERNS_MAX
from gossamer.protocols.hpmcast.wanting import read, wanted

TOPICS = Hierarchy()
SIZE = 8


class One:
    """What is asked for, and said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interest = Interest(TOPICS)
        self.asked = Asked(self.interest)
        self.now_us = 0
        self.made: list[int] = []
        "Of how many patterns a row was made each time."
        monkeypatch.setattr(asked, "of_many", self.of_many)

    def of_many(self, patterns, size, hierarchy):  # type: ignore[no-untyped-def]
        self.made.append(len(patterns))
        return of_many(patterns, size, hierarchy)

    def subscribe(self, *numbers: int) -> None:
        for number in numbers:
            self.asked.changed(self.interest.subscribe(Pattern(".a", f"x == {number}")))

    def unsubscribe(self, *numbers: int) -> None:
        for number in numbers:
            self.asked.changed(self.interest.unsubscribe(Pattern(".a", f"x == {number}")))

    def said(self, calm: bool = False, size: int = SIZE) -> list[int]:
        """The numbers that the row lets through."""
        row = wanted(self.asked.said(size, self.now_us, calm))
        assert row is not None
        assert fits(row.interest)
        return [number for number in range(-10, 1200) if row.matches(".a", {"x": number}, TOPICS)]


def test_few_are_said_exactly_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = One(monkeypatch)
    for first in range(0, PATTERNS_MAX, 16):
        one.subscribe(*(7 * number for number in range(first, first + 16)))
        assert one.said() == [7 * each for each in range(first + 16)]
    one.unsubscribe(7)
    assert 7 not in one.said()
    assert one.made == []


def test_what_came_to_many_is_added_to_what_was_said_once_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    one = One(monkeypatch)
    one.subscribe(*range(200))
    assert {*range(200)} <= {*one.said()}
    one.subscribe(1000)
    one.subscribe(1100)
    assert 1000 not in one.said()
    one.now_us += GATHER_US
    assert {*range(200), 1000, 1100} <= {*one.said()}
    assert one.made == [200, 3]  # what was said is one pattern by now
    one.subscribe(100_000)
    one.unsubscribe(100_000)
    one.now_us += GATHER_US
    one.said()
    assert one.made == [200, 3]  # it is covered


def test_once_they_are_at_rest_all_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    one = One(monkeypatch)
    one.subscribe(*range(200), 1000)
    one.said()
    one.unsubscribe(1000)
    assert 1000 in one.said()
    assert one.said(calm=True) == [*range(200)]
    one.said(calm=True)
    one.said()
    assert one.made == [201, 200]


def test_another_size_is_another_row(monkeypatch: pytest.MonkeyPatch) -> None:
    one = One(monkeypatch)
    one.subscribe(*range(0, 1000, 10))
    narrow, wide = one.said(size=64), one.said(size=1)
    assert len(narrow) < len(wide)
    assert {*range(0, 1000, 10)} <= {*narrow}


def test_of_many_that_were_read_comes_what_comes_of_their_texts() -> None:
    patterns = [Pattern(f".a.t{number % 5}", parse(f"x == {number} and y").text) for number in range(100)]
    assert of_many(read(tuple(patterns)), 64, TOPICS) == condensed([tuple(patterns)], "attribute", 64, TOPICS)


def test_so_many_topics_that_filters_would_not_fit_give_way_to_those_above() -> None:
    patterns = {
        Pattern(f".a.b{number % 3}.t{number}", f"x == {number}"): parse(f"x == {number}") for number in range(1000)
    }
    assert of_many(patterns, 64, TOPICS) == tuple(Pattern(f".a.b{number}") for number in range(3))
