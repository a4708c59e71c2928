"""Many filters asked at once.

A term is kept where it is found with the least looking: under one of the values it asks an attribute to equal, and
among many that ask for the same by a range of numbers; else by a range alone, by a part of a text, by a range with one
end; else by counting. What its place does not say is checked when the place is found. A filter too entangled for terms
is kept by its outline and asked itself.
"""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeAlias, TypeVar

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.filters.by_text import ByText, Part, part_of
from gossamer.core.filters.compiling import Attributes, Check
from gossamer.core.filters.filter import Filter
from gossamer.core.filters.places import ByRange, Counting, EqualTerms, Range, Wanted, range_of
from gossamer.core.filters.terms import Term

Key = TypeVar("Key", bound=Hashable)
Places = TypeVar("Places", ByRange, ByText, Counting)
Equal: TypeAlias = str | int | float | tuple[bool]
"A value to look up; truth values in a tuple of their own, since True == 1."
Found: TypeAlias = tuple[str, list[Equal]] | Range | Part | None
"What a term is found by; None: by counting."
Place: TypeAlias = tuple[int, Found]

ONE_BY_ONE = 4
"So few filters are asked one by one whether any of them matches."
LOOKED_UP = frozenset((str, int, float, bool))
"Kinds of values that filters may be found by."
VALUES_MAX = 256
"A condition that lists more values than this is not what a term is found by."


class Index(Generic[Key]):
    """Filters by key, and which of them an event matches."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._places: dict[int, list[Place]] = {}
        self._equal: dict[str, dict[Equal, EqualTerms]] = {}
        self._by_range = ByRange()
        self._by_text = ByText()
        self._counting = Counting()
        self._used: list[ByRange | ByText | Counting] = []
        "Those of the three in which any filter ever stood."
        self._checks: dict[Key, Check] = {}
        "The filters themselves."
        self._besides: dict[Key, None] = {}
        "Those whose filters ask for more than attributes."
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: Key) -> bool:
        return key in self._numbers

    def __iter__(self) -> Iterator[Key]:
        return iter(self._numbers)

    def add(self, key: Key, wanted: Filter) -> None:
        """From now on the key is among the answers where its filter matches. One that is known gets the new filter."""
        if key in self._numbers:
            self.remove(key)
        number = self._fresh()
        self._numbers[key], self._keys[number] = number, key
        self._checks[key] = wanted.matches
        if wanted.asks_besides:
            self._besides[key] = None
        itself = None if wanted.exact else wanted.matches
        self._places[number] = [self._place(Wanted(term, itself, number)) for term in wanted.terms]

    def remove(self, key: Key) -> None:
        if key not in self._numbers:
            raise Misuse(f"the index has no filter {key!r}: remove only what was added")
        number = self._numbers.pop(key)
        del self._keys[number], self._checks[key]
        self._besides.pop(key, None)
        for slot, place in self._places.pop(number):
            self._clear(slot, place)

    @property
    def asks_besides(self) -> bool:
        """Whether any filter asks for more than attributes, so that it is to be given all that an event has."""
        return bool(self._besides)

    def wanting(self, event: Event) -> list[Key]:
        """The keys of all filters that want an event, in the order they were added."""
        return self.matches(event.asked if self._besides else event.attributes)

    def matches(self, attributes: Attributes) -> list[Key]:
        """The keys of all filters that an event with these attributes matches, in the order they were added."""
        found: list[int] = []
        for bucket in self._buckets(attributes):
            bucket.find(attributes, found)
        for places in self._used:
            places.find(attributes, found)
        if len(found) < 2:
            return [self._keys[number] for number in found]
        return [self._keys[number] for number in sorted(set(found))]

    def matches_any(self, attributes: Attributes) -> bool:
        """Whether any filter matches: looks no further than the first that does."""
        if len(self._checks) <= ONE_BY_ONE:
            for check in self._checks.values():  # noqa: SIM110 - a generator would cost more than the checks
                if check(attributes):
                    return True
            return False
        found: list[int] = []
        for bucket in self._buckets(attributes):
            bucket.find(attributes, found, one=True)
            if found:
                return True
        for places in self._used:
            places.find(attributes, found, one=True)
            if found:
                return True
        return False

    def _buckets(self, attributes: Attributes) -> list[EqualTerms]:
        """Where filters stand that ask an attribute to be what it is here."""
        found = []
        for name, value in attributes.items():
            buckets, kind = self._equal.get(name), type(value)
            if buckets is not None and kind in LOOKED_UP:
                bucket = buckets.get((value,) if kind is bool else value)  # type: ignore[arg-type]
                if bucket is not None:
                    found.append(bucket)
        return found

    def _fresh(self) -> int:
        self._next += 1
        return self._next

    def _place(self, wanted: Wanted) -> Place:
        slot = self._fresh()
        equal = self._best_equality(wanted.term)
        if equal is not None:
            name, values = equal
            rest = Wanted(
                {each: its for each, its in wanted.term.items() if each != name}, wanted.itself, wanted.number
            )
            buckets = self._equal.setdefault(name, {})
            for value in values:
                buckets.setdefault(value, EqualTerms()).add(slot, rest)
            return slot, equal
        by = range_of(wanted.term)
        part = None if by is not None and by.closed else part_of(wanted.term)
        if part is not None:
            self._use(self._by_text).add(slot, wanted, part)
        elif by is not None:
            self._use(self._by_range).add(slot, wanted, by)
        else:
            self._use(self._counting).add(slot, wanted)
        return slot, part or by

    def _use(self, places: Places) -> Places:
        if places not in self._used:
            self._used.append(places)
        return places

    def _best_equality(self, term: Term) -> tuple[str, list[Equal]] | None:
        """The attribute that must equal something under which the fewest other terms stand."""
        found = []
        for name, values in sorted(term.items()):
            listed = values.listed()
            if listed is not None and len(listed) <= VALUES_MAX:
                keys: list[Equal] = [(value,) if isinstance(value, bool) else value for value in listed]
                buckets = self._equal.get(name, {})
                found.append((sum(len(buckets.get(key, ())) for key in keys), len(keys), name, keys))
        if not found:
            return None
        _, _, name, keys = min(found, key=lambda each: each[:3])
        return name, keys

    def _clear(self, slot: int, place: Found) -> None:
        if place is None:
            self._counting.remove(slot)
        elif isinstance(place, Range):
            self._by_range.remove(slot, place)
        elif isinstance(place, Part):
            self._by_text.remove(slot, place)
        else:
            name, values = place
            buckets = self._equal[name]
            for value in values:
                buckets[value].remove(slot)
                if not buckets[value]:
                    del buckets[value]
            if not buckets:
                del self._equal[name]
