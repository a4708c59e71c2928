"""Filters built in Python: whatever names and values hold, what comes of it is the filter that was meant."""

import math
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import F, Filter
from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.filters import parse
from gossamer.core.filters.building import Attr
from gossamer.core.ids import EventId, peer_of

EVENING = datetime(2026, 11, 18, 20, tzinfo=UTC)


class Side(StrEnum):
    BUY = 'b"uy'


BUILT: list[tuple[Filter, str]] = [
    (F.attr("price") > 100, "price > 100"),
    ((F.attr("price") >= 1.5) & (F.attr("price") < 2), "1.5 <= price < 2"),
    ((F.attr("a") == 1) | ~(F.attr("b") <= "x"), 'a == 1 or not b <= "x"'),
    (F.attr("a") != True, "a == false"),  # noqa: E712
    (F.attr("symbol").isin(["IBM", "SAP"]), 'symbol in ("IBM", "SAP")'),
    (F.attr("symbol").isin([]), "false"),
    (F.attr("symbol").notin([1, 2]), "symbol not in (1, 2)"),
    (F.attr("symbol").notin([]), "has symbol"),
    (F.attr("a").between(1, 2), "a between 1 and 2"),
    (~F.attr("a").between("x", "y"), 'not "x" <= a <= "y"'),
    (F.attr("a").startswith("x") & F.attr("a").endswith("y"), 'a startswith "x" and a endswith "y"'),
    (F.attr("a").contains('"'), r'a contains "\""'),
    (F.attr("a").like("x_%"), 'a like "x_%"'),
    (F.attr("a").like(r"100\%"), 'a == "100%"'),
    (F.attr("a").like("100!%", escape="!"), 'a == "100%"'),
    (F.attr("a").ilike("IBM"), 'a ilike "ibm"'),
    (F.attr("a").is_null() | F.attr("a").is_number(), "a is null or a is number"),
    (F.attr("a").is_not_null() & ~F.attr("a").is_text(), "has a and not a is text"),
    (F.attr("a").is_bool() & F.attr("a").is_true(), "a"),
    (F.attr("side") == Side.BUY, r'side == "b\"uy"'),
    (F.attr("at") > EVENING, 'at > timestamp "2026-11-18T20:00:00Z"'),
    (F.attr("at") > datetime(2026, 11, 18, 21, tzinfo=timezone(timedelta(hours=1))), "at > 1795032000000000"),
    (F.topic.startswith(".a") & (F.publisher == "anna"), '@topic startswith ".a" and @publisher == "anna"'),
    (F.published.between(EVENING, EVENING), 'timestamp "2026-11-18T20:00:00Z" == @published'),
    (F.every(), "true"),
    (F.some(), "false"),
    (F.every(F.attr("a") > 1, F.some(F.attr("b") > 1, F.attr("c") > 1)), "a > 1 and (b > 1 or c > 1)"),
]


@pytest.mark.parametrize(("built", "text"), BUILT)
def test_what_is_built_is_what_would_be_written(built: Filter, text: str) -> None:
    assert built == parse(text)


NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name[0] != "@")
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.text(max_size=30),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
LETTERS = st.text(st.sampled_from("\"'`\\%_\n and or)(==x1\ud800é"), max_size=12)


@given(NAMES | LETTERS.filter(bool), VALUES | LETTERS, VALUES)
def test_no_name_and_no_value_says_more_than_itself(name: str, value: Any, other: Any) -> None:
    equal = F.attr(name) == value
    assert equal.names == (name,)
    assert equal.matches({name: value})
    alike = (type(value) is type(other) and value == other) or both_numbers(value, other)
    assert equal.matches({name: other}) is alike
    assert not (~equal).matches({name: value})
    assert F.attr(name).isin([value, other]).matches({name: other})
    assert (equal & (F.attr("z") > 1)).terms[0].keys() == {name, "z"}


def both_numbers(value: Any, other: Any) -> bool:
    return not {type(value), type(other)} & {str, bool} and bool(value == other)


