"""What can be said of an attribute: every condition is a set of values."""

from collections.abc import Sequence

from gossamer.core.events import ABOUT_PUBLISHER, ABOUT_TOPIC, ASKED_BESIDES
from gossamer.core.filters import spans, values
from gossamer.core.filters.constants import Constant, unquoted
from gossamer.core.filters.likeness import likeness
from gossamer.core.filters.spans import AFTER, ALL, BEFORE, Spans
from gossamer.core.filters.tokens import Token, Wrong
from gossamer.core.filters.trees import All, Condition, Node, negation
from gossamer.core.filters.values import PRESENT, Value, Values
from gossamer.core.ids import peer_of

NAME_MAX = 255
KINDS = {
    "number": Values(numbers=ALL),
    "text": Values(texts=ALL),
    "bool": Values(bools=values.FALSE | values.TRUE),
}
TRULY = Values(bools=values.TRUE)
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def flag(name: Token) -> Condition:
    return _said(name, TRULY)


def has(name: Token) -> Condition:
    return _said(name, PRESENT)


def kind(name: Token, kind: Token) -> Condition:
    if kind.said not in KINDS:
        raise Wrong(kind, "expected number, text or bool")
    return _said(name, KINDS[kind.said])


def compared(name: Token, how: Token, constant: Constant) -> Condition:
    return _said(name, _comparison(how.said, how, _asked(name, how, constant)))


def compared_backwards(constant: Constant, how: Token, name: Token) -> Condition:
    return _said(name, _comparison(TURNED[how.said], how, _asked(name, how, constant)))


def between(first: Constant, one: Token, name: Token, other: Token, last: Constant) -> Condition:
    if one.said[0] not in "<>" or one.said[0] != other.said[0]:
        raise Wrong(other, "a range is written with < and <= on both sides, or with > and >= on both")
    ends = (_comparison(TURNED[one.said], one, first), _comparison(other.said, other, last))
    return _said(name, values.both(ends))


def between_both(name: Token, how: Token, low: Constant, high: Constant, positive: bool) -> Node:
    """Both ends belong to it. `not between` asks for the same type, as `not in` does."""
    if isinstance(low.value, str) != isinstance(high.value, str):
        raise Wrong(high.token, "between has two numbers, or two texts")
    ends = (_comparison(">=", how, low), _comparison("<=", how, high))
    return _if(positive, _said(name, values.both(ends)), _said(name, _kind_of(low.value)))


def member(name: Token, listed: Sequence[Constant]) -> Condition:
    return _said(name, _listed([_asked(name, None, each) for each in listed]))


def outsider(name: Token, listed: Sequence[Constant]) -> Condition:
    return _said(name, _others(_listed([_asked(name, None, each) for each in listed])))


def like(name: Token, how: Token, pattern: Token, escape: Token | None, positive: bool) -> Node:
    """`not like` asks for a text, as `not in` does."""
    parts = [_said(name, each) for each in likeness(how.said, pattern, escape)]
    found = parts[0] if len(parts) == 1 else All(tuple(parts))
    return _if(positive, found, _said(name, KINDS["text"]))


def _if(positive: bool, node: Node, kind: Node) -> Node:
    return node if positive else All((kind, negation(node)))


def starts(name: Token, prefix: Token) -> Condition:
    return _said(name, Values(texts=spans.starting(unquoted(prefix))))


def fits(name: Token, how: Token, sought: Token) -> Condition:
    text = unquoted(sought)
    return _said(name, Values(texts=ALL, musts=((how.said, text),)) if text else KINDS["text"])


def _said(name: Token, wanted: Values) -> Condition:
    called = _called(name)
    if len(called) > NAME_MAX:
        raise Wrong(name, f"an attribute's name has at most {NAME_MAX} characters")
    if called in ASKED_BESIDES and wanted != PRESENT:
        others = wanted.bools or (wanted.numbers if called == ABOUT_TOPIC else wanted.texts) != spans.NONE
        if others:
            raise Wrong(name, f"{called} is a {'text' if called == ABOUT_TOPIC else 'number'}: ask for one")
    elif name.said[0] == "@" and called not in ASKED_BESIDES:
        raise Wrong(name, f"beside its attributes, an event has {', '.join(ASKED_BESIDES)}")
    return Condition(called, wanted)


def _called(name: Token) -> str:
    return unquoted(name) if name.said[0] == "`" else name.said


def _asked(name: Token, how: Token | None, constant: Constant) -> Constant:
    """Publishers are numbers, and may be asked for by the names these are made of."""
    if not isinstance(constant.value, str) or _called(name) != ABOUT_PUBLISHER:
        return constant
    if how is not None and how.said not in ("==", "!="):
        raise Wrong(how, "names of publishers have no order: compare them with == or !=")
    return Constant(peer_of(constant.value), constant.token)


def _comparison(how: str, operator: Token, constant: Constant) -> Values:
    value = constant.value
    if how == "==":
        return _point(value)
    if how == "!=":
        return _others(_point(value))
    if isinstance(value, bool):
        raise Wrong(operator, "true and false have no order: compare them with == or !=")
    return _of_kind(value, spans.above(value, AFTER) if how == ">" else _above_or_below(how, value))


def _above_or_below(how: str, value: str | int | float) -> Spans:
    if how == ">=":
        return spans.above(value, BEFORE)
    return spans.above(value, BEFORE if how == "<" else AFTER).inverse()


def _of_kind(value: str | int | float, within: Spans) -> Values:
    return Values(texts=within) if isinstance(value, str) else Values(numbers=within)


def _kind_of(value: Value) -> Values:
    return KINDS["text" if isinstance(value, str) else "number"]


def _point(value: Value) -> Values:
    if isinstance(value, bool):
        return Values(bools=values.TRUE if value else values.FALSE)
    return _of_kind(value, spans.point(value))


def _listed(constants: Sequence[Constant]) -> Values:
    given = [constant.value for constant in constants]
    truths = [value for value in given if isinstance(value, bool)]
    texts = [value for value in given if isinstance(value, str)]
    numbers = [value for value in given if not isinstance(value, bool | str)]
    bools = (values.TRUE if True in truths else 0) | (values.FALSE if False in truths else 0)
    return Values(False, bools, spans.points(numbers), spans.points(texts))


def _others(listed: Values) -> Values:
    """Different values of the same types: `price != 5` is about numbers."""
    return Values(
        False,
        (values.FALSE | values.TRUE) & ~listed.bools if listed.bools else 0,
        listed.numbers.inverse() if listed.numbers != spans.NONE else spans.NONE,
        listed.texts.inverse() if listed.texts != spans.NONE else spans.NONE,
    )
