"""What can be said of an attribute: every condition is a set of values."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.core.filters import spans, values
from gossamer.core.filters.spans import AFTER, ALL, BEFORE, Spans
from gossamer.core.filters.tokens import NUMBER, STRING, Token, Wrong
from gossamer.core.filters.trees import Condition
from gossamer.core.filters.values import PRESENT, Value, Values

NAME_MAX = 255
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"What an event's attributes can carry."
SHORT = 19
"Digits of a whole number below which it surely is one of these."

ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "`": "`"}
KINDS = {
    "number": Values(numbers=ALL),
    "text": Values(texts=ALL),
    "bool": Values(bools=values.FALSE | values.TRUE),
}
TRULY = Values(bools=values.TRUE)
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Constant(NamedTuple):
    value: Value
    token: Token


def constant(token: Token) -> Constant:
    if token.kind == NUMBER:
        return Constant(_number(token), token)
    if token.kind == STRING:
        return Constant(_unquoted(token), token)
    return Constant(token.kind == "true", token)


def flag(name: Token) -> Condition:
    return _said(name, TRULY)


def has(name: Token) -> Condition:
    return _said(name, PRESENT)


def kind(name: Token, kind: Token) -> Condition:
    if kind.said not in KINDS:
        raise Wrong(kind, "expected number, text or bool")
    return _said(name, KINDS[kind.said])


def compared(name: Token, how: Token, constant: Constant) -> Condition:
    return _said(name, _comparison(how.said, how, constant))


def compared_backwards(constant: Constant, how: Token, name: Token) -> Condition:
    return _said(name, _comparison(TURNED[how.said], how, constant))


def between(first: Constant, one: Token, name: Token, other: Token, last: Constant) -> Condition:
    if one.said[0] not in "<>" or one.said[0] != other.said[0]:
        raise Wrong(other, "a range is written with < and <= on both sides, or with > and >= on both")
    ends = (_comparison(TURNED[one.said], one, first), _comparison(other.said, other, last))
    return _said(name, values.both(ends))


def member(name: Token, listed: Sequence[Constant]) -> Condition:
    return _said(name, _listed(listed))


def outsider(name: Token, listed: Sequence[Constant]) -> Condition:
    return _said(name, _others(_listed(listed)))


def starts(name: Token, prefix: Token) -> Condition:
    return _said(name, Values(texts=spans.starting(_unquoted(prefix))))


def fits(name: Token, how: Token, sought: Token) -> Condition:
    text = _unquoted(sought)
    return _said(name, Values(texts=ALL, musts=((how.said, text),)) if text else KINDS["text"])


def _said(name: Token, wanted: Values) -> Condition:
    called = _unquoted(name) if name.said[0] == "`" else name.said
    if len(called) > NAME_MAX:
        raise Wrong(name, f"an attribute's name has at most {NAME_MAX} characters")
    return Condition(called, wanted)


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


def _number(token: Token) -> int | float:
    """Whole numbers are ints, however they are written: 100 and 100.0 are the same number."""
    said = token.said
    if len(said) < SHORT and said.isdigit():
        return int(said)
    whole = said.lstrip("+-").isdigit()
    digits = said.lstrip("+-").lstrip("0")
    if whole and (
        len(digits) > len(str(INT_MAX)) or not INT_MIN <= int(said[: len(said) - len(digits)] + digits) <= INT_MAX
    ):
        raise Wrong(token, "whole numbers must lie between -2^63 and 2^64 - 1")
    if whole:
        return int(said)
    number = float(said)
    if math.isinf(number):
        raise Wrong(token, "this number is too large")
    return int(number) if number.is_integer() and INT_MIN <= number <= INT_MAX else number


def _unquoted(token: Token) -> str:
    def letter(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code is None and found[4] in LETTERS:
            return LETTERS[found[4]]
        if code is None or int(code, 16) > 0x10FFFF:
            why = "write \\\\ for a backslash; \\n, \\t, \\r, \\xhh, \\uhhhh and \\Uhhhhhhhh are known"
            raise Wrong(token, why, found.start() + 1)
        return chr(int(code, 16))

    inner = token.said[1:-1]
    return ESCAPE.sub(letter, inner) if "\\" in inner else inner
