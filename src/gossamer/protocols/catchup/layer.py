"""Who was away catches up: logs are compared, and what one lacks the other brings (003, applied to the log).

Wishes     what our users want, and since when
Shelves    what is in the log, stream by stream, and what is missing
Meeting    compares, with whom and when
Visits     asks for what another has
Serving    answers
Conceding  gives up what nobody has any more
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import CATCH_UP, draw
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US, Deliver, FromLog, Run
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.conceding import Conceding
from gossamer.protocols.catchup.meeting import Meeting
from gossamer.protocols.catchup.messages import Answered, Brings, Compare, Holds, Lacks, Stream
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.serving import Serving
from gossamer.protocols.catchup.shelves import Shelves
from gossamer.protocols.catchup.visiting import Visits
from gossamer.protocols.catchup.wishes import Wishes

CALM_US = 10 * SECOND_US
"After so long without anybody new, what comes by itself is all there is: what lies between is not for our filters."


class Wake(Struct, frozen=True):
    """Timer: look who is there, and go on asking."""


class CatchUp(Layer):
    def __init__(self, node: Stack, partners: Callable[[Topic], Sequence[Peer]], params: Params) -> None:
        super().__init__(node)
        self.params = params
        self.wishes = Wishes(node)
        self.shelves = Shelves(node, self.wishes)
        self.visits = Visits(node, self.shelves, self.wishes, params)
        self.meeting = Meeting(node, self.shelves, self.wishes, self.visits, partners, params)
        self.serving = Serving(node, self.shelves, self.wishes, params)
        self.conceding = Conceding(node, self.shelves, self.wishes, self.visits, self.meeting, params)
        self.awake = False
        self.calm_us = self.begun_us = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Compare: self.meeting.on_compare,
            Holds: self.meeting.on_holds,
            Lacks: self.serving.on_lacks,
            Brings: self.on_brings,
            Answered: self.visits.on_answered,
            Wake: self.on_wake,
        }

    def bounds(self) -> Iterator[Bound]:
        for part in (self.shelves, self.visits, self.meeting, self.serving):
            yield from part.bounds()

    def lives_by(self, topic: Topic | None) -> Sequence[Struct]:
        return [Wake()] if topic is None and self.awake else []

    # -- life ---------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        if not self.awake:
            self.awake, self.begun_us = True, self.node.now_us
            self.out.timer(1 + draw(self.node.key(CATCH_UP, 1), 0) % self.params.beat_us, Wake())

    def leaving(self) -> None:
        self.awake = False

    def on_wake(self, timer: Wake) -> None:
        if self.awake:
            self.out.timer(self.params.beat_us, timer)
            self.visits.look()
            self.meeting.look()
            self.conceding.look()
            if self.node.now_us >= self.calm_us + CALM_US:
                self.calm_us = self.node.now_us
                calm = self.visits.calm() and not self.meeting.due
                if calm and self.node.now_us >= self.meeting.disturbed_us + CALM_US:
                    self.shelves.settle()

    def introduced(self, peer: Peer) -> None:
        self.meeting.forget(peer)

    def peer_down(self, peer: Peer) -> None:
        self.meeting.forget(peer)
        self.visits.peer_down(peer)
        self.serving.peer_down(peer)

    def reads(self, pattern: Pattern, since_us: int) -> None:
        before = self.wishes.since_us(pattern.topic)
        self.wishes.reads(pattern, since_us)
        if before is None or since_us < before:
            self.shelves.wanted_since(pattern.topic, before is not None, since_us < self.begun_us)

    def interest_changed(self, change: Change) -> None:
        self.wishes.interest_changed(change)

    # -- the log ------------------------------------------------------------------------------------------------

    def logged(self, runs: Sequence[Run], former: bool) -> None:
        self.shelves.logged(runs, former)

    def unkept(self, runs: Sequence[Run]) -> None:
        self.shelves.unkept(runs)

    def pruned(self, runs: Sequence[Run]) -> None:
        self.shelves.pruned(runs)

    def from_log(self, found: FromLog) -> None:
        self.serving.from_log(found)

    # -- events -------------------------------------------------------------------------------------------------

    def repeated(self, peer: Peer, events: Sequence[EventId]) -> None:
        self.visits.arrived(peer, events)

    def on_brings(self, peer: Peer, brings: Brings) -> None:
        self._take(peer, brings.carried.event)
        self.visits.arrived(peer, [brings.carried.event.id])

    def _take(self, peer: Peer, event: Event) -> None:
        """Through the same door as any other; but first of all it says how old it is, and whether it is for us. One
        that was asked for to find that out comes again in its turn."""
        stream = Stream(event.topic, event.id.publisher, event.id.incarnation)
        since_us = self.shelves.since_us(stream)
        if since_us is None or not event.ordinal:
            return
        shelf = self.shelves.shelf(stream)
        if stream.incarnation <= since_us and event.published_us < since_us:
            if event.ordinal > shelf.older:
                shelf.older, shelf.word = event.ordinal, None
                self.visits.brought(peer, event)
            return
        first = 1 if rules.wanted_from_one(event, since_us) else event.ordinal
        if shelf.newer is None or first < shelf.newer:
            shelf.newer, shelf.word = first, None
        if self.visits.searches(peer, stream):
            self.visits.brought(peer, event)
        elif not self.node.interest.matches(event):
            shelf.done.add(event.ordinal, event.ordinal)
            self.visits.brought(peer, event)
        elif self._accept(peer, event):
            shelf.coming.add(event.ordinal, event.ordinal)
            shelf.coming_us = self.node.now_us
            self.visits.brought(peer, event)

    def _accept(self, peer: Peer, event: Event) -> bool:
        recover = self.node.recover
        if recover is not None:
            recover.goes_back(True)
        before = len(self.out.effects)
        if self.node.accept(Carried(event, 1), peer) is not None:
            self.out.note("recover", event=event.id, peer=peer, topic=event.topic)
        if recover is not None:
            recover.goes_back(False)
        return any(type(effect) is Deliver for effect in self.out.effects[before:])
