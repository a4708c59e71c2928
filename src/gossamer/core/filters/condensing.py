"""Many terms made few: the result covers them all, and lets through as little more as a greedy search finds.

Each step widens: two terms become one, a set of values is said in fewer pieces, or an attribute is no longer asked
for. The step with the least loss for what it saves is taken. While there are many terms, only neighbours in the order
of some attribute are looked at, so the work grows with their number and not with its square; while there are very
many, neighbours are not even compared.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from operator import itemgetter
from typing import NamedTuple

from gossamer.core.filters.shares import Shares
from gossamer.core.filters.terms import TERMS_MAX, Term, apart, covers, simplified, term_text, weight
from gossamer.core.filters.values import ANYTHING, Values
from gossamer.core.filters.widening import lighter, merged, trimmed

MANY = 256
"More terms than these are not weighed against each other: those that stand next to each other become one."
PAIRS_MAX = 24
"So few terms are looked at pair by pair."
ORDERS_MAX = 4
"Attributes by which neighbours are told, the most frequent ones."


class Step(NamedTuple):
    """These terms become that one."""

    price: float
    "Loss for each piece saved."
    gone: tuple[int, ...]
    made: Term


def condensed(terms: Sequence[Term], size: int) -> list[Term]:
    """Terms that cover all the given ones and say no more than `size` values, intervals and patterns."""
    by_text = {term_text(term): term for term in terms}
    kept = [by_text[text] for text in sorted(by_text)]  # whatever their order was, the result is the same
    shares = Shares(kept)
    if not _fits(kept, size):
        kept = trimmed(kept, size, shares)
    while len(kept) > MANY and len(fewer := _paired(kept, size, shares)) < len(kept):
        kept = fewer
    while len(kept) > PAIRS_MAX and not _fits(kept, size):
        kept = _halved(kept, size, shares)
        if {} in kept:
            return [{}]  # whatever the others say
    if not _fits(kept, size):  # few are left, but they say too much
        kept = Search(apart(trimmed(kept, size, shares)), size, shares).result()
    return simplified(kept)


def _fits(terms: Sequence[Term], size: int) -> bool:
    return len(terms) <= TERMS_MAX and weight(terms) <= size


def _paired(terms: list[Term], size: int, shares: Shares) -> list[Term]:
    """Terms that ask for the same attributes, in the order of these, become one by twos."""
    groups: dict[tuple[str, ...], list[Term]] = {}
    for term in terms:
        groups.setdefault(tuple(sorted(term)), []).append(term)
    found: list[Term] = []
    for names, alike in sorted(groups.items(), key=itemgetter(0)):
        places = {name: [_place(term[name]) for term in alike] for name in names}
        few_first = sorted(names, key=lambda name: (len({*places[name]}), name))
        order = sorted(range(len(alike)), key=lambda at: ([places[name][at] for name in few_first], at))
        pairs = zip(order[::2], order[1::2])
        found += [merged(alike[one], alike[other], size, shares) for one, other in pairs]
        found += [alike[order[-1]]] if len(order) % 2 else []
    return found


def _halved(terms: list[Term], size: int, shares: Shares) -> list[Term]:
    """Neighbours become one, the cheapest first, until every second term is gone or few enough are left."""
    lost = {at: shares.of_term(term) for at, term in enumerate(terms)}
    offers: dict[tuple[int, int], tuple[float, Term]] = {}
    for pair in _neighbours(terms):
        if pair not in offers:
            made = merged(terms[pair[0]], terms[pair[1]], size, shares)
            offers[pair] = (shares.of_term(made) - lost[pair[0]] - lost[pair[1]], made)
    gone: dict[int, None] = {}
    made_now: list[Term] = []
    for pair, (_, made) in sorted(offers.items(), key=lambda offer: (offer[1][0], offer[0])):
        enough = len(terms) - len(made_now) <= PAIRS_MAX
        if not enough and pair[0] not in gone and pair[1] not in gone:
            gone.update(dict.fromkeys(pair))
            made_now.append(made)
    return [*(term for at, term in enumerate(terms) if at not in gone), *made_now]


def _neighbours(terms: list[Term]) -> Iterator[tuple[int, int]]:
    counts: dict[str, int] = {}
    for term in terms:
        for name in term:
            counts[name] = counts.get(name, 0) + 1
    for name in sorted(counts, key=lambda name: (-counts[name], name))[:ORDERS_MAX]:
        order = sorted(range(len(terms)), key=lambda at: (_place(terms[at].get(name)), at))
        yield from ((min(pair), max(pair)) for pair in pairwise(order))


def _place(wanted: Values | None) -> tuple[object, ...]:
    """Where in the order of an attribute's values a term stands."""
    if wanted is None:
        return (0,)
    if wanted.texts.cuts:
        return (1, wanted.texts.cuts)
    if wanted.numbers.cuts:
        return (2, wanted.numbers.cuts)
    return (3, wanted.missing, wanted.bools)


