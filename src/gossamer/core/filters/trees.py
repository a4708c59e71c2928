"""Filters as trees: conditions on one attribute each, joined by and, or. `not` is gone: it sank into the conditions."""

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from operator import attrgetter, or_
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.filters import spans, values
from gossamer.core.filters.values import ANYTHING, NOTHING, Values
from gossamer.core.filters.writing import conditions


class Condition(Struct, frozen=True, dict=True):
    """Whether an attribute is one of these values. As text, like all nodes: written once, as it is asked for often."""

    name: str
    values: Values

    @cached_property
    def text(self) -> str:
        return " and ".join(conditions(self.name, self.values))


class All(Struct, frozen=True, dict=True):
    parts: "tuple[Node, ...]" = ()

    @cached_property
    def text(self) -> str:
        return " and ".join(f"({each.text})" if type(each) is Any else each.text for each in self.parts) or "true"


class Any(Struct, frozen=True, dict=True):
    parts: "tuple[Node, ...]" = ()

    @cached_property
    def text(self) -> str:
        return " or ".join(each.text for each in self.parts) or "false"


class Not(Struct, frozen=True):
    """Only in what was just read."""

    part: "Node"

    @property
    def text(self) -> str:
        return f"not ({self.part.text})"


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
    """Sets with the same patterns as one."""
    if len(alike) == 1:
        return alike[0]
    return Values(
        any(each.missing for each in alike),
        reduce(or_, (each.bools for each in alike)),
        spans.united(each.numbers for each in alike),
        spans.united(each.texts for each in alike),
        alike[0].musts,
        alike[0].nots,
    )


def _joined(kind: type[All] | type[Any], parts: Sequence[Node], drop: Node) -> Node:
    kept = list(dict.fromkeys(part for part in parts if part != drop))
    return kept[0] if len(kept) == 1 else kind(tuple(sorted(kept, key=attrgetter("text"))))


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


def names(node: Node) -> list[str]:
    """The attributes it asks for; perhaps some of them twice."""
    match node:
        case Condition(name):
            return [name]
        case All(parts) | Any(parts):
            return [name for part in parts for name in names(part)]
        case Not(part):
            return names(part)
