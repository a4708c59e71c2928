"""Parts of texts: what a text contains or ends with, and what follows from what.

How a text starts is not here: texts that start alike stand side by side in the order, so that is an interval.
"""

from typing import TypeAlias

CONTAINS, ENDSWITH = "contains", "endswith"
TextPart: TypeAlias = tuple[str, str]
"(CONTAINS or ENDSWITH, the text looked for)"


def fits(part: TextPart, text: str) -> bool:
    how, sought = part
    return sought in text if how == CONTAINS else text.endswith(sought)


def implies(given: TextPart, wanted: TextPart) -> bool:
    """Whether each text that has `given` has `wanted`."""
    how, sought = wanted
    if how == CONTAINS:
        return sought in given[1]
    return given[0] == ENDSWITH and given[1].endswith(sought)


def excludes(given: TextPart, other: TextPart) -> bool:
    """Whether no text that has `given` has `other`: only two ends can contradict each other."""
    if given[0] == other[0] == ENDSWITH:
        return not (given[1].endswith(other[1]) or other[1].endswith(given[1]))
    return False


def must(part: TextPart, prefix: str, musts: tuple[TextPart, ...]) -> bool:
    """Whether texts with this prefix that have all of `musts` have the part."""
    by_start = part[0] == CONTAINS and part[1] in prefix
    return by_start or any(implies(given, part) for given in musts)


def cannot(part: TextPart, musts: tuple[TextPart, ...], nots: tuple[TextPart, ...]) -> bool:
    """Whether texts that have all of `musts` and none of `nots` never have the part."""
    return any(implies(part, never) for never in nots) or any(excludes(given, part) for given in musts)


def needless(parts: tuple[TextPart, ...], prefix: str) -> tuple[TextPart, ...]:
    """The parts to have, without those that follow from the others or from how the texts start."""
    kept = tuple(sorted(dict.fromkeys(parts)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if must(each, prefix, others):
            kept = others
    return kept


def avoided(parts: tuple[TextPart, ...], musts: tuple[TextPart, ...]) -> tuple[TextPart, ...]:
    """The parts not to have, without those that follow from the others or from those to have."""
    kept = tuple(sorted(dict.fromkeys(parts)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if cannot(each, musts, others):
            kept = others
    return kept
