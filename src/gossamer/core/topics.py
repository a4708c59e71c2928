"""Topics: dotted names under one root, and the order between them.

`.soccer.italy` is included in `.soccer`, which is included in the root `.`. A hierarchy may add
further super-topics to a name, so inclusion is a directed acyclic graph, not only a tree.
Topics are plain text everywhere (machines, wire, files). One rule holds for all: `topic()` checks our users' names and
says what is wrong with them, the type's pattern checks our peers' names as they are decoded.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, TypeAlias, TypeVar

from msgspec import Meta

from gossamer.core.errors import Misuse
from gossamer.core.letters import SPACES, UNSEEN

NAME_MAX = 255
SEGMENT_MAX = 64
"Letters."
ANSWERS_MAX = 10_000
"Topics about which answers are remembered; peers may make up new ones without end."

SEGMENT = rf"\.[^.{SPACES}{UNSEEN}]{{1,{SEGMENT_MAX}}}"
PLAIN = rf"\.[!-\-/-~]{{1,{SEGMENT_MAX}}}"
"A segment in ASCII: most are, and every event's topic is looked at."
Topic: TypeAlias = Annotated[str, Meta(pattern=rf"\A(?:(?:{PLAIN})+|\.|(?:{SEGMENT})+)\Z", max_length=NAME_MAX)]
_no_letter = re.compile(f"[{SPACES}{UNSEEN}]")

ROOT: Topic = "."

WILDCARDS = ("*", "**", "#", "+", ">")
"What other systems write for any name, or any number of names."

Answer = TypeVar("Answer")


def remember(answers: dict[Topic, Answer], name: Topic, answer: Answer) -> Answer:
    """Keeps an answer for next time; a memory that is full starts afresh."""
    if len(answers) >= ANSWERS_MAX:
        answers.clear()
    answers[name] = answer
    return answer


def topic(name: str) -> Topic:
    """The name, if it is a topic; otherwise an error that says what is wrong with it."""
    if not isinstance(name, str):
        raise Misuse(f"a topic is text like '.soccer', not {type(name).__name__}")
    if name == ROOT:
        return name
    if not name.startswith("."):
        raise Misuse(f"topic {name!r} must start with a dot, like '.{name.strip('. ') or 'soccer'}'")
    if len(name) > NAME_MAX:
        raise Misuse(f"topic {name[:20]!r}… is longer than {NAME_MAX} letters: shorten it")
    for segment in name[1:].split("."):
        _check_segment(name, segment)
    return name


def no_wildcard(name: Topic) -> Topic:
    """The name, unless somebody who comes from other systems means many topics by it: a topic includes those below."""
    for at, segment in enumerate(segments := name[1:].split(".")):
        if segment in WILDCARDS:
            wide = "." + ".".join(segments[:at])
            raise Misuse(
                f"{name!r} has no wildcards: {wide!r} means all topics below it already, so write {wide!r}"
                + (" with a filter on attributes" if at + 1 < len(segments) else "")
            )
    return name


def _check_segment(name: str, segment: str) -> None:
    if not segment:
        raise Misuse(f"topic {name!r} has an empty segment: write one name between two dots")
    if _no_letter.search(segment):
        raise Misuse(f"topic {name!r} has a space or unprintable character in {segment!r}: use letters, digits, - or _")
    if len(segment) > SEGMENT_MAX:
        raise Misuse(f"topic {name[:20]!r}… has a segment longer than {SEGMENT_MAX} letters: shorten it")


def named_super(name: Topic) -> Topic | None:
    """The super-topic the name itself tells, or None for the root."""
    if name == ROOT:
        return None
    return name.rpartition(".")[0] or ROOT


class Hierarchy:
    """Which topics include which: the names say it, and `further` adds super-topics beside the named one."""

    def __init__(self, further: Mapping[Topic, Sequence[Topic]] | None = None) -> None:
        self.further = {topic(name): tuple(map(topic, supers)) for name, supers in (further or {}).items()}
        self._ancestors: dict[Topic, tuple[Topic, ...]] = {}
        self._parents: dict[Topic, tuple[Topic, ...]] = {}
        self._refuse_cycles()

    def _stated(self, name: Topic) -> tuple[Topic, ...]:
        named = named_super(name)
        return (*(() if named is None else (named,)), *self.further.get(name, ()))

    def _refuse_cycles(self) -> None:
        stated: dict[Topic, tuple[Topic, ...]] = {}
        unvisited = list(self.further)
        while unvisited:
            name = unvisited.pop()
            if name not in stated:
                stated[name] = self._stated(name)
                unvisited += stated[name]
        try:
            TopologicalSorter(stated).prepare()
        except CycleError as found:
            cycle = " → ".join(reversed(found.args[1]))
            raise Misuse(f"topics include each other in a circle: {cycle}; remove one of these parents") from None

    def ancestors(self, name: Topic) -> tuple[Topic, ...]:
        """Every topic that includes this one, itself left out, nearest first: none before one that it includes."""
        known = self._ancestors.get(name)
        if known is None:
            found: dict[Topic, None] = {}
            level = self._stated(name)
            while level:
                for above in level:  # its place is where the longest way up leads
                    found.pop(above, None)
                    found[above] = None
                level = tuple(dict.fromkeys(above for each in level for above in self._stated(each)))
            known = remember(self._ancestors, name, tuple(found))
        return known

    def parents(self, name: Topic) -> tuple[Topic, ...]:
        """The direct super-topics. One that another of them already implies is left out."""
        known = self._parents.get(name)
        if known is None:
            known = remember(self._parents, name, self.nearest(self._stated(name)))
        return known

    def nearest(self, names: Iterable[Topic]) -> tuple[Topic, ...]:
        """Those of the names that include none of the others, in a fixed order."""
        distinct = tuple(dict.fromkeys(names))
        implied = {above for each in distinct for above in self.ancestors(each)}
        return tuple(each for each in distinct if each not in implied)

    def includes(self, wide: Topic, narrow: Topic) -> bool:
        """Whether a subscriber of `wide` wants events of `narrow`."""
        return wide == narrow or wide in self.ancestors(narrow)

    def joined_below(self, name: Topic) -> tuple[Topic, ...]:
        """Topics that were given further super-topics and lie below this one, by whichever way."""
        return tuple(each for each in self.further if each != name and self.includes(name, each))

    def nearest_populated(self, name: Topic, populated: Iterable[Topic]) -> tuple[Topic, ...]:
        """The super-communities events of this topic climb to when empty communities are skipped."""
        there = set(populated)
        return self.nearest(above for above in self.ancestors(name) if above in there)
