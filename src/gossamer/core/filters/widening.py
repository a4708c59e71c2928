"""Steps that make terms wider and shorter. Each result covers what it was made of."""

from gossamer.core.filters import values
from gossamer.core.filters.shares import Shares
from gossamer.core.filters.spans import Spans
from gossamer.core.filters.terms import Term
from gossamer.core.filters.values import ANYTHING, Values

ROOMY, ROOM = 16, 4
"What a term may say at first: so much, or so many times its part of the size."


def merged(one: Term, other: Term, size: int, shares: Shares) -> Term:
    """A term around both: what only one of them asks is not asked any more, and ranges do not become many."""
    found = {}
    for name in one:
        if name in other:
            wanted = values.around(one[name], other[name])
            most = max(1, one[name].numbers.weight(), other[name].numbers.weight())
            pieces = size if wanted.numbers.points() is not None else min(size, most)
            numbers = filled(name, wanted.numbers, pieces, shares)
            texts = filled(name, wanted.texts, size, shares)
            if (numbers, texts) != (wanted.numbers, wanted.texts):
                wanted = values.made(wanted.missing, wanted.bools, numbers, texts, wanted.musts, wanted.nots)
            if wanted != ANYTHING:
                found[name] = wanted
    return found


def trimmed(terms: list[Term], size: int, shares: Shares) -> list[Term]:
    """Terms that say far more than their part of the size, cut down at once: step by step would take long."""
    most = max(ROOMY, ROOM * size // len(terms))
    return [_trimmed(term, most, shares) for term in terms]


def _trimmed(term: Term, most: int, shares: Shares) -> Term:
    if sum(wanted.weight() for wanted in term.values()) <= most:
        return term
    kept = sorted(sorted(term, key=lambda name: (shares.of_values(name, term[name]), name))[:most])
    each = max(1, most // len(kept))
    found = {name: lighter(name, term[name], max(0, term[name].weight() - each), shares) for name in kept}
    return {name: wanted for name, wanted in found.items() if wanted != ANYTHING}


def filled(name: str, within: Spans, pieces: int, shares: Shares) -> Spans:
    """The set with its cheapest gaps filled, until no more than so many pieces are left."""
    surplus = within.weight() - max(pieces, 1)
    if surplus <= 0:
        return within
    gaps = [(at, at + 1) for at in range(0 if within.inside else 1, len(within.cuts) - 1, 2)]
    gaps.sort(key=lambda gap: (*shares.of_gap(name, within.cuts[gap[0]], within.cuts[gap[1]]), gap))
    gone = {at for gap in gaps[:surplus] for at in gap}
    return Spans(within.inside, tuple(cut for at, cut in enumerate(within.cuts) if at not in gone))


def lighter(name: str, wanted: Values, less: int, shares: Shares) -> Values:
    """The values said in about `less` pieces fewer: patterns go first to last, then gaps are filled."""
    nots = wanted.nots[: max(0, len(wanted.nots) - less)]
    less -= len(wanted.nots) - len(nots)
    texts = filled(name, wanted.texts, wanted.texts.weight() - less, shares)
    less -= wanted.texts.weight() - texts.weight()
    numbers = filled(name, wanted.numbers, wanted.numbers.weight() - less, shares)
    less -= wanted.numbers.weight() - numbers.weight()
    musts = wanted.musts[: max(0, len(wanted.musts) - less)]
    return values.made(wanted.missing, wanted.bools, numbers, texts, musts, nots)
