"""What surely holds wherever an entangled filter does: a few terms around it."""

from gossamer.core.filters.condensing import condensed
from gossamer.core.filters.terms import TERMS_MAX, Term, narrowed, weight
from gossamer.core.filters.trees import All, Any, Condition, Node

SIZE = 64
"Values, intervals and patterns in an outline."


def outline(node: Node) -> list[Term]:
    """A few terms that cover the tree."""
    return condensed(_outline(node), SIZE)


def _outline(node: Node) -> list[Term]:
    """What would multiply beyond the bound is left out: wider, not wrong."""
    match node:
        case Condition(name, wanted):
            return [{name: wanted}]
        case Any(parts):
            found = [term for part in parts for term in _outline(part)]
            return found if len(found) <= TERMS_MAX else condensed(found, SIZE)
        case All(parts):
            found = [{}]
            for part in parts:
                below = _outline(part)
                whole = weight(found) * len(below) + weight(below) * len(found)
                if len(below) == 1 or whole <= SIZE:
                    found = [both for one in found for other in below if (both := narrowed(one, other)) is not None]
            return found
        case _:
            raise AssertionError("only settled trees have an outline")
