"""Filters as functions: each set of values becomes a small closure made for what it holds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any as AnyValue
from typing import TypeAlias

from gossamer.core.filters.spans import ALL, BEFORE, NONE, Spans
from gossamer.core.filters.terms import Term
from gossamer.core.filters.text_parts import fitting
from gossamer.core.filters.trees import All, Any, Condition, Node
from gossamer.core.filters.values import FALSE, TRUE, Values, implied_start

Attributes: TypeAlias = Mapping[str, str | int | float | bool]
Check: TypeAlias = Callable[[Attributes], bool]


def compiled(terms: Sequence[Term]) -> Check:
    """Whether any of the terms is met."""
    return _any([_all([condition(name, term[name]) for name in sorted(term)]) for term in terms])


def compiled_tree(node: Node) -> Check:
    match node:
        case Condition(name, wanted):
            return condition(name, wanted)
        case All(parts):
            return _all([compiled_tree(part) for part in parts])
        case Any(parts):
            return _any([compiled_tree(part) for part in parts])
        case _:
            raise AssertionError("only settled trees are compiled")


def _all(checks: list[Check]) -> Check:
    if not checks:
        return lambda attributes: True
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda attributes: first(attributes) and second(attributes)

    def every(attributes: Attributes) -> bool:
        for check in checks:  # noqa: SIM110 - a generator would cost more than most of the checks
            if not check(attributes):
                return False
        return True

    return every


def _any(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]

    def some(attributes: Attributes) -> bool:
        for check in checks:  # noqa: SIM110
            if check(attributes):
                return True
        return False

    return some


def condition(name: str, wanted: Values) -> Check:
    """Whether the attribute is one of the values. The common sets have closures of their own."""
    if wanted.kinds() == 1 and not wanted.missing:
        if wanted.texts != NONE and not wanted.musts and not wanted.nots and wanted.texts.points() is not None:
            return _one_of(name, wanted.texts)
        if wanted.numbers != NONE and len(wanted.numbers.cuts) <= 2 and not wanted.numbers.inside:
            return _in_range(name, wanted.numbers)
        if wanted.numbers.inside and len(wanted.numbers.cuts) == 1:
            return _up_to(name, wanted.numbers)
        if wanted.bools in (FALSE, TRUE):
            truth = wanted.bools == TRUE
            return lambda attributes: attributes.get(name) is truth
        if wanted.texts != NONE and len(wanted.musts) == 1 and not wanted.nots:
            return _like(name, wanted)
    holds = wanted.holds
    return lambda attributes: holds(attributes.get(name))


def _one_of(name: str, texts: Spans) -> Check:
    known = frozenset(texts.points() or ())

    def check(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return type(value) is str and value in known

    return check


def _like(name: str, wanted: Values) -> Check:
    fits, texts = fitting(wanted.musts[0]), wanted.texts
    holds = None if texts == ALL or implied_start(wanted) else texts.holds

    def check(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return type(value) is str and fits(value) and (holds is None or holds(value))

    return check


def _up_to(name: str, numbers: Spans) -> Check:
    ((high, side),) = numbers.cuts

    def check(attributes: Attributes) -> bool:
        value: AnyValue = attributes.get(name)
        kind = type(value)
        return (kind is float or kind is int) and bool(value < high if side == BEFORE else value <= high)

    return check


def _in_range(name: str, numbers: Spans) -> Check:
    """Cuts of a range, each before or after its value; NaN compares to nothing, so it is never within."""
    (low, low_side), *rest = numbers.cuts
    high, high_side = rest[0] if rest else (None, BEFORE)

    def check(attributes: Attributes) -> bool:
        value: AnyValue = attributes.get(name)
        kind = type(value)
        if kind is not float and kind is not int:
            return False
        if not (value >= low if low_side == BEFORE else value > low):
            return False
        return high is None or bool(value < high if high_side == BEFORE else value <= high)

    return check
