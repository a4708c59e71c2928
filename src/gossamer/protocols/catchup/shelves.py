"""What this node knows of its log, stream by stream: what is there, what need not be, and what is wanted of it.

Only what is proved moves anything here: what came into the log, and events that were signed. What others say they hold
is looked at elsewhere, and forgotten.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gossamer.core.draws import fold
from gossamer.core.ids import Peer, peer_of
from gossamer.core.layer import Bound
from gossamer.core.machine import SECOND_US, Run, Settled
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.messages import PAGE_MAX, STRETCHES_MAX, Stream, StreamHeld
from gossamer.protocols.catchup.wishes import Wishes

STREAMS_MAX = 10_000
"Streams that are known; the one that nothing came of for longest is forgotten."
HOLES_MAX = 1000
"Stretches kept of one stream: only its publisher can tear more holes, and they are filled from below."
COMING_US = 5 * SECOND_US
"How long an event that was accepted may take into the log, before it is asked for again."


Said: TypeAlias = tuple[int, Ordinals]
"What somebody said of a stream, and when."


class Shelf:
    """One stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.stream_word: int = fold(fold(peer_of(stream.topic), stream.publisher), stream.incarnation)
        self.held = Ordinals()
        "In the log."
        self.done = Ordinals()
        "Not in the log, and not wanted: pruned, or not for us."
        self.lost = Ordinals()
        "Given up."
        self.unkept = Ordinals()
        "Delivered, and not in the log, for there was no room: whatever else is said of it, it is wanted."
        self.coming = Ordinals()
        "Accepted, and on its way into the log,"
        self.coming_us = 0
        "the last of it since then."
        self.former: int | None = None
        "The first that a former life kept."
        self.older = 0
        "An event that is too old for us; so is what stands before it."
        self.newer: int | None = None
        "The first that is known to be for us; so is what stands after it."
        self.live: int | None = None
        "The first that came in this life without being asked for."
        self.lackers: dict[Peer, Said] = {}
        "Who said that it lacks what is missing here."
        self.lost_us: int | None = None
        "Since when something is missing,"
        self.lost_top = 0
        "up to this one;"
        self.lost_count = 0
        "and how much it was at the last look."
        self.promised: dict[Peer, Said] = {}
        "Who said that it has what is missing here, and did not answer when it was asked for it."
        self.publisher_us: int | None = None
        "When its publisher was asked for that."
        self.vouched: dict[Peer, Said] = {}
        "Who said what of it does not match our filters."
        self.examined = 0
        "Where filters are asked: what they match up to here, we have."
        self.marked = 0
        "How far that may be at the next look, if nothing happens."
        self.word: int | None = None

    def has(self) -> Ordinals:
        """What is here, or need not be. What was given up would still be welcome."""
        here = self.held.with_all(self.done, [(1, self.older)])
        return here.without(self.unkept) if self.unkept else here

    def keep(self, first: int, last: int) -> None:
        self.word = None
        self.held.add(first, last)
        self.held.join(HOLES_MAX)
        for other in (self.unkept, self.coming, self.lost):
            other.remove(first, last)


