"""A filter: a question about an event's attributes that can be asked, compared with others, written down and sent."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import ASKED_BESIDES, Event
from gossamer.core.filters import terms as conjunctions
from gossamer.core.filters.compiling import Check, compiled, compiled_tree
from gossamer.core.filters.condensing import condensed
from gossamer.core.filters.grammar import TEXT_MAX, read
from gossamer.core.filters.outlines import outline
from gossamer.core.filters.remembering import remembered
from gossamer.core.filters.terms import TERMS_MAX, WEIGHT_MAX, Term
from gossamer.core.filters.trees import Node, cost, names, settled

SIZE = 32
"Of a merged filter, if nothing else is asked for."
KNOWN_MAX = 512
"Texts whose filters are remembered: the same few are read again and again."
KNOWN_CHARACTERS_MAX = 1 << 18
"Of all of them. A filter takes up to a hundred bytes for each of its characters."


class Filter(Struct, frozen=True, eq=False, dict=True):
    """Which events are wanted. Equal if the canonical texts are; made by `parse`."""

    text: str
    "The canonical form: `parse` of it is an equal filter."
    matches: Check
    "Whether an event with these attributes is wanted. Never raises: what is missing or of another type does not match."
    exact: bool
    "Whether the terms say all that the filter says."
    signature: int
    "64 bits of the canonical form, the same in every process."
    told: tuple[Term, ...] | Node
    "The terms, or the tree they are found from when somebody asks: not everybody does, and that takes long."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.text == other.text

    def __hash__(self) -> int:
        return self.signature

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"parse({self.text!r})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return parse, (self.text,)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What must hold, multiplied out; for a filter too entangled for that, something wider."""
        return self.told if isinstance(self.told, tuple) else tuple(outline(self.told))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it asks for."""
        told = self.told
        found = [name for term in told for name in term] if isinstance(told, tuple) else names(told)
        return tuple(dict.fromkeys(found))

    @cached_property
    def asks_besides(self) -> bool:
        """Whether it asks for more than attributes: topic, publisher, or the time of publication."""
        return any(name in ASKED_BESIDES for name in self.names)

    def wants(self, event: Event) -> bool:
        """Whether it matches an event: its attributes, and what else a filter may ask of it."""
        return self.matches(event.asked if self.asks_besides else event.attributes)

    @property
    def size(self) -> int:
        """How much it says: values, intervals and patterns, over all its terms."""
        return conjunctions.weight(self.terms)

    def covers(self, other: "Filter") -> bool:
        """True only if every event that matches the other matches this one. False may also mean: could not be told."""
        if self.text == other.text:
            return True
        return self.exact and all(conjunctions.cover(self.terms, term) for term in other.terms)

    def __and__(self, other: "Filter") -> "Filter":
        return parse(f"({self.text}) and ({other.text})") if isinstance(other, Filter) else NotImplemented

    def __or__(self, other: "Filter") -> "Filter":
        return parse(f"({self.text}) or ({other.text})") if isinstance(other, Filter) else NotImplemented

    def __invert__(self) -> "Filter":
        return parse(f"not ({self.text})")

    def __bool__(self) -> bool:
        raise Misuse("a filter is neither true nor false: join filters with &, | and ~, and write ranges with between")

    def merge(self, other: "Filter", size: int = SIZE) -> "Filter":
        """One filter that covers both and says no more than `size` values, intervals and patterns."""
        return condense((self, other), size)


@remembered(KNOWN_MAX, KNOWN_CHARACTERS_MAX)
def parse(text: str) -> Filter:
    """The filter a text describes."""
    tree = settled(read(text))
    count, weight = cost(tree)
    if count <= TERMS_MAX and (count == 1 or weight <= WEIGHT_MAX):
        found = of_terms(conjunctions.simplified(conjunctions.multiplied(tree)))
        if len(found.text) <= TEXT_MAX:
            return found
    return _entangled(tree)


def condense(filters: Iterable[Filter], size: int = SIZE) -> Filter:
    """One filter that covers all and says no more than `size` values, intervals and patterns, as narrow as is found."""
    if size < 1:
        raise Misuse(f"a filter of size {size} could say nothing: ask for at least 1")
    terms = [term for each in filters for term in each.terms]
    size = min(size, WEIGHT_MAX)
    found = of_terms(condensed(terms, size))
    while len(found.text) > TEXT_MAX:
        size //= 2  # long texts: fewer of them
        found = of_terms(condensed(terms, size))
    return found


def of_terms(terms: Sequence[Term]) -> Filter:
    """The filter that wants what meets any of these terms, which must be simplified."""
    return _filter(conjunctions.terms_text(terms), compiled(terms), tuple(terms), exact=True)


def _entangled(tree: Node) -> Filter:
    text = tree.text
    if len(text) > TEXT_MAX:
        raise Misuse(f"the filter, written out, is longer than {TEXT_MAX} characters: say less, or filter in parts")
    return _filter(text, compiled_tree(tree), tree, exact=False)


def _filter(text: str, matches: Check, told: tuple[Term, ...] | Node, exact: bool) -> Filter:
    bits = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return Filter(text, matches, exact, int.from_bytes(bits, "big"), told)


EVERYTHING = of_terms([{}])
