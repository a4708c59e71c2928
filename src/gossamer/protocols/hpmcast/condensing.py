"""A table made a row: what everybody in it wants, said once, and more weakly the higher it stands (4.2.2, 6.1.1).

Exactly: what another pattern includes is left out. By attributes: each topic's filters become one that covers them, of
plain comparisons. Selectively: a topic that includes others speaks for them, and only attributes are asked for on which
all agree. By type: topics, and no filters. Each grade covers what it was made of, so nobody below misses an event.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from gossamer.core.patterns import Pattern
from gossamer.core.topics import ROOT, Hierarchy, Topic, named_super
from gossamer.protocols.hpmcast.messages import PATTERNS_MAX
from gossamer.protocols.hpmcast.upkeep import Grade
from gossamer.protocols.hpmcast.wanting import Interest, WantedPatterns, wanted

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

Asked: TypeAlias = "dict[Topic, list[Filter | None]]"
"Filters by topic; None: everything."

TEXT_MAX = 16_384
"Characters of a row's interest, written out."
COMPARED_MAX = 128
"Among more patterns than these it is not looked for such that others include: two for one cost less than looking."
REMEMBERED_MAX = 4096
"Condensations that are worked out once: the same table is condensed by everybody who has it."


def condensed(interests: Iterable[Interest], grade: Grade, size: int, hierarchy: Hierarchy) -> Interest:
    """One interest that covers all of these, bounded in every respect."""
    patterns = sorted({pattern: None for interest in interests for pattern in interest})
    return _condensed(tuple(patterns), grade, size, hierarchy)


@lru_cache(REMEMBERED_MAX)
def _condensed(patterns: Interest, grade: Grade, size: int, hierarchy: Hierarchy) -> Interest:
    asked = _by_topic(_read(patterns))
    if grade == "exact":
        found = _apart(patterns, hierarchy)
        if fits(found) and sum(_weight(each) for each in asked.values()) <= size:
            return found
        grade = "attribute"
    return weakened(asked, grade, size, hierarchy)


def of_many(patterns: "Mapping[Pattern, Filter | None]", size: int, hierarchy: Hierarchy) -> Interest:
    """The same by attributes, of patterns of one node that have been read, however many. Nothing of it is remembered:
    nobody else has the same."""
    asked: Asked = {}
    for pattern, each in patterns.items():
        asked.setdefault(pattern.topic, []).append(each)
    return weakened(_by_topic(asked), "attribute", size, hierarchy)


def weakened(asked: Asked, grade: Grade, size: int, hierarchy: Hierarchy) -> Interest:
    if len(asked) > COMPARED_MAX:  # so many topics give way to those above, whatever their filters
        grade = "type"
    if grade == "attribute":
        asked = {topic: [_one(filters, size, len(asked))] for topic, filters in asked.items()}
    else:
        asked = _widest(asked, hierarchy)
        asked = {topic: [None if grade == "type" else _agreed(filters)] for topic, filters in asked.items()}
    return bounded(_apart(_patterns(asked), hierarchy), hierarchy)


def fits(interest: Interest) -> bool:
    return len(interest) <= PATTERNS_MAX and _text(interest) <= TEXT_MAX


def bounded(interest: Interest, hierarchy: Hierarchy) -> Interest:
    """The same, or wider where it is too long: first the longest filters go, then topics give way to those above."""
    kept, surplus = list(interest), _text(interest) - TEXT_MAX
    for at in sorted(range(len(kept)), key=lambda at: (-len(kept[at].where), at)):
        if surplus > 0:
            surplus -= len(kept[at].where)
            kept[at] = Pattern(kept[at].topic)
    topics = [*dict.fromkeys(pattern.topic for pattern in kept)]
    if len(kept) <= PATTERNS_MAX and _text(kept) <= TEXT_MAX:
        return _apart(tuple(sorted(dict.fromkeys(kept))), hierarchy)
    while len(topics) > PATTERNS_MAX or sum(map(len, topics)) > TEXT_MAX:
        deepest = max(topic.count(".") if topic != ROOT else 0 for topic in topics)
        shallower = [named_super(topic) or ROOT if topic.count(".") == deepest else topic for topic in topics]
        topics = [*dict.fromkeys(shallower)]
    return _apart(tuple(Pattern(topic) for topic in sorted(topics)), hierarchy)


def _text(interest: Sequence[Pattern]) -> int:
    return sum(len(pattern.topic) + len(pattern.where) for pattern in interest)


def _by_topic(asked: Asked) -> Asked:
    return {topic: [None] if None in filters else filters for topic, filters in asked.items()}


def _read(patterns: Interest) -> Asked:
    read = wanted(patterns)
    return {} if read is None else {topic: list(filters) for topic, filters in read.filters.items()}


def _patterns(asked: Asked) -> Interest:
    found = []
    for topic, filters in asked.items():
        for each in filters:
            if each is None or each.text == "true":
                found.append(Pattern(topic))
            elif each.text != "false":
                found.append(Pattern(topic, each.text))
    return tuple(sorted(found))


def _weight(filters: "Sequence[Filter | None]") -> int:
    return sum(0 if each is None else each.size for each in filters)


def _apart(patterns: Interest, hierarchy: Hierarchy) -> Interest:
    """Without those that another one includes."""
    if not 1 < len(patterns) <= COMPARED_MAX:
        return patterns
    alone = [wanted((pattern,)) for pattern in patterns]
    kept = dict.fromkeys(at for at, each in enumerate(alone) if each is not None)
    for at in [*kept]:
        if any(_includes(alone[other], alone[at], hierarchy) for other in kept if other != at):
            del kept[at]
    return tuple(patterns[at] for at in kept)


def _includes(wide: WantedPatterns | None, narrow: WantedPatterns | None, hierarchy: Hierarchy) -> bool:
    return wide is not None and narrow is not None and wide.includes(narrow, hierarchy)


def _one(filters: "list[Filter | None]", size: int, topics: int) -> "Filter | None":
    """One filter for a topic, with its part of the size."""
    from gossamer.core.filters import condense  # a node that filters nothing need not load the grammar

    asked = [each for each in filters if each is not None]
    return None if len(asked) < len(filters) else condense(asked, max(1, size // topics))


def _widest(asked: Asked, hierarchy: Hierarchy) -> Asked:
    """Topics that include others speak for them."""
    found: Asked = {}
    for topic in asked:
        over = [above for above in hierarchy.ancestors(topic) if above in asked]
        widest = over[-1] if over else topic
        found.setdefault(widest, []).extend(asked[topic])
    return found


def _agreed(filters: "list[Filter | None]") -> "Filter | None":
    """What all terms ask of the same attribute in the same way; nothing else is asked any more."""
    from gossamer.core.filters.filter import of_terms

    asked = [each for each in filters if each is not None]
    terms = [term for each in asked for term in each.terms]
    if len(asked) < len(filters) or not terms:
        return None
    first, *others = terms
    common = {
        name: values for name, values in first.items() if all(name in each and each[name] == values for each in others)
    }
    return of_terms([common]) if common else None
