"""Filters as text, in the one form that equal filters share. What is written here reads back as the same set."""

import re
from collections.abc import Iterator

from gossamer.core.events import ASKED_BESIDES
from gossamer.core.filters import spans, wildcards
from gossamer.core.filters.spans import AFTER, BEFORE, NONE, Cut, Ordered, Spans
from gossamer.core.filters.text_parts import PLAIN, TextPart
from gossamer.core.filters.values import FALSE, PRESENT, TRUE, Value, Values, implied_start

KEYWORDS = ("and", "or", "not", "in", "is", "has", "true", "false", "startswith", "endswith", "contains")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
KINDS = ("number", "text", "bool")
EMPTY = (("", AFTER),)
"Up to the empty text there is nothing but it."
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "`": "\\`"}


def name_text(name: str) -> str:
    if name in ASKED_BESIDES or (PLAIN_NAME.fullmatch(name) and name not in KEYWORDS):
        return name
    return "`" + escaped(name, keep='"') + "`"


def value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{escaped(value, keep="`")}"' if isinstance(value, str) else repr(value)


def escaped(text: str, keep: str) -> str:
    return "".join(letter if letter == keep else ESCAPES.get(letter) or _visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"


def conditions(name: str, values: Values) -> list[str]:
    """What to write, joined by `and`, to leave exactly these values."""
    called = name_text(name)
    if values == PRESENT:
        return [f"has {called}"]
    if values.missing:
        return list(_exceptions(called, values)) if values.kinds() else [f"not has {called}"]
    if values.kinds() == 1:
        return _one_kind(called, values)
    listed = values.listed()
    if listed is not None:
        return [_member(called, "in", listed)]
    return [f"has {called}", *_exceptions(called, values)]


def _one_kind(called: str, values: Values) -> list[str]:
    if values.bools:
        return [{TRUE: called, FALSE: f"{called} == false"}.get(values.bools, f"{called} is bool")]
    if values.numbers != NONE:
        return _spans(called, values.numbers) or [f"{called} is number"]
    fits = [_fit(called, each) for each in values.musts]
    said = [*([] if implied_start(values) else _spans(called, values.texts)), *fits]
    nots = [f"not {_fit(called, each)}" for each in values.nots]
    typed = bool(fits) or any(not each.startswith("not ") for each in said)
    return [*([] if typed else [f"{called} is text"]), *said, *nots]


def _fit(called: str, part: TextPart) -> str:
    how, sought = part
    return f"{called} {how} {value_text(sought if how in PLAIN else wildcards.plain(sought))}"


def _spans(called: str, within: Spans) -> list[str]:
    """Values of one kind: their list, or the interval around them without the gaps. Empty if it is the whole kind."""
    if len(within.cuts) == 1 and within.cuts != EMPTY:
        return [_interval(called, None, *within.cuts) if within.inside else _interval(called, *within.cuts, None)]
    points = within.points()
    if points is not None:
        return [_member(called, "in", points)]
    first = None if within.inside else within.cuts[:1]
    last = None if within.inside ^ (len(within.cuts) % 2 == 1) else within.cuts[-1:]
    low, high = first[0] if first else None, last[0] if last else None
    said = [] if low is None and high is None else [_interval(called, low, high)]
    inner = within.cuts[0 if low is None else 1 : None if high is None else -1]
    gaps = Spans(False, inner)
    single = [each[0] for each in _pieces(gaps) if spans.is_point(*each)]
    said += [_member(called, "not in", [cut[0] for cut in single])] if single else []
    wide = [f"not {_interval(called, *each)}" for each in _pieces(gaps) if not spans.is_point(*each)]
    kind = "text" if within.cuts and isinstance(within.cuts[0][0], str) else "number"
    return [*(said or ([f"{called} is {kind}"] if wide else [])), *wide]


def _pieces(gaps: Spans) -> Iterator[tuple[Cut, Cut]]:
    yield from ((low, high) for low, high in gaps.intervals() if low is not None and high is not None)


def _interval(called: str, low: Cut | None, high: Cut | None) -> str:
    if low is None and high is None:
        raise AssertionError("an interval without ends is a kind, not a comparison")
    if low is not None and isinstance(low[0], str) and spans.starting(low[0]).cuts == (low, *([high] if high else [])):
        return f"{called} startswith {value_text(low[0])}"
    above = None if low is None else (value_text(low[0]), "<=" if low[1] == BEFORE else "<")
    below = None if high is None else ("<" if high[1] == BEFORE else "<=", value_text(high[0]))
    if above and below:
        return f"{above[0]} {above[1]} {called} {below[0]} {below[1]}"
    return f"{called} {below[0]} {below[1]}" if below else f"{called} >{above[1][1:]} {above[0]}"  # type: ignore[index]


def _member(called: str, how: str, listed: list[Value] | list[Ordered]) -> str:
    if len(listed) == 1:
        return f"{called} {'==' if how == 'in' else '!='} {value_text(listed[0])}"
    return f"{called} {how} ({', '.join(map(value_text, listed))})"


def _exceptions(called: str, values: Values) -> Iterator[str]:
    """Everything but …: for sets that know several kinds, or none at all."""
    if values.bools == 0:
        yield f"not {called} is bool"
    elif values.bools != FALSE | TRUE:
        yield f"not {called}" if values.bools == FALSE else f"not {called} == false"
    for kind, within in (("number", values.numbers), ("text", values.texts)):
        if within == NONE:
            yield f"not {called} is {kind}"
            continue
        gaps = within.inverse()
        single = [each[0][0] for each in _pieces(gaps) if spans.is_point(*each)]
        if single:
            yield f"not {_member(called, 'in', single)}"
        for low, high in gaps.intervals() if gaps != NONE else ():
            if low is None or high is None or not spans.is_point(low, high):
                yield f"not {_interval(called, low, high)}"
    yield from (f"not {_fit(called, each)}" for each in values.nots)