class Shelves:
    """All streams, and the order in which they are told of."""

    def __init__(self, node: Stack, wishes: Wishes) -> None:
        self.node, self.wishes = node, wishes
        self.shelves: dict[Stream, Shelf] = {}
        self.order: list[Stream] = []
        self.torn: dict[Stream, None] = {}
        "Those of them that something may be missing of."
        self.forgot_us = 0
        "When one of them was forgotten: what began before then may have been here."

    def bounds(self) -> Iterator[Bound]:
        yield "streams of the log", len(self.shelves), STREAMS_MAX

    # -- what happens -------------------------------------------------------------------------------------------

    def shelf(self, stream: Stream) -> Shelf:
        shelf = self.shelves.pop(stream, None)
        if shelf is None:
            shelf = Shelf(stream)
            insort(self.order, stream)
        self.shelves[stream] = shelf
        if len(self.shelves) > STREAMS_MAX:
            gone = next(iter(self.shelves))
            del self.shelves[gone], self.order[bisect_right(self.order, gone) - 1]
            self.torn.pop(gone, None)
            self.forgot_us = self.node.now_us
        return shelf

    def logged(self, runs: Sequence[Run], former: bool) -> None:
        for run in runs:
            shelf = self.shelf(Stream(run.topic, run.publisher, run.incarnation))
            brought = run.first in shelf.coming
            shelf.keep(run.first, run.last)
            if len(shelf.held) > 1 or shelf.held.floor:
                self.torn[shelf.stream] = None
            if former:
                shelf.former = shelf.held.floor + 1
                if run.publisher == self.node.me:  # of our own nothing was missed on the way
                    shelf.examined = shelf.marked = shelf.held.top
                continue
            if shelf.newer is None or run.first < shelf.newer:
                shelf.newer = run.first
            if not brought and (shelf.live is None or run.first < shelf.live):
                shelf.live = run.first

    def unkept(self, runs: Sequence[Run]) -> None:
        for run in runs:
            shelf = self.shelf(Stream(run.topic, run.publisher, run.incarnation))
            shelf.word = None
            shelf.coming.remove(run.first, run.last)
            shelf.unkept.add(run.first, run.last)
            shelf.unkept.join(HOLES_MAX)
            shelf.unkept = shelf.unkept.without(shelf.held)
            self.torn[shelf.stream] = None

    def pruned(self, runs: Sequence[Run]) -> None:
        for run in runs:
            shelf = self.shelf(Stream(run.topic, run.publisher, run.incarnation))
            shelf.word = None
            for other in (shelf.held, shelf.lost, shelf.unkept):
                other.remove(run.first, run.last)
            shelf.done.add(run.first, run.last)
            shelf.done.join(HOLES_MAX)

    def wanted_since(self, topic: Topic, before: bool, former: bool) -> None:
        """Streams below a topic are wanted from an earlier time on; they were wanted `before`, or were not. In a
        `former` life already: then what that kept is for us. What stands before it may be, too: it may have missed
        the first."""
        for shelf in self.below(topic):
            shelf.word, shelf.older = None, 0
            if former and shelf.former is not None:
                shelf.newer = shelf.former
            elif not before:
                shelf.newer = None

    def settle(self) -> None:
        """Nothing happened for a while: where filters are asked, what lies between what came is not for us."""
        settled: list[Run] = []
        for shelf in self.shelves.values():
            goes_on = shelf.former is None or shelf.live is not None
            if goes_on and self.wishes.wheres(shelf.stream.topic) and not self.missing(shelf):
                if shelf.marked > shelf.examined and shelf.stream.publisher != self.node.me:
                    settled += rules.runs_of(shelf.stream, [(1, shelf.marked)])
                shelf.examined, shelf.marked, shelf.word = shelf.marked, shelf.held.top, None
        if settled:
            self.node.out.effects.append(Settled(tuple(settled)))

    # -- what is there ------------------------------------------------------------------------------------------

    def below(self, topic: Topic, after: Stream | None = None) -> Iterator[Shelf]:
        """Streams of a topic and of all below it, in their order."""
        includes, begun = self.node.hierarchy.includes, 0 if after is None else bisect_right(self.order, after)
        for stream in self.order[begun:]:
            if includes(topic, stream.topic):
                yield self.shelves[stream]

    def digest(self, topic: Topic, after: Stream | None = None) -> int:
        return rules.digest_of(map(self._word, self.below(topic, after)))

    def _word(self, shelf: Shelf) -> int:
        if shelf.word is None:
            have = Ordinals([(1, shelf.has().top)]) if self.wishes.wheres(shelf.stream.topic) else shelf.has()
            shelf.word = rules.word_of(shelf.stream_word, have)
            if shelf.promised or self._unsure(shelf):
                shelf.word = fold(shelf.word, have.floor + 1)
        return shelf.word

    def _unsure(self, shelf: Shelf) -> Ordinals:
        """What may be for us, too, though no hole shows it: what stands before the first that is here; and where
        filters are asked, what a former life did not get. Until that is found out, or as long as somebody did not bring
        what it has, this log is unlike others."""
        since_us, filtered = self.since_us(shelf.stream), bool(self.wishes.wheres(shelf.stream.topic))
        if since_us is None or (shelf.stream.incarnation > since_us and not filtered):
            return Ordinals()
        known = max(shelf.older, shelf.examined) if filtered else shelf.older
        last = 0 if shelf.newer is None else shelf.newer - 1
        if filtered and shelf.former is not None:
            last = max(last, self._former_end(shelf))
        unsure = Ordinals([(known + 1, last)] if last > known else [])
        return unsure.with_all(shelf.unkept).without(shelf.has())

    def _former_end(self, shelf: Shelf) -> int:
        """Up to here a hole may be what a former life did not get."""
        return shelf.held.top if shelf.live is None else shelf.live

    def page(self, topic: Topic, after: Stream | None) -> tuple[list[StreamHeld], bool]:
        """What is held of the first streams after one, and whether there are more."""
        told: list[StreamHeld] = []
        for shelf in self.below(topic, after):
            if len(told) == PAGE_MAX:
                return told, True
            told.append(held(shelf.stream, shelf.held))
        return told, False

    # -- what is wanted -----------------------------------------------------------------------------------------

    def since_us(self, stream: Stream) -> int | None:
        """What began later is wanted from its first event on; of what began earlier, what was published since. None:
        nothing of it is."""
        since_us = self.wishes.since_us(stream.topic)
        return since_us if since_us is None or stream in self.shelves else max(since_us, self.forgot_us)

    def lacking(self, stream: Stream, claimed: Ordinals) -> tuple[Ordinals, bool]:
        """What to ask for of what somebody claims to have; and whether only to find out how old it is."""
        since_us, shelf = self.since_us(stream), self.shelves.get(stream)
        if since_us is None:
            return Ordinals(), False
        if shelf is not None and self.node.now_us > shelf.coming_us + COMING_US:
            shelf.coming = Ordinals()
        lacking = claimed if shelf is None else claimed.without(shelf.held).without(shelf.done).without(shelf.coming)
        if shelf is not None and self.wishes.wheres(stream.topic):
            lacking.remove(1, shelf.examined)
        if shelf is not None and shelf.unkept:
            lacking = lacking.with_all(claimed.within(shelf.unkept).without(shelf.coming))
        if stream.incarnation > since_us:
            return lacking, False
        older, newer = (0, None) if shelf is None else (shelf.older, shelf.newer)
        top = lacking.top if newer is None else newer - 1
        unsure = lacking.between(older + 1, top)
        if unsure.count > rules.SEARCHED:
            return unsure, True
        return lacking.between(older + 1, lacking.top), False

    def missing(self, shelf: Shelf) -> Ordinals:
        """What is known to exist, wanted, and not here."""
        since_us = self.since_us(shelf.stream)
        if since_us is None:
            return Ordinals()
        first = 1 if shelf.stream.incarnation > since_us else shelf.newer
        if first is None:
            return Ordinals()
        last = shelf.held.top
        if self.wishes.wheres(shelf.stream.topic):  # what lies between what came by itself did not match
            first, last = max(first, shelf.examined + 1), 0 if shelf.former is None else shelf.live or 0
        known = Ordinals([(first, last)]).with_all(shelf.unkept)
        return known.without(shelf.has()).without(shelf.lost).without(shelf.coming)


def held(stream: Stream, ordinals: Ordinals) -> StreamHeld:
    """As it is told."""
    return StreamHeld(stream, tuple(end for stretch in ordinals.rough(STRETCHES_MAX) for end in stretch))


def claimed(told: StreamHeld) -> Ordinals:
    """As it is heard."""
    return Ordinals(zip(told.ends[::2], told.ends[1::2]))
