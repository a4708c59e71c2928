"""Filters as trees: conditions on one attribute each, joined by and, or. `not` is gone: it sank into the conditions."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.filters import values
from gossamer.core.filters.values import ANYTHING, NOTHING, Values
from gossamer.core.filters.writing import conditions


class Condition(Struct, frozen=True):
    """Whether an attribute is one of these values."""

    name: str
    values: Values


class All(Struct, frozen=True):
    parts: "tuple[Node, ...]" = ()


class Any(Struct, frozen=True):
    parts: "tuple[Node, ...]" = ()


class Not(Struct, frozen=True):
    """Only in what was just read."""

    part: "Node"


Node: TypeAlias = Condition | All | Any | Not

TRUE, FALSE = All(), Any()


def negation(node: Node) -> Node:
    """Not said twice is not said at all: a thousand of them make no deep tree."""
    return node.part if isinstance(node, Not) else Not(node)


def settled(node: Node, positive: bool = True) -> Node:
    """The tree without `not`, flat where it can be, one condition per attribute, in one order."""
    match node:
        case Not(part):
            return settled(part, not positive)
        case Condition(name, wanted):
            return _test(name, wanted if positive else _inverse(wanted))
        case All(parts) | Any(parts):
            below = [settled(part, positive) for part in parts]
            return _all(below) if isinstance(node, All) == positive else _any(below)


def _inverse(wanted: Values) -> Values:
    """One condition is never both: a pattern to fit and anything else. So its negation is one set again."""
    if wanted.musts:
        return Values(True, ANYTHING.bools, ANYTHING.numbers, ANYTHING.texts, (), wanted.musts)
    return Values(not wanted.missing, ANYTHING.bools & ~wanted.bools, wanted.numbers.inverse(), wanted.texts.inverse())


def _test(name: str, wanted: Values) -> Node:
    return TRUE if wanted == ANYTHING else FALSE if wanted == NOTHING else Condition(name, wanted)


def _flat(kind: type[All] | type[Any], nodes: Iterable[Node]) -> list[Node]:
    return [part for node in nodes for part in (node.parts if isinstance(node, kind) else (node,))]


def _all(nodes: Iterable[Node]) -> Node:
    parts = _flat(All, nodes)
    by_name: dict[str, list[Values]] = {}
    for part in parts:
        if isinstance(part, Condition):
            by_name.setdefault(part.name, []).append(part.values)
    tests = [_test(name, values.both(wanted)) for name, wanted in by_name.items()]
    others = [part for part in parts if not isinstance(part, Condition)]
    if FALSE in tests or FALSE in others:
        return FALSE
    return _joined(All, [*tests, *others], drop=TRUE)


def _any(nodes: Iterable[Node]) -> Node:
    parts = _flat(Any, nodes)
    groups: dict[tuple[object, ...], list[Values]] = {}
    for part in parts:
        if isinstance(part, Condition):
            groups.setdefault((part.name, part.values.musts, part.values.nots), []).append(part.values)
    tests = [_test(str(key[0]), _union(wanted)) for key, wanted in groups.items()]
    others = [part for part in parts if not isinstance(part, Condition)]
    if TRUE in tests or TRUE in others:
        return TRUE
    return _joined(Any, [*tests, *others], drop=FALSE)


def _union(alike: list[Values]) -> Values:
    """Sets with the same patterns as one; in rounds of pairs, as one by one would take the square of the time."""
    while len(alike) > 1:
        alike = [reduce(_either, alike[at : at + 2]) for at in range(0, len(alike), 2)]
    return alike[0]


def _either(one: Values, other: Values) -> Values:
    united = values.either(one, other)
    assert united is not None, "sets with the same patterns have a union"
    return united


def _joined(kind: type[All] | type[Any], parts: Sequence[Node], drop: Node) -> Node:
    kept = list(dict.fromkeys(part for part in parts if part != drop))
    return kept[0] if len(kept) == 1 else kind(tuple(sorted(kept, key=node_text)))


def node_text(node: Node) -> str:
    match node:
        case Condition(name, wanted):
            return " and ".join(conditions(name, wanted))
        case All(parts):
            return " and ".join(_inner(part) for part in parts) or "true"
        case Any(parts):
            return " or ".join(map(node_text, parts)) or "false"
        case Not(part):
            return f"not ({node_text(part)})"


def _inner(part: Node) -> str:
    return f"({node_text(part)})" if isinstance(part, Any) else node_text(part)


def cost(node: Node) -> tuple[int, int]:
    """How many terms the tree has when multiplied out, and how much they would say together."""
    match node:
        case Condition(_, wanted):
            return 1, wanted.weight()
        case Any(parts):
            costs = [cost(part) for part in parts]
            return sum(terms for terms, _ in costs), sum(weight for _, weight in costs)
        case All(parts):
            terms, weight = 1, 0
            for its_terms, its_weight in map(cost, parts):
                terms, weight = terms * its_terms, weight * its_terms + its_weight * terms
            return terms, weight
        case Not(_):
            raise AssertionError("cost is for settled trees")
