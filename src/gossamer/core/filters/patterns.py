"""What a text contains or ends with, and what follows from what.

How a text starts is not here: texts that start alike stand side by side in the order, so that is an interval.
"""

from typing import TypeAlias

CONTAINS, ENDSWITH = "contains", "endswith"
Pattern: TypeAlias = tuple[str, str]
"(CONTAINS or ENDSWITH, the text looked for)"


def fits(pattern: Pattern, text: str) -> bool:
    how, sought = pattern
    return sought in text if how == CONTAINS else text.endswith(sought)


def implies(given: Pattern, wanted: Pattern) -> bool:
    """Whether each text that fits `given` fits `wanted`."""
    how, sought = wanted
    if how == CONTAINS:
        return sought in given[1]
    return given[0] == ENDSWITH and given[1].endswith(sought)


def excludes(given: Pattern, other: Pattern) -> bool:
    """Whether no text that fits `given` fits `other`: only two ends can contradict each other."""
    if given[0] == other[0] == ENDSWITH:
        return not (given[1].endswith(other[1]) or other[1].endswith(given[1]))
    return False


def must(pattern: Pattern, prefix: str, musts: tuple[Pattern, ...]) -> bool:
    """Whether texts with this prefix that fit all of `musts` fit the pattern."""
    by_start = pattern[0] == CONTAINS and pattern[1] in prefix
    return by_start or any(implies(given, pattern) for given in musts)


def cannot(pattern: Pattern, musts: tuple[Pattern, ...], nots: tuple[Pattern, ...]) -> bool:
    """Whether texts that fit all of `musts` and none of `nots` never fit the pattern."""
    return any(implies(pattern, never) for never in nots) or any(excludes(given, pattern) for given in musts)


def needless(patterns: tuple[Pattern, ...], prefix: str) -> tuple[Pattern, ...]:
    """The patterns to fit, without those that follow from the others or from how the texts start."""
    kept = tuple(sorted(dict.fromkeys(patterns)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if must(each, prefix, others):
            kept = others
    return kept


def avoided(patterns: tuple[Pattern, ...], musts: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    """The patterns not to fit, without those that follow from the others or from what is to fit."""
    kept = tuple(sorted(dict.fromkeys(patterns)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if cannot(each, musts, others):
            kept = others
    return kept