@given(LETTERS, LETTERS)
def test_no_text_looked_for_says_more_than_itself(sought: str, text: str) -> None:
    about = F.attr("x")
    assert about.startswith(sought).matches({"x": text}) is text.startswith(sought)
    assert about.endswith(sought).matches({"x": text}) is text.endswith(sought)
    assert about.contains(sought).matches({"x": text}) is (sought in text)


@given(st.text("ab%_\\'\"!`", max_size=8))
def test_every_text_can_be_quoted_as_a_pattern(text: str) -> None:
    quoted = "".join("!" + letter if letter in "%_!" else letter for letter in text)
    assert F.attr("x").like(quoted, escape="!") == (F.attr("x") == text)


@given(st.datetimes(timezones=st.timezones()))
def test_any_time_is_the_microseconds_it_is(time: datetime) -> None:
    try:
        microseconds = round(time.astimezone(UTC).timestamp() * 1_000_000)
    except (OverflowError, ValueError):
        return
    made = F.attr("x") <= time
    assert made.matches({"x": microseconds - 300})
    assert not made.matches({"x": microseconds + 300})


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: F.attr("x") > math.nan, "finite"),
        (lambda: F.attr("x") > math.inf, "finite"),
        (lambda: F.attr("x") == None, "not NoneType"),  # noqa: E711
        (lambda: F.attr("x") == b"bytes", "not bytes"),
        (lambda: F.attr("x") > datetime(2026, 1, 1), "has no zone"),
        (lambda: F.attr("x") > True, "no order"),
        (lambda: F.attr("x") == 2**64, "between"),
        (lambda: F.attr("x").isin("IBM"), "take a list"),
        (lambda: F.attr("x").like(5), "takes a text"),  # type: ignore[arg-type]
        (lambda: F.attr("x").like("a", escape=""), "one letter"),
        (lambda: F.attr(""), "1 to 255 letters"),
        (lambda: F.attr("@topic"), r"F\.topic"),
        (lambda: F.attr("x" * 256) > 1, "at most 255"),
        (lambda: F.attr("@other") > 1, None),
        (lambda: 1 < F.attr("x") < 5, "neither true nor false"),
        (lambda: (F.attr("x") > 1) and (F.attr("y") > 1), "neither true nor false"),
        (lambda: not (F.attr("x") > 1), "neither true nor false"),
        (lambda: F.topic == 5, "is a text"),
        (lambda: F.every(*[F.attr(f"a{n}") == "x" * 500 for n in range(20)]), "8192"),
    ],
)
def test_a_mistake_is_told(build: Any, said: str | None) -> None:
    if said is None:
        assert build().names == ("@other",)
        return
    with pytest.raises(Misuse, match=said):
        build()


def test_filters_join_with_filters_only() -> None:
    made = F.attr("x") > 1
    with pytest.raises(TypeError):
        made & "y > 1"  # type: ignore[operator]
    with pytest.raises(TypeError):
        made | True  # type: ignore[operator]
    with pytest.raises(TypeError):
        hash(F.attr("x"))
    assert repr(F.attr("net price")) == "F.attr(`net price`)"
    assert isinstance(F.topic, Attr)


def test_what_every_event_has_can_be_asked_for_and_no_attribute_hides_it() -> None:
    lies: dict[str, Any] = {"@topic": ".b", "@publisher": 7, "@published": 0, "x": 1}
    event = Event(EventId(peer_of("anna"), 1, 1), ".a.b", attributes=lies, published_us=1_795_032_000_000_000)
    for wanted in (
        F.topic == ".a.b",
        F.publisher == "anna",
        F.publisher.isin(["bert", "anna"]),
        F.publisher == peer_of("anna"),
        F.published >= EVENING,
        (F.topic.like(".a.%")) & (F.attr("x") == 1),
        ~(F.topic == ".b"),
        F.topic.is_not_null(),
    ):
        assert wanted.wants(event)
        assert wanted.asks_besides
    assert not (F.publisher != "anna").wants(event)
    assert not (F.published < EVENING).wants(event)
    assert not parse("x > 1").asks_besides
