"""What surely holds wherever an entangled filter does: a few terms around it."""

from gossamer.core.filters.terms import Term, narrowed
from gossamer.core.filters.trees import All, Any, Condition, Node


def outline(node: Node, size: int) -> list[Term]:
    """At most `size` terms that cover the tree. What would multiply beyond that is left out: wider, not wrong."""
    match node:
        case Condition(name, wanted):
            return [{name: wanted}]
        case Any(parts):
            found = [term for part in parts for term in outline(part, size)]
            return found if len(found) <= size else [{}]
        case All(parts):
            found = [{}]
            for part in parts:
                below = outline(part, size)
                if len(found) * len(below) <= size:
                    found = [both for one in found for other in below if (both := narrowed(one, other)) is not None]
            return found
        case _:
            raise AssertionError("only settled trees have an outline")
