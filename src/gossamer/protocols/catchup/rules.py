"""How catching up decides. Plain values in, plain answers out."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gossamer.core.draws import MASK, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import Run
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup.messages import Stream

Who: TypeAlias = tuple[Peer, Topic]
"With whom, about what."
SEARCHED = 16
"As many events of unknown age are asked for at once: it takes no search to find out which of them are wanted."


def word_of(stream_word: int, have: Ordinals) -> int:
    """Stands for how far one has come with a stream: its top and the holes below. Where it begins is left out, so that
    logs are alike that were pruned differently."""
    word = fold(stream_word, have.top)
    for first, last in have.holes():
        word = fold(fold(word, first), last)
    return int(word)


def digest_of(words: Iterable[int]) -> int:
    """Stands for all of these, in any order, in 63 bits; 0 for none."""
    return (sum(words) & MASK) >> 1


def runs_of(stream: Stream, ordinals: Iterable[tuple[int, int]]) -> list[Run]:
    return [Run(stream.topic, stream.publisher, stream.incarnation, first, last) for first, last in ordinals]


def by_stream(runs: Iterable[Run]) -> dict[Stream, Ordinals]:
    """What of which stream these runs are."""
    found: dict[Stream, Ordinals] = {}
    for topic, publisher, incarnation, first, last in map(fields, runs):
        found.setdefault(Stream(topic, publisher, incarnation), Ordinals()).add(first, last)
    return found


def fields(run: Run) -> tuple[str, int, int, int, int]:
    return run.topic, run.publisher, run.incarnation, run.first, run.last


def page(needs: Sequence[tuple[Stream, Ordinals]], events: int, runs: int) -> list[Run]:
    """What to ask for next: streams as they stand, each from its oldest on, as much as fits one question."""
    chosen: list[Run] = []
    for stream, ordinals in needs:
        stretches = [*ordinals.lowest(events)][: runs - len(chosen)]
        chosen += runs_of(stream, stretches)
        events -= sum(last - first + 1 for first, last in stretches)
        if events <= 0 or len(chosen) >= runs:
            break
    return chosen


def searches(unsure: Ordinals) -> list[tuple[int, int]]:
    """Where to look for the first event that is young enough, by halves: the first of each of these runs."""
    middle = unsure.at(unsure.count // 2)
    return [*dict.fromkeys((first, unsure.top) for first in (unsure.floor + 1, middle, unsure.top))]


def wanted_from_one(event: Event, since_us: int) -> bool:
    """Whether an event proves that its whole stream is young enough: it is the first, or is counted by its topic as by
    its ordinal, and says how long before it that count began."""
    if event.ordinal == 1:
        return event.published_us >= since_us
    counted = Pattern(event.topic).signature
    return any(
        tag.pattern == counted
        and tag.sequence == event.ordinal
        and tag.age_ms > 0
        and event.published_us - 1000 * tag.age_ms >= since_us
        for tag in event.tags
    )


def in_turn(waiting: Sequence[Who]) -> list[Who]:
    """Those who wait, the first of every topic before the second of any."""
    before: dict[Topic, int] = {}
    turns = []
    for who in waiting:
        before[who[1]] = turn = before.get(who[1], 0) + 1
        turns.append((turn, who))
    return [who for _, who in sorted(turns, key=lambda each: each[0])]


def enough(witnesses: int, members: int) -> int:
    """How many must say the same before it is believed; all there are, if these are fewer."""
    return max(1, min(witnesses, members))


def said_by(said: Iterable[Ordinals], needed: int) -> Ordinals:
    """What so many of them say, or more."""
    edges: dict[int, int] = {}
    for ordinals in said:
        for first, last in ordinals:
            edges[first] = edges.get(first, 0) + 1
            edges[last + 1] = edges.get(last + 1, 0) - 1
    found, depth, begun = Ordinals(), 0, 0
    for edge in sorted(edges):
        before, depth = depth, depth + edges[edge]
        if before < needed <= depth:
            begun = edge
        elif depth < needed <= before:
            found.add(begun, edge - 1)
    return found
