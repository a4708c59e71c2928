"""Parts of texts: what a text contains or ends with, what pattern it is like, and what follows from what.

How a text starts is not here: texts that start alike stand side by side in the order, so that is an interval.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from gossamer.core.filters import wildcards
from gossamer.core.filters.wildcards import MANY, Wild

CONTAINS, ENDSWITH, LIKE, ILIKE = "contains", "endswith", "like", "ilike"
TextPart: TypeAlias = tuple[str, str]
"(how, the text looked for, or the pattern); of ILIKE, the pattern is folded and is asked of the folded text."
PLAIN = (CONTAINS, ENDSWITH)


def fits(part: TextPart, text: str) -> bool:
    how, sought = part
    if how == CONTAINS:
        return sought in text
    if how == ENDSWITH:
        return text.endswith(sought)
    return wildcards.matcher(sought)(text if how == LIKE else text.casefold())


def fitting(part: TextPart) -> Callable[[str], bool]:
    """The same, for one that is asked often."""
    how, sought = part
    return wildcards.matcher(sought) if how == LIKE else partial(fits, part)


def implies(given: TextPart, wanted: TextPart) -> bool:
    """Whether each text that has `given` has `wanted`. Of patterns, False may also mean: could not be told."""
    how, sought = wanted
    if how in PLAIN and given[0] in PLAIN:
        if how == CONTAINS:
            return sought in given[1]
        return given[0] == ENDSWITH and given[1].endswith(sought)
    if given == wanted:
        return True
    one, other = _wild(given), _wild(wanted)
    if one is None or other is None or (given[0] == ILIKE and how != ILIKE):
        return False
    return wildcards.within(wildcards.folded(one) if how == ILIKE != given[0] else one, other)


def excludes(given: TextPart, other: TextPart) -> bool:
    """Whether no text that has `given` has `other`: two ends can contradict each other, and so can patterns."""
    if given[0] in PLAIN and other[0] in PLAIN:
        both_end = given[0] == other[0] == ENDSWITH
        return both_end and not (given[1].endswith(other[1]) or other[1].endswith(given[1]))
    one, two = _wild(given), _wild(other)
    if one is None or two is None:
        return False
    if ILIKE in (given[0], other[0]):
        one, two = (
            form if how == ILIKE else wildcards.folded(form) for how, form in ((given[0], one), (other[0], two))
        )
    return wildcards.apart(one, two)


def _wild(part: TextPart) -> Wild | None:
    """A part as a pattern; None: it looks for letters that stand for wildcards there."""
    how, sought = part
    if how not in PLAIN:
        return sought
    return (MANY + sought + MANY * (how == CONTAINS)) if wildcards.is_plain(sought) else None


def _started(prefix: str) -> TextPart | None:
    """That a text starts so, as a part; None: it may start anyhow."""
    return (LIKE, prefix + MANY) if prefix and wildcards.is_plain(prefix) else None


def must(part: TextPart, prefix: str, musts: tuple[TextPart, ...]) -> bool:
    """Whether texts with this prefix that have all of `musts` have the part."""
    if part[0] in PLAIN:
        by_start = part[0] == CONTAINS and part[1] in prefix
    else:
        start = _started(prefix)
        by_start = start is not None and implies(start, part)
    return by_start or any(implies(given, part) for given in musts)


def cannot(part: TextPart, musts: tuple[TextPart, ...], nots: tuple[TextPart, ...], prefix: str = "") -> bool:
    """Whether texts with this prefix that have all of `musts` and none of `nots` never have the part."""
    if any(implies(part, never) for never in nots) or any(excludes(given, part) for given in musts):
        return True
    start = None if part[0] in PLAIN else _started(prefix)
    return start is not None and excludes(start, part)


def needless(parts: tuple[TextPart, ...], prefix: str) -> tuple[TextPart, ...]:
    """The parts to have, without those that follow from the others or from how the texts start."""
    kept = tuple(sorted(dict.fromkeys(parts)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if must(each, prefix, others):
            kept = others
    return kept


def avoided(parts: tuple[TextPart, ...], musts: tuple[TextPart, ...], prefix: str) -> tuple[TextPart, ...]:
    """The parts not to have, without those that follow from the others, from those to have or from how texts start."""
    kept = tuple(sorted(dict.fromkeys(parts)))
    for each in kept:
        others = tuple(other for other in kept if other != each)
        if cannot(each, musts, others, prefix):
            kept = others
    return kept


def sample(part: TextPart) -> str:
    """A text that has the part, as far as that can be said: the shortest."""
    return part[1].replace(MANY, "").replace(wildcards.ONE, "a")
