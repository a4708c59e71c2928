"""Where the index keeps terms: under a range of numbers, among a few that are tried one by one, or counted."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gossamer.core.filters.compiling import Attributes, Check, compiled, condition
from gossamer.core.filters.ranges import Ranges
from gossamer.core.filters.spans import NONE, Cut
from gossamer.core.filters.terms import Term
from gossamer.core.filters.values import Values

FEW = 16
"So many terms are tried one by one before their ranges are told apart."


class Wanted(Struct, frozen=True):
    """A term of a filter, as far as its place does not say it already."""

    term: Term
    itself: Check | None
    "The filter, where the terms are only its outline."
    number: int
    "The filter's."

    def check(self, said: Sequence[str] = ()) -> Check | None:
        """What is left to look at beside these attributes; None if nothing is."""
        left = {name: values for name, values in self.term.items() if name not in said}
        if self.itself is not None:
            return self.itself
        return compiled([left]) if left else None


class Range(Struct, frozen=True):
    """The range of numbers a term is found by."""

    name: str
    low: Cut | None
    high: Cut | None
    whole: bool
    "Whether the range says all about this attribute."

    @property
    def closed(self) -> bool:
        return self.low is not None and self.high is not None


def range_of(term: Term) -> Range | None:
    """The range to find a term by: one with two ends rather than one."""
    found = [each for name in sorted(term) if (each := _range(name, term[name])) is not None]
    return min(found, key=lambda each: (each.low is None) + (each.high is None), default=None)


def _range(name: str, values: Values) -> Range | None:
    numbers = values.numbers
    if values.missing or values.bools or values.texts != NONE or not numbers.cuts:
        return None
    ends_open = numbers.inside ^ (len(numbers.cuts) % 2 == 1)
    low, high = None if numbers.inside else numbers.cuts[0], None if ends_open else numbers.cuts[-1]
    if low is None and high is None:
        return None
    return Range(name, low, high, whole=(low is not None) + (high is not None) == len(numbers.cuts))


class ByRange:
    """Terms under a range of one attribute each."""

    def __init__(self) -> None:
        self._ranges: dict[str, Ranges] = {}

    def add(self, slot: int, wanted: Wanted, by: Range) -> None:
        rest = wanted.check(said=(by.name,) if by.whole else ())
        self._ranges.setdefault(by.name, Ranges()).add(slot, by.low, by.high, rest, wanted.number)

    def remove(self, slot: int, by: Range) -> None:
        self._ranges[by.name].remove(slot, by.low, by.high)

    def find(self, attributes: Attributes, found: list[int], one: bool = False) -> None:
        for name, ranges in self._ranges.items():
            value = attributes.get(name)
            kind = type(value)
            if (kind is float or kind is int) and value == value:
                ranges.find(value, attributes, found, one)  # type: ignore[arg-type]


class EqualTerms:
    """Terms that ask an attribute to equal the same value. Few are tried one by one, many by their ranges."""

    def __init__(self) -> None:
        self._singles: dict[int, tuple[Check | None, int]] = {}
        self._held: dict[int, Wanted] = {}
        self._ranged: dict[int, Range] = {}
        self._by_range: ByRange | None = None

    def __len__(self) -> int:
        return len(self._held)

    def add(self, slot: int, wanted: Wanted) -> None:
        self._held[slot] = wanted
        if self._by_range is not None:
            self._place(slot, wanted, self._by_range)
        else:
            self._singles[slot] = (wanted.check(), wanted.number)
            if len(self._singles) > FEW:
                self._singles, self._by_range = {}, ByRange()
                for each, its in self._held.items():
                    self._place(each, its, self._by_range)

    def _place(self, slot: int, wanted: Wanted, by_range: ByRange) -> None:
        by = range_of(wanted.term)
        if by is None:
            self._singles[slot] = (wanted.check(), wanted.number)
        else:
            self._ranged[slot] = by
            by_range.add(slot, wanted, by)

    def remove(self, slot: int) -> None:
        del self._held[slot]
        by = self._ranged.pop(slot, None)
        if by is None or self._by_range is None:
            del self._singles[slot]
        else:
            self._by_range.remove(slot, by)

    def find(self, attributes: Attributes, found: list[int], one: bool = False) -> None:
        for check, number in self._singles.values():
            if check is None or check(attributes):
                found.append(number)
                if one:
                    return
        if self._by_range is not None:
            self._by_range.find(attributes, found, one)


class Counting:
    """Each different condition is looked at once; a term is met when as many of its conditions held as it has."""

    def __init__(self) -> None:
        self._conditions: dict[str | None, dict[tuple[str, Values], tuple[Check, dict[int, None]]]] = {}
        "By the attribute that must be there; None: it need not be."
        self._held: dict[int, Wanted] = {}
        self._always: dict[int, None] = {}

    def add(self, slot: int, wanted: Wanted) -> None:
        self._held[slot] = wanted
        if not wanted.term:
            self._always[slot] = None
        for asked in wanted.term.items():
            conditions = self._conditions.setdefault(_needed(*asked), {})
            if asked not in conditions:
                conditions[asked] = (condition(*asked), {})
            conditions[asked][1][slot] = None

    def remove(self, slot: int) -> None:
        wanted = self._held.pop(slot)
        self._always.pop(slot, None)
        for asked in wanted.term.items():
            conditions = self._conditions[_needed(*asked)]
            slots = conditions[asked][1]
            del slots[slot]
            if not slots:
                del conditions[asked]
            if not conditions:
                del self._conditions[_needed(*asked)]

    def find(self, attributes: Attributes, found: list[int], one: bool = False) -> None:
        for slot in self._met(attributes) if self._held else ():
            wanted = self._held[slot]
            if wanted.itself is None or wanted.itself(attributes):
                found.append(wanted.number)
                if one:
                    return

    def _met(self, attributes: Attributes) -> Iterator[int]:
        """Conditions on attributes that are not there are not looked at."""
        yield from self._always
        counts: dict[int, int] = {}
        for name in (None, *attributes):
            conditions = self._conditions.get(name)
            for check, slots in conditions.values() if conditions is not None else ():
                if check(attributes):
                    for slot in slots:
                        counts[slot] = counts.get(slot, 0) + 1
                        if counts[slot] == len(self._held[slot].term):
                            yield slot


def _needed(name: str, values: Values) -> str | None:
    return None if values.missing else name
