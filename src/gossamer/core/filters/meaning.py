"""What each rule of the grammar means: a condition is a set of values, and everything else joins conditions."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from lark import Token, Transformer, v_args

from gossamer.core.filters import spans, values
from gossamer.core.filters.spans import AFTER, ALL, BEFORE, Spans
from gossamer.core.filters.trees import FALSE, TRUE, All, Any, Condition, Node, negation
from gossamer.core.filters.values import PRESENT, Value, Values

DEPTH_MAX = 32
"Parentheses inside parentheses."
NAME_MAX = 255
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"What an event's attributes can carry."

ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "`": "`"}
KINDS = {
    "number": Values(numbers=ALL),
    "text": Values(texts=ALL),
    "bool": Values(bools=values.FALSE | values.TRUE),
}
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Wrong(Exception):
    """Something that the grammar allows and the meaning does not, and where."""

    def __init__(self, token: Token, why: str, further: int = 0) -> None:
        super().__init__(why)
        self.at, self.why = (token.start_pos or 0) + further, why


class FilterPart(NamedTuple):
    """A part of the filter, and how deep its parentheses go."""

    node: Node
    depth: int = 0


class Constant(NamedTuple):
    value: Value
    token: Token


@v_args(inline=True)
class Meaning(Transformer[Token, FilterPart]):
    """The parser calls these from the leaves up: nothing here calls itself, however long the text."""

    def either(self, *parts: FilterPart) -> FilterPart:
        return FilterPart(Any(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def together(self, *parts: FilterPart) -> FilterPart:
        return FilterPart(All(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def negated(self, part: FilterPart) -> FilterPart:
        return FilterPart(negation(part.node), part.depth)

    def grouped(self, opening: Token, part: FilterPart) -> FilterPart:
        if part.depth >= DEPTH_MAX:
            raise Wrong(opening, f"parentheses are nested more than {DEPTH_MAX} deep: say it flatter")
        return FilterPart(part.node, part.depth + 1)

    def always(self, _: Token) -> FilterPart:
        return FilterPart(TRUE)

    def never(self, _: Token) -> FilterPart:
        return FilterPart(FALSE)

    def flag(self, name: Token) -> FilterPart:
        return _said(name, Values(bools=values.TRUE))

    def has(self, name: Token) -> FilterPart:
        return _said(name, PRESENT)

    def kind(self, name: Token, kind: Token) -> FilterPart:
        if kind.value not in KINDS:
            raise Wrong(kind, "expected number, text or bool")
        return _said(name, KINDS[kind.value])

    def compared(self, name: Token, how: Token, constant: Constant) -> FilterPart:
        return _said(name, _comparison(how.value, how, constant))

    def compared_backwards(self, constant: Constant, how: Token, name: Token) -> FilterPart:
        return _said(name, _comparison(TURNED[how.value], how, constant))

    def between(self, first: Constant, one: Token, name: Token, other: Token, last: Constant) -> FilterPart:
        if one.value[0] not in "<>" or one.value[0] != other.value[0]:
            raise Wrong(other, "a range is written with < and <= on both sides, or with > and >= on both")
        ends = (_comparison(TURNED[one.value], one, first), _comparison(other.value, other, last))
        return _said(name, values.both(ends))

    def member(self, name: Token, listed: Sequence[Constant]) -> FilterPart:
        return _said(name, _listed(listed))

    def outsider(self, name: Token, listed: Sequence[Constant]) -> FilterPart:
        return _said(name, _others(_listed(listed)))

    def starts(self, name: Token, _: Token, prefix: Token) -> FilterPart:
        return _said(name, Values(texts=spans.starting(_unquoted(prefix))))

    def fits(self, name: Token, how: Token, sought: Token) -> FilterPart:
        text = _unquoted(sought)
        return _said(name, Values(texts=ALL, musts=((how.value, text),)) if text else KINDS["text"])

    def list(self, *constants: Constant) -> Sequence[Constant]:
        return constants

    def value(self, token: Token) -> Constant:
        match token.type:
            case "NUMBER":
                return Constant(_number(token), token)
            case "STRING":
                return Constant(_unquoted(token), token)
            case truth:
                return Constant(truth == "TRUE", token)


def _said(name: Token, wanted: Values) -> FilterPart:
    called = _unquoted(name) if name.value[0] == "`" else name.value
    if len(called) > NAME_MAX:
        raise Wrong(name, f"an attribute's name has at most {NAME_MAX} characters")
    return FilterPart(Condition(called, wanted))


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
    texts = [spans.point(value) for value in given if isinstance(value, str)]
    numbers = [spans.point(value) for value in given if isinstance(value, int | float) and not isinstance(value, bool)]
    bools = (values.TRUE if True in truths else 0) | (values.FALSE if False in truths else 0)
    return Values(False, bools, spans.united(numbers), spans.united(texts))


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
    said = token.value
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

    return ESCAPE.sub(letter, token.value[1:-1])
