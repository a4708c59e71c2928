"""Constants of the language: numbers, texts, truths and times, from how they are written."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gossamer.core.filters.tokens import NUMBER, STRING, Token, Wrong
from gossamer.core.filters.values import Value

INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"What an event's attributes can carry."
SHORT = 19
"Digits of a whole number below which it surely is one of these."

ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "`": "`"}
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Constant(NamedTuple):
    value: Value
    token: Token


def constant(token: Token) -> Constant:
    if token.kind == NUMBER:
        return Constant(_number(token), token)
    if token.kind == STRING:
        return Constant(unquoted(token), token)
    return Constant(token.kind == "true", token)


def time(word: Token, token: Token) -> Constant:
    """Microseconds since 1970: what the clock of a publisher says, and what an attribute says that is a time."""
    said = unquoted(token)
    if TIME.fullmatch(said):
        try:
            return Constant(microseconds(datetime.fromisoformat(said)), word)
        except (ValueError, OverflowError):
            pass
    raise Wrong(token, 'a timestamp is written like "2026-11-18T20:00:00Z" or "2026-11-18T21:00:00.25+01:00"')


def microseconds(time: datetime) -> int:
    """A time with its zone, as a whole number."""
    return (time - EPOCH) // timedelta(microseconds=1)


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


def unquoted(token: Token) -> str:
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
