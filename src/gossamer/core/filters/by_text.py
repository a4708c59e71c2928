"""Where the index keeps terms that ask a text to start with, end with or contain something: under that something.

A text has few starts and ends, and not many parts, of the lengths that are asked for: each is looked up. A pattern is
found by the longest of these that all that fits it has; one that does not tell large letters from small ones by that
of the folded text, which is folded once, however many ask.
"""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.filters.compiling import Attributes
from gossamer.core.filters.places import EqualTerms, Wanted
from gossamer.core.filters.spans import NONE
from gossamer.core.filters.terms import Term
from gossamer.core.filters.text_parts import CONTAINS, ENDSWITH, ILIKE, PLAIN
from gossamer.core.filters.values import Values, common_start
from gossamer.core.filters.wildcards import end_of, longest_part, start_of

STARTSWITH = "startswith"
RARE = (STARTSWITH, ENDSWITH, CONTAINS)
"What is looked up with the least looking comes first."


Place: TypeAlias = tuple[str, str, int, bool]
"An attribute, how something is looked for in it, how long that is, and whether in the folded text."


class Part(Struct, frozen=True):
    """What a term is found by."""

    name: str
    how: str
    sought: str
    folded: bool = False
    "Whether it is looked for in the folded text."


def part_of(term: Term) -> Part | None:
    """The part to find a term by: the longest, and of these a start or an end rather than something in between."""
    found = [part for name in sorted(term) for part in _parts(name, term[name])]
    return max(found, key=lambda each: (len(each.sought), -RARE.index(each.how)), default=None)


def _parts(name: str, values: Values) -> Iterator[Part]:
    if values.missing or values.bools or values.numbers != NONE:
        return
    if start := common_start(values.texts):
        yield Part(name, STARTSWITH, start)
    for how, sought in values.musts:
        if how in PLAIN:
            yield Part(name, how, sought)
            continue
        is_folded = how == ILIKE
        starts = ((STARTSWITH, start_of(sought)),) if is_folded else ()
        for way, part in (*starts, (ENDSWITH, end_of(sought)), (CONTAINS, longest_part(sought))):
            if part:
                yield Part(name, way, part, is_folded)


class ByText:
    """Terms under a part of one attribute each."""

    def __init__(self) -> None:
        self._sought: dict[Place, dict[str, EqualTerms]] = {}

    def add(self, slot: int, wanted: Wanted, by: Part) -> None:
        buckets = self._sought.setdefault(_place(by), {})
        buckets.setdefault(by.sought, EqualTerms()).add(slot, wanted)

    def remove(self, slot: int, by: Part) -> None:
        key = _place(by)
        buckets = self._sought[key]
        buckets[by.sought].remove(slot)
        if not buckets[by.sought]:
            del buckets[by.sought]
        if not buckets:
            del self._sought[key]

    def find(self, attributes: Attributes, found: list[int], one: bool = False) -> None:
        folded: dict[str, str] = {}
        for (name, how, length, is_folded), buckets in self._sought.items():
            text = attributes.get(name)
            if type(text) is not str:
                continue
            if is_folded:
                text = folded[name] if name in folded else folded.setdefault(name, text.casefold())
            if len(text) >= length:
                for sought in _there(text, how, length, buckets):
                    buckets[sought].find(attributes, found, one)
                    if one and found:
                        return


def _place(part: Part) -> Place:
    return part.name, part.how, len(part.sought), part.folded


def _there(text: str, how: str, length: int, buckets: dict[str, EqualTerms]) -> list[str]:
    """Those sought that are parts of the text."""
    if how != CONTAINS:
        part = text[:length] if how == STARTSWITH else text[len(text) - length :]
        return [part] if part in buckets else []
    if len(text) - length < len(buckets):
        parts = dict.fromkeys([text[at : at + length] for at in range(len(text) - length + 1)])
        return [part for part in parts if part in buckets]
    return [sought for sought in buckets if sought in text]
