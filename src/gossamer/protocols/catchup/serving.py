"""Answering those who lack what is in this node's log. It says how much it looked at, so that they know what to ask for
next; everybody is answered so often, and brought so much."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound
from gossamer.core.machine import FromLog, ReadLog, Run
from gossamer.core.pattern_index import filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.messages import RUNS_MAX, Answered, Brings, Lacks, Stream
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.shelves import Shelves
from gossamer.protocols.catchup.wishes import Wishes

READING_MAX = 64
"Questions that are being answered; one of each peer."
READ_MAX = 256
"Events read for one answer."
FILTERED = 4
"A question with filters counts as so many."


class Question(Struct, frozen=True):
    """One that waits for the log."""

    lacks: Lacks
    left: tuple[Run, ...]
    unknown: tuple[Run, ...]
    asked_us: int
    brought: int = 0


class Serving:
    def __init__(self, node: Stack, shelves: Shelves, wishes: Wishes, params: Params) -> None:
        self.node, self.shelves, self.wishes, self.params = node, shelves, wishes, params
        self.asks = Buckets(params.answers_per_s, 2 * params.answers_per_s)
        self.bytes = Buckets(params.bytes_per_s, 2 * params.bytes_per_s)
        self.reading: dict[Peer, Question] = {}

    def bounds(self) -> Iterator[Bound]:
        yield "questions about the log", len(self.reading), READING_MAX

    def may_tell(self, stream: Stream) -> bool:
        """Whether this node is somebody to ask for a stream: what it no longer takes part in, it does not pass on."""
        node = self.node
        return stream.publisher == node.me or node.spread.relays or bool(node.interest.communities(stream.topic))

    def on_lacks(self, peer: Peer, lacks: Lacks) -> None:
        if not self.asks.take(peer, self.node.now_us, FILTERED if lacks.wheres else 1):
            return
        before = self.reading.get(peer)
        if before is not None and self.node.now_us < before.asked_us + self.params.wait_us:
            return
        if len(self.reading) >= READING_MAX and before is None:
            del self.reading[next(iter(self.reading))]
        includes = self.node.hierarchy.includes
        runs = [run for run in lacks.runs[:RUNS_MAX] if includes(lacks.topic, run.topic) and 0 < run.first <= run.last]
        found, left, unknown = self._divided(runs, lacks)
        self.reading[peer] = Question(lacks, tuple(left), tuple(unknown), self.node.now_us)
        if found:
            self.node.out.effects.append(ReadLog(peer, lacks.number, tuple(found)))
        else:
            self._answer(peer, self.reading.pop(peer), ())

    def _divided(self, runs: Sequence[Run], lacks: Lacks) -> tuple[list[Run], list[Run], list[Run]]:
        """What to read of these runs, what is too much for one answer, and what this node cannot speak for."""
        found: list[Run] = []
        left: list[Run] = []
        unknown: list[Run] = []
        events = READ_MAX
        for run in runs:
            stream = Stream(run.topic, run.publisher, run.incarnation)
            held = self._told(stream).between(run.first, run.last)
            part = [*held.lowest(1 if lacks.one else events)][: RUNS_MAX - len(found)]
            end = run.last if lacks.one else looked_at(run, held, part)
            events -= sum(last - first + 1 for first, last in part)
            found += rules.runs_of(stream, part)
            left += rules.runs_of(stream, Ordinals([(end + 1, run.last)]))
            lacking = Ordinals([(run.first, end)]).without(held)
            if lacks.wheres and self.wishes.include(run.topic, lacks.wheres, run.incarnation):
                lacking = lacking.without(self._settled(stream))
            if not (lacks.one and held):
                unknown += rules.runs_of(stream, lacking.rough(2))
        return found, left, unknown

    def _told(self, stream: Stream) -> Ordinals:
        shelf = self.shelves.shelves.get(stream)
        return shelf.held if shelf is not None and self.may_tell(stream) else Ordinals()

    def _settled(self, stream: Stream) -> Ordinals:
        """Of which this node has whatever matches its own filters."""
        shelf = self.shelves.shelves.get(stream)
        return Ordinals() if shelf is None else shelf.done.with_all([(1, shelf.examined)])

    def from_log(self, found: FromLog) -> None:
        question = self.reading.get(found.peer)
        if question is None or question.lacks.number != found.number:
            return
        left, brought = [*question.left], question.brought
        for event in found.events:
            if not question.lacks.one and not matches(event, question.lacks.wheres):
                continue
            if self.bytes.take(found.peer, self.node.now_us, min(len(event.payload), self.bytes.burst)):
                self.node.out.send([found.peer], Brings(Carried(event, 1)))
                brought += 1
            else:
                left.append(Run(event.topic, event.id.publisher, event.id.incarnation, event.ordinal, event.ordinal))
        question = Question(question.lacks, tuple(left), question.unknown, question.asked_us, brought)
        self.reading[found.peer] = question
        if found.over:
            self._answer(found.peer, self.reading.pop(found.peer), found.left)

    def _answer(self, peer: Peer, question: Question, unread: Sequence[Run]) -> None:
        streams = rules.by_stream((*question.left, *unread)).items()
        left = [run for stream, them in streams for run in rules.runs_of(stream, them.rough(2))]
        self.node.out.send([peer], Answered(question.lacks.number, tuple(left), question.unknown, question.brought))

    def peer_down(self, peer: Peer) -> None:
        self.reading.pop(peer, None)


def looked_at(run: Run, held: Ordinals, part: Sequence[tuple[int, int]]) -> int:
    """How far a run is looked at if these of the stretches held are read: all of it, if they are all."""
    if len(part) == len(held) and (not part or part[-1][1] == held.top):
        return run.last
    return part[-1][1] if part else run.first - 1


def matches(event: Event, wheres: Sequence[str]) -> bool:
    """Whether an event is one of those that were asked for. What is no filter matches nothing."""
    return not wheres or any(_matches(event, where) for where in wheres)


def _matches(event: Event, where: str) -> bool:
    try:
        wanted = filter_of(Pattern(event.topic, where))
    except Misuse:
        return False
    return wanted is None or wanted.wants(event)
