"""What one attribute may be: a set of values, among them "not there at all".

Every condition on one attribute is such a set, and so is its negation and what several of them leave together. That is
what makes filters comparable: a condition covers another if its set holds the other's.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.filters import spans, text_parts
from gossamer.core.filters.spans import ALL, NONE, Spans, combined
from gossamer.core.filters.text_parts import LIKE, TextPart
from gossamer.core.filters.wildcards import start_of

Value: TypeAlias = str | int | float | bool

FALSE, TRUE = 1, 2
PATTERNS_MAX = 32
"Beyond so many, none is looked through for being needless."


class Values(Struct, frozen=True):
    """A set of values of one attribute. NaN and values of other types count as missing."""

    missing: bool = False
    bools: int = 0
    "FALSE | TRUE"
    numbers: Spans = NONE
    texts: Spans = NONE
    musts: tuple[TextPart, ...] = ()
    "Parts that all its texts have; if there are any, texts are all there is in the set."
    nots: tuple[TextPart, ...] = ()
    "Parts that none of its texts has."

    def holds(self, value: object) -> bool:
        kind = type(value)
        if kind is str:
            return self.texts.holds(value) and self._fit(value)  # type: ignore[arg-type]
        if kind is bool:
            return bool(self.bools & (TRUE if value else FALSE))
        if (kind is int or kind is float) and value == value:
            return self.numbers.holds(value)  # type: ignore[arg-type]
        return self.missing

    def _fit(self, text: str) -> bool:
        fits = text_parts.fits
        return all(fits(each, text) for each in self.musts) and not any(fits(each, text) for each in self.nots)

    def within(self, wide: "Values") -> bool:
        """Whether each of these values is one of the other's; False may also mean: could not be told."""
        if self == wide:
            return True
        if self.missing > wide.missing or self.bools & ~wide.bools or not self.numbers.within(wide.numbers):
            return False
        return self.texts == NONE or self._texts_within(wide)

    def _texts_within(self, wide: "Values") -> bool:
        listed = self.texts.points()
        if listed is not None:
            return all(wide.holds(text) for text in listed)
        start = common_start(self.texts) if wide.musts or wide.nots else ""
        return (
            self.texts.within(wide.texts)
            and all(text_parts.must(each, start, self.musts) for each in wide.musts)
            and all(text_parts.cannot(each, self.musts, self.nots, start) for each in wide.nots)
        )

    def weight(self) -> int:
        """How much there is to say about it."""
        return max(1, self.numbers.weight() + self.texts.weight() + len(self.musts) + len(self.nots))

    def listed(self) -> list[Value] | None:
        """The values one by one, if they can be counted and the attribute must be there."""
        numbers, texts = self.numbers.points(), self.texts.points()
        if self.missing or numbers is None or texts is None:
            return None
        truths: list[Value] = [truth for truth, bit in ((False, FALSE), (True, TRUE)) if self.bools & bit]
        return [*truths, *numbers, *texts]

    def kinds(self) -> int:
        """How many of truth values, numbers and texts it knows."""
        return (self.bools != 0) + (self.numbers != NONE) + (self.texts != NONE)


ANYTHING = Values(True, FALSE | TRUE, ALL, ALL)
NOTHING = Values()
PRESENT = Values(False, FALSE | TRUE, ALL, ALL)


def made(
    missing: bool, bools: int, numbers: Spans, texts: Spans, musts: tuple[TextPart, ...], nots: tuple[TextPart, ...]
) -> Values:
    """The set in its one form: parts of texts only where they say something."""
    if texts != NONE and (musts or nots):
        listed = texts.points()
        if listed is not None:
            loose = Values(texts=texts, musts=musts, nots=nots)
            fitting = [spans.point(text) for text in listed if loose.holds(text)]
            return Values(missing, bools, numbers, spans.united(fitting))
        if len(musts) + len(nots) <= PATTERNS_MAX:
            start = common_start(texts)
            musts = text_parts.needless(musts, start)
            if any(text_parts.cannot(fit, musts, nots, start) for fit in musts):
                texts = NONE
            nots = text_parts.avoided(nots, musts, start)
        else:
            musts, nots = tuple(sorted(dict.fromkeys(musts))), tuple(sorted(dict.fromkeys(nots)))
    return Values(missing, bools, numbers, texts, *((musts, nots) if texts != NONE else ((), ())))