class Search:
    """Takes the cheapest step until the terms fit. What a step would cost is worked out once."""

    def __init__(self, terms: list[Term], size: int, shares: Shares) -> None:
        self.terms = dict(enumerate(terms))
        self.size, self.shares = size, shares
        self._shares = {at: shares.of_term(term) for at, term in self.terms.items()}
        self._weights = {at: weight([term]) for at, term in self.terms.items()}
        self._pairs: dict[tuple[int, int], Step | None] = {}
        self._single: dict[tuple[int, str, int], list[Step]] = {}
        self._next = len(terms)

    def result(self) -> list[Term]:
        while (surplus := sum(self._weights[at] for at in self.terms) - self.size) > 0:
            self._take(min(self._steps(surplus), key=itemgetter(0, 1)))
        return list(self.terms.values())

    def _take(self, step: Step) -> None:
        """Terms that the new one covers go too."""
        left = {at: term for at, term in self.terms.items() if at not in step.gone and not covers(step.made, term)}
        if not any(covers(term, step.made) for term in left.values()):
            left[self._next] = step.made
            self._shares[self._next] = self.shares.of_term(step.made)
            self._weights[self._next] = weight([step.made])
            self._next += 1
        self.terms = left

    def _steps(self, surplus: int) -> Iterator[Step]:
        for pair in combinations(self.terms, 2):
            if pair not in self._pairs:
                self._pairs[pair] = self._merge(*pair)
            step = self._pairs[pair]
            if step is not None:
                yield step
        for at, term in self.terms.items():
            for name, wanted in term.items():
                less = max(1, min(surplus, wanted.weight()) // 2)
                if (at, name, less) not in self._single:
                    self._single[at, name, less] = list(self._lighten(at, name, less))
                yield from self._single[at, name, less]

    def _merge(self, one: int, other: int) -> Step | None:
        """Two terms as one, if that is shorter."""
        made = merged(self.terms[one], self.terms[other], self.size, self.shares)
        saved = self._weights[one] + self._weights[other] - weight([made])
        loss = self.shares.of_term(made) - self._shares[one] - self._shares[other]
        return Step(loss / saved, (one, other), made) if saved > 0 else None

    def _lighten(self, at: int, name: str, less: int) -> Iterator[Step]:
        """One attribute not asked for, or said shorter."""
        term, wanted = self.terms[at], self.terms[at][name]
        without = {each: values for each, values in term.items() if each != name}
        known = self._shares[at]
        rest = known / self.shares.of_values(name, wanted)
        yield Step((rest - known) / wanted.weight(), (at,), without)
        shorter = lighter(name, wanted, less, self.shares)
        saved = wanted.weight() - shorter.weight()
        if saved > 0 and shorter != ANYTHING:
            made = {**without, name: shorter}
            yield Step((rest * self.shares.of_values(name, shorter) - known) / saved, (at,), made)
