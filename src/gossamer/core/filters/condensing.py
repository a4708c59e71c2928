"""Many terms made few: the result covers them all, and lets through as little more as a greedy search finds.

Each step widens: two terms become one, a set of values is said in fewer pieces, or an attribute is no longer asked
for. The step with the least loss for what it saves is taken. While there are many terms, only neighbours in the order
of some attribute are looked at, so the work grows with their number and not with its square.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from gossamer.core.filters.shares import Shares
from gossamer.core.filters.terms import TERMS_MAX, Term, apart, simplified, term_text, weight
from gossamer.core.filters.values import ANYTHING, Values
from gossamer.core.filters.widening import lighter, merged

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
    kept = list({term_text(term): term for term in terms}.values())
    shares = Shares(kept)
    while len(kept) > PAIRS_MAX and not _fits(kept, size):
        kept = _halved(kept, shares)
    kept = apart(kept) if len(kept) <= TERMS_MAX else kept
    while not _fits(kept, size):
        step = min(_steps(kept, size, shares), key=lambda step: (step.price, step.gone))
        kept = apart([*(term for at, term in enumerate(kept) if at not in step.gone), step.made])
    return simplified(kept)


def _fits(terms: Sequence[Term], size: int) -> bool:
    return len(terms) <= TERMS_MAX and weight(terms) <= size


def _halved(terms: list[Term], shares: Shares) -> list[Term]:
    """Neighbours become one, the cheapest first, until every second term is gone or few enough are left."""
    lost = {at: shares.of_term(term) for at, term in enumerate(terms)}
    offers: dict[tuple[int, int], tuple[float, Term]] = {}
    for pair in _neighbours(terms):
        if pair not in offers:
            made = merged(terms[pair[0]], terms[pair[1]], shares)
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


def _steps(terms: list[Term], size: int, shares: Shares) -> Iterator[Step]:
    known = [shares.of_term(term) for term in terms]
    surplus = max(1, weight(terms) - size)
    for one, other in combinations(range(len(terms)), 2):
        made = merged(terms[one], terms[other], shares)
        saved = weight([terms[one], terms[other]]) - weight([made])
        loss = shares.of_term(made) - known[one] - known[other]
        if saved > 0 or len(terms) > TERMS_MAX:
            yield Step(loss / max(saved, 0.5), (one, other), made)
    for at, term in enumerate(terms):
        for name, wanted in term.items():
            yield from _lightened(term, at, name, wanted, surplus, known[at], shares)


def _lightened(
    term: Term, at: int, name: str, wanted: Values, surplus: int, known: float, shares: Shares
) -> Iterator[Step]:
    """One attribute said shorter, or not at all."""
    without = {each: values for each, values in term.items() if each != name}
    loss = shares.of_term(without) - known
    yield Step(loss / wanted.weight(), (at,), without)
    if wanted.weight() > 1:
        less = lighter(name, wanted, max(1, min(surplus, wanted.weight()) // 2), shares)
        saved = wanted.weight() - less.weight()
        if saved > 0 and less != ANYTHING:
            made = {**without, name: less}
            yield Step((shares.of_term(made) - known) / saved, (at,), made)