def common_start(texts: Spans) -> str:
    """How all these texts start, as far as the ends of the set tell."""
    if texts.inside or len(texts.cuts) % 2 or not texts.cuts:
        return ""
    low, high = str(texts.cuts[0][0]), str(texts.cuts[-1][0])
    length = 0
    while length < len(low) and spans.starting(low[: length + 1]).holds(high):
        length += 1
    if length < len(low) and texts.cuts[-1] == (spans.following(low[: length + 1]), spans.BEFORE):
        length += 1
    return low[:length]


def implied_start(values: Values) -> bool:
    """Whether a pattern that its texts are like says all there is to say about how they start."""
    return any(how == LIKE and spans.starting(start_of(form)) == values.texts for how, form in values.musts)


def both(sets: Iterable[Values]) -> Values:
    """The values that belong to all."""
    given = list(sets)
    if len(given) == 1:
        return given[0]
    missing = all(each.missing for each in given)
    bools = reduce(and_, (each.bools for each in given))
    numbers = spans.united(each.numbers.inverse() for each in given).inverse()
    texts = spans.united(each.texts.inverse() for each in given).inverse()
    musts = tuple(fit for each in given for fit in each.musts)
    nots = tuple(never for each in given for never in each.nots)
    return made(missing, bools, numbers, texts, musts, nots)


def either(one: Values, other: Values) -> Values | None:
    """The values that belong to one or the other; None if no single set says that exactly."""
    if (one.musts, one.nots) != (other.musts, other.nots) and NONE not in (one.texts, other.texts):
        return None
    known = one if one.texts != NONE else other
    united = Values(
        one.missing or other.missing,
        one.bools | other.bools,
        spans.either(one.numbers, other.numbers),
        spans.either(one.texts, other.texts),
        known.musts,
        known.nots,
    )
    only_texts = not united.missing and not united.bools and united.numbers == NONE
    return united if only_texts or not united.musts else None


def around(one: Values, other: Values) -> Values:
    """A set that holds both: exactly their union where one set can say it, else without the parts that differ."""
    exact = either(one, other)
    if exact is not None:
        return exact
    loose = [Values(each.missing, each.bools, each.numbers, each.texts) for each in (one, other)]
    united = either(*loose)
    assert united is not None
    starts = [common_start(each.texts) for each in (one, other)]
    pairs = [(one, starts[0]), (other, starts[1])]
    only_texts = not united.missing and not united.bools and united.numbers == NONE
    musts = tuple(
        fit
        for fit in dict.fromkeys((*one.musts, *other.musts))
        if only_texts and all(text_parts.must(fit, start, each.musts) for each, start in pairs)
    )
    nots = tuple(
        never
        for never in dict.fromkeys((*one.nots, *other.nots))
        if all(text_parts.cannot(never, each.musts, each.nots, start) for each, start in pairs)
    )
    return made(united.missing, united.bools, united.numbers, united.texts, musts, nots)


def without(given: Values, less: Values) -> Iterator[Values]:
    """What is left of one set beyond another, in as many sets as the other's parts make of it."""
    texts = combined(given.texts, less.texts, lambda mine, its: mine and not its)
    yield made(
        given.missing and not less.missing,
        given.bools & ~less.bools,
        combined(given.numbers, less.numbers, lambda mine, its: mine and not its),
        texts,
        given.musts,
        given.nots,
    )
    common = spans.both(given.texts, less.texts)
    for fit in less.musts:
        yield made(False, 0, NONE, common, given.musts, (*given.nots, fit))
    for never in less.nots:
        yield made(False, 0, NONE, common, (*given.musts, never), given.nots)
