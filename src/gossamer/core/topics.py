"""Topics: dotted names under one root, and the order between them.

`.soccer.italy` is included in `.soccer`, which is included in the root `.`. A hierarchy may add
further super-topics to a name, so inclusion is a directed acyclic graph, not only a tree.
Topics are plain text everywhere (machines, wire, files); `topic()` is the one place that checks them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from gossamer.core.errors import Misuse

Topic: TypeAlias = str

ROOT: Topic = "."
NAME_BYTES_MAX = 255
SEGMENT_BYTES_MAX = 64


def topic(name: str) -> Topic:
    """The name, if it is a topic; otherwise an error that says what is wrong with it."""
    if name == ROOT:
        return name
    if not name.startswith("."):
        raise Misuse(f"topic {name!r} must start with a dot, like '.{name.strip('. ') or 'soccer'}'")
    if len(name.encode()) > NAME_BYTES_MAX:
        raise Misuse(f"topic {name[:20]!r}… is longer than {NAME_BYTES_MAX} bytes: shorten it")
    for segment in name[1:].split("."):
        _check_segment(name, segment)
    return name


def _check_segment(name: str, segment: str) -> None:
    if not segment:
        raise Misuse(f"topic {name!r} has an empty segment: write one name between two dots")
    if any(letter.isspace() or not letter.isprintable() for letter in segment):
        raise Misuse(f"topic {name!r} has a space or unprintable character in {segment!r}: use letters, digits, - or _")
    if len(segment.encode()) > SEGMENT_BYTES_MAX:
        raise Misuse(f"topic {name[:20]!r}… has a segment longer than {SEGMENT_BYTES_MAX} bytes: shorten it")


def named_super(name: Topic) -> Topic | None:
    """The super-topic the name itself tells, or None for the root."""
    if name == ROOT:
        return None
    return name[: name.rindex(".")] or ROOT


class Hierarchy:
    """Which topics include which: the names say it, and `further` adds super-topics beside the named one."""

    def __init__(self, further: Mapping[Topic, Sequence[Topic]] | None = None) -> None:
        self.further = {topic(name): tuple(map(topic, supers)) for name, supers in (further or {}).items()}
        self._ancestors: dict[Topic, tuple[Topic, ...]] = {}
        self._parents: dict[Topic, tuple[Topic, ...]] = {}
        for name in self.further:
            self._refuse_cycle(name)

    def _stated(self, name: Topic) -> tuple[Topic, ...]:
        named = named_super(name)
        return (*(() if named is None else (named,)), *self.further.get(name, ()))

    def _refuse_cycle(self, start: Topic) -> None:
        trail: list[Topic] = []

        def climb(name: Topic) -> None:
            if name in trail:
                cycle = " → ".join([*trail[trail.index(name) :], name])
                raise Misuse(f"topics include each other in a circle: {cycle}; remove one of these parents")
            trail.append(name)
            for above in self._stated(name):
                climb(above)
            trail.pop()

        climb(start)

    def ancestors(self, name: Topic) -> tuple[Topic, ...]:
        """Every topic that includes this one, nearest first, itself left out."""
        known = self._ancestors.get(name)
        if known is None:
            found: dict[Topic, None] = {}
            level = self._stated(name)
            while level:
                found.update(dict.fromkeys(level))
                level = tuple(dict.fromkeys(above for each in level for above in self._stated(each)))
            known = self._ancestors[name] = tuple(found)
        return known

    def parents(self, name: Topic) -> tuple[Topic, ...]:
        """The direct super-topics. One that another of them already implies is left out."""
        known = self._parents.get(name)
        if known is None:
            known = self._parents[name] = self.nearest(self._stated(name))
        return known

    def nearest(self, names: Iterable[Topic]) -> tuple[Topic, ...]:
        """Those of the names that include none of the others, in a fixed order."""
        distinct = tuple(dict.fromkeys(names))
        implied = {above for each in distinct for above in self.ancestors(each)}
        return tuple(each for each in distinct if each not in implied)

    def includes(self, wide: Topic, narrow: Topic) -> bool:
        """Whether a subscriber of `wide` wants events of `narrow`."""
        return wide == narrow or wide in self.ancestors(narrow)

    def nearest_populated(self, name: Topic, populated: Iterable[Topic]) -> tuple[Topic, ...]:
        """The super-communities events of this topic climb to when empty communities are skipped."""
        there = set(populated)
        return self.nearest(above for above in self.ancestors(name) if above in there)
