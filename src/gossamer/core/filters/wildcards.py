"""Patterns with wildcards: `like` and `ilike`, `%` for any letters, `_` for one.

A pattern is kept as a text in which two letters that no real text has stand for the wildcards: halves of surrogate
pairs. So a pattern can be asked the same as any text: whether all that fits one fits another is whether the one, as it
is written, fits the other.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

Wild: TypeAlias = str
"A pattern: letters, ONE and MANY."

ONE, MANY = "\ud800", "\ud801"
ESCAPE = "\\"
SHORT = 16
"Longer pieces with `_` within are looked for by their bits: a hostile pattern of thousands costs little more than one."
KNOWN_MAX = 1024
WILDCARDS = {"_": ONE, "%": MANY}
RUN = re.compile(f"[{ONE}{MANY}]+")
MARKS = re.compile(f"[{ONE}{MANY}]")


class BadPattern(Exception):
    """What is wrong with a pattern."""


def wild(pattern: str, escape: str = ESCAPE) -> Wild:
    """A pattern as people write it. The letter after `escape` stands for itself: a wildcard, or the escape."""
    if MARKS.search(pattern):
        raise BadPattern("a pattern has whole letters, no halves of surrogate pairs")
    letters: list[str] = []
    given = iter(pattern)
    for letter in given:
        if letter == escape:
            letter = next(given, "")
            if letter not in WILDCARDS and letter != escape:
                raise BadPattern(f"after {escape} comes %, _ or {escape}: write {escape}{escape} for the letter itself")
            letters.append(letter)
        else:
            letters.append(WILDCARDS.get(letter, letter))
    return tidy("".join(letters))


def tidy(form: Wild) -> Wild:
    """In one form: of wildcards side by side, `_` comes first, and there is one `%` at most."""
    return RUN.sub(lambda run: ONE * run[0].count(ONE) + MANY * (MANY in run[0]), form)


def within(narrow: Wild, wide: Wild) -> bool:
    """True only if all that fits one pattern fits another. Of wildcards side by side either may come first, and for
    one of the two it may be easier to see."""
    return matcher(wide)(narrow) or matcher(RUN.sub(_turned, wide))(narrow)


def _turned(run: re.Match[str]) -> str:
    return run[0][::-1]


def plain(form: Wild) -> str:
    """As people write it, with a backslash before what is no wildcard."""
    return "".join({ONE: "_", MANY: "%"}.get(each) or (ESCAPE + each if each in "\\%_" else each) for each in form)


def folded(form: Wild) -> Wild:
    """A pattern around all that fits this one, once that is folded: there, one letter may become several."""
    return tidy(form.replace(ONE, ONE + MANY).casefold())


def is_plain(text: str) -> bool:
    """Whether the text has none of the two letters that stand for wildcards."""
    return text.isascii() or not MARKS.search(text)


def start_of(form: Wild) -> str:
    """How all that fits starts."""
    return MARKS.split(form, maxsplit=1)[0]


def end_of(form: Wild) -> str:
    """How all that fits ends."""
    return MARKS.split(form)[-1]


def longest_part(form: Wild) -> str:
    """Letters side by side that all that fits contains."""
    return max(MARKS.split(form), key=len)


def overlaps(start: str, end: str) -> bool:
    """Whether a text may start and end so and be shorter than both together."""
    return any(start.endswith(end[:length]) for length in range(1, min(len(start), len(end)) + 1))


def apart(one: Wild, other: Wild) -> bool:
    """True only if nothing fits both: their starts differ, or their ends, or one is longer than the other can be."""
    (head, *more), (its_head, *its_more) = one.split(MANY), other.split(MANY)
    if not more and len(head) < len(other) - len(its_more):
        return True
    if not its_more and len(its_head) < len(one) - len(more):
        return True
    tail, its_tail = (more or [head])[-1], (its_more or [its_head])[-1]
    return _differ(head, its_head) or _differ(tail[::-1], its_tail[::-1])


def _differ(one: Wild, other: Wild) -> bool:
    return any(mine != its and ONE not in (mine, its) for mine, its in zip(one, other))


# -- asking -----------------------------------------------------------------------------------------------------------


@lru_cache(KNOWN_MAX)
def matcher(form: Wild) -> Callable[[str], bool]:
    """Whether a text, or another pattern, fits: piece after piece, each as early as it can be. It never takes longer
    than the length of the text times that of the pieces."""
    head, *more = form.split(MANY)
    first, head_length = _at(head), len(head)
    if not more:
        return lambda text: len(text) == head_length and first(text, 0)
    *middle, tail = more
    last, shortest = _at(tail), len(head) + len(tail)
    found, tail_length = [(_find(piece), len(piece)) for piece in middle], len(tail)

    def fits(text: str) -> bool:
        at, end = head_length, len(text) - tail_length
        if len(text) < shortest or not first(text, 0) or not last(text, end):
            return False
        for find, length in found:
            at = find(text, at, end)
            if at < 0:
                return False
            at += length
        return True

    return fits


At: TypeAlias = Callable[[str, int], bool]
Find: TypeAlias = Callable[[str, int, int], int]


def _at(piece: Wild) -> At:
    """Whether a piece without `%` stands at a place."""
    if ONE not in piece:
        return lambda text, at: text.startswith(piece, at)
    pattern = _compiled(piece)
    return lambda text, at: pattern.match(text, at) is not None


def _find(piece: Wild) -> Find:
    """Where a piece without `%` first stands between two places; -1: nowhere."""
    if ONE not in piece:
        return lambda text, start, end: text.find(piece, start, end)
    if len(piece) > SHORT:
        return _find_by_bits(piece)
    pattern = _compiled(piece)

    def find(text: str, start: int, end: int) -> int:
        found = pattern.search(text, start, end)
        return -1 if found is None else found.start()

    return find


def _compiled(piece: Wild) -> re.Pattern[str]:
    """`_` is any letter; in a pattern that is asked, not one that stands for many."""
    return re.compile("".join(f"[^{MANY}]" if each == ONE else re.escape(each) for each in piece), re.DOTALL)


def _find_by_bits(piece: Wild) -> Find:
    """One step for each letter of the text: bit i says whether the last i + 1 letters start the piece."""
    length = len(piece)
    anything = sum(1 << at for at, each in enumerate(piece) if each == ONE)
    bits = dict.fromkeys(piece, anything)
    for at, each in enumerate(piece):
        if each != ONE:
            bits[each] |= 1 << at
    bits[MANY] = 0
    whole = 1 << (length - 1)

    def find(text: str, start: int, end: int) -> int:
        state = 0
        for at in range(start, end):
            state = (state << 1 | 1) & bits.get(text[at], anything)
            if state & whole:
                return at + 1 - length
        return -1

    return find
