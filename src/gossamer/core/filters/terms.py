"""Terms: conditions on several attributes that must all hold. A filter multiplied out is any of a few terms."""

from collections.abc import Sequence
from typing import TypeAlias

from gossamer.core.filters import values
from gossamer.core.filters.trees import All, Any, Condition, Node
from gossamer.core.filters.values import ANYTHING, NOTHING, Values
from gossamer.core.filters.writing import conditions

Term: TypeAlias = dict[str, Values]
"Never changed once made. An attribute that is not named may be anything."

TERMS_MAX = 64
"Terms a filter is multiplied out to."
WEIGHT_MAX = 2048
"Values, intervals and patterns in these terms."
PIECES_MAX = 64
"Into so many pieces a term is cut while looking whether several others cover it together."


def multiplied(node: Node) -> list[Term]:
    """The tree as terms. Only for trees whose cost is small."""
    match node:
        case Condition(name, wanted):
            return [{name: wanted}]
        case Any(parts):
            return [term for part in parts for term in multiplied(part)]
        case All(parts):
            found: list[Term] = [{}]
            for part in parts:
                below = multiplied(part)
                found = [joined for one in found for other in below if (joined := narrowed(one, other)) is not None]
            return found
        case _:
            raise AssertionError("only settled trees are multiplied out")


def narrowed(one: Term, other: Term) -> Term | None:
    """Both at once; None if nothing can be both."""
    joined = dict(one)
    for name, wanted in other.items():
        left = values.both((joined[name], wanted)) if name in joined else wanted
        if left == NOTHING:
            return None
        joined[name] = left
    return joined


def covers(wide: Term, narrow: Term) -> bool:
    """Whether everything that meets `narrow` meets `wide`; False may also mean: could not be told."""
    return all(name in narrow and narrow[name].within(wanted) for name, wanted in wide.items())


def cover(wide: Sequence[Term], narrow: Term) -> bool:
    """The same for several terms, which may cover it together only: what is left over by all must be nothing."""
    if any(covers(term, narrow) for term in wide):
        return True
    left = [narrow]
    for term in wide:
        left = [piece for each in left for piece in leftover(each, term)]
        if not left or len(left) > PIECES_MAX:
            break
    return not left


def leftover(term: Term, less: Term) -> list[Term]:
    """What meets the one and not the other, in pieces that do not overlap."""
    inner = dict(term)
    pieces: list[Term] = []
    for name, wanted in less.items():
        given = inner.get(name, ANYTHING)
        pieces += [{**inner, name: rest} for rest in values.without(given, wanted) if rest != NOTHING]
        common = values.both((given, wanted))
        if common == NOTHING:
            return [term]
        inner[name] = common
    return pieces


def simplified(terms: Sequence[Term]) -> list[Term]:
    """Fewer terms that say the same, in one order: no term covered by another, none that differ in one attribute."""
    if len(terms) < 2:
        return list(terms)
    kept = sorted(terms, key=term_text)
    while True:
        before = len(kept)
        kept = joined(apart(kept))
        if len(kept) == before:
            return sorted(kept, key=term_text)


def apart(terms: Sequence[Term]) -> list[Term]:
    kept: list[Term] = []
    for term in terms:
        if not any(covers(other, term) for other in kept):
            kept = [*(other for other in kept if not covers(term, other)), term]
    return kept


def joined(terms: list[Term]) -> list[Term]:
    """Terms that differ in one attribute only become one, if its values do."""
    for name in sorted({name for term in terms for name in term}):
        groups: dict[tuple[tuple[str, Values], ...], list[Term]] = {}
        for term in (term for term in terms if name in term):
            rest = tuple((each, term[each]) for each in sorted(term) if each != name)
            groups.setdefault(rest, []).append(term)
        united = [term for group in groups.values() for term in _united(name, group)]
        terms = [*united, *(term for term in terms if name not in term)]
    return terms


def _united(name: str, group: list[Term]) -> list[Term]:
    kept: list[Term] = []
    for term in group:
        for at, other in enumerate(kept):
            union = values.either(other[name], term[name])
            if union is not None:
                kept[at] = {**other, name: union}
                break
        else:
            kept.append(term)
    return [{each: wanted for each, wanted in term.items() if wanted != ANYTHING} for term in kept]


def term_text(term: Term) -> str:
    return " and ".join(said for name in sorted(term) for said in conditions(name, term[name])) or "true"


def terms_text(terms: Sequence[Term]) -> str:
    return " or ".join(map(term_text, terms)) or "false"


def weight(terms: Sequence[Term]) -> int:
    """How much there is to say about these terms."""
    return sum(wanted.weight() for term in terms for wanted in term.values())
