"""Asking others for what they have and this node lacks: a visit is what one of them said it holds, until all of it that
is wanted was asked for.

A claim is not believed, it is asked for. Who brings nothing of what it claims is left alone for a while; nothing else
comes of a lie.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Bound
from gossamer.core.machine import Run
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.messages import RUNS_MAX, Answered, Lacks, Stream
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.shelves import HOLES_MAX, Said, Shelf, Shelves
from gossamer.protocols.catchup.wishes import Wishes, askable

VISITS_MAX = 32
"Others that are asked at the same time."
VAIN_MAX = 3
"Questions one after the other that bring nothing: then nothing more is asked."
DOUBTED_MAX = 1000
SAID_MAX = 16
"Others of whom it is known that they lack an event too."


class Visit:
    """To one peer, about one topic."""

    __slots__ = ("arrived", "asked", "came", "claims", "due_us", "number", "one", "over", "owed", "promised", "vain")

    def __init__(
        self, claims: dict[Stream, Ordinals], due_us: int, over: Callable[[], None], promised: bool = True
    ) -> None:
        self.claims, self.promised = claims, promised
        "What the other said it has; or what it is asked for although it did not say so."
        self.due_us = due_us
        "When to go on: patience is over, or the answer did not come."
        self.over = over
        "Called when there is nothing more to ask for."
        self.number = 0
        "Of the question that waits for its answer; 0: none does."
        self.asked: dict[Stream, Ordinals] = {}
        self.one = False
        self.came = self.vain = 0
        "Events that were of use, and questions in vain one after the other."
        self.arrived = self.owed = 0
        "Events that came since it was asked; and those that were sent before its answer, and are still on their way."


class Visits:
    def __init__(self, node: Stack, shelves: Shelves, wishes: Wishes, params: Params) -> None:
        self.node, self.shelves, self.wishes, self.params = node, shelves, wishes, params
        self.under_way: dict[rules.Who, Visit] = {}
        self.doubted: dict[Peer, int] = {}
        "Who promised what it did not bring, and until when it is left alone."
        self.number = 0

    def bounds(self) -> Iterator[Bound]:
        yield "visits", len(self.under_way), VISITS_MAX
        yield "peers in doubt", len(self.doubted), DOUBTED_MAX

    def doubts(self, peer: Peer) -> bool:
        return self.doubted.get(peer, 0) > self.node.now_us

    def calm(self) -> bool:
        """Whether nobody is asked for anything, and nobody is left alone who may have it."""
        return not self.under_way and not any(map(self.doubts, self.doubted))

    def full(self) -> bool:
        return len(self.under_way) >= VISITS_MAX

    # -- asking -------------------------------------------------------------------------------------------------

    def begin(
        self, peer: Peer, topic: Topic, claims: dict[Stream, Ordinals], over: Callable[[], None], at_once: bool = False
    ) -> None:
        """Somebody claims to have these. What is on its way comes by itself: that is waited for."""
        wanted = {stream: has for stream, has in claims.items() if self.shelves.lacking(stream, has)[0]}
        if not wanted:
            self.under_way.pop((peer, topic), None)
            self._kept(claims)
            over()
        elif (visit := self.under_way.get((peer, topic))) is not None:  # what is asked stays asked
            asked = {stream: has for stream, has in visit.claims.items() if stream in visit.asked}
            visit.claims = {**asked, **wanted}
            visit.over, visit.promised = over, visit.promised or not at_once
        elif not self.full():
            wait_us = 0 if at_once else self.params.patience_us
            self.under_way[peer, topic] = Visit(wanted, self.node.now_us + wait_us, over, promised=not at_once)
            if at_once:
                self._ask(peer, topic, self.under_way[peer, topic])

    def look(self) -> None:
        """Time has passed."""
        for (peer, topic), visit in [*self.under_way.items()]:
            if visit.due_us <= self.node.now_us:
                if not visit.number:
                    self._go_on(peer, topic, visit)
                elif visit.came:  # it is slow, and at work: what it brings is signed
                    visit.came, visit.due_us = 0, self.node.now_us + self.params.wait_us
                else:
                    self._leave(peer, topic, visit)

    def _leave(self, peer: Peer, topic: Topic, visit: Visit) -> None:
        """It does not answer. What it said it has, it may have all the same."""
        self._doubt(peer)
        del self.under_way[peer, topic]
        for stream, has in visit.claims.items() if visit.promised else ():
            if (shelf := self.shelves.shelves.get(stream)) is not None:
                remember(shelf.promised, peer, self.node.now_us, has)
                shelf.word = None

    def _kept(self, streams: Iterable[Stream]) -> None:
        """Nothing is wanted of these that somebody claims to have: what others promised may be here, too."""
        for stream in streams:
            if (shelf := self.shelves.shelves.get(stream)) is not None and shelf.promised:
                left = {peer: said for peer, said in shelf.promised.items() if self.shelves.lacking(stream, said[1])[0]}
                shelf.promised, shelf.word = left, None

    def promised(self, shelf: Shelf, peers: Collection[Peer]) -> Ordinals:
        """What these say they have of a stream: they are being asked for it, or did not answer yet."""
        asked = [(peer, visit) for (peer, _), visit in self.under_way.items() if visit.promised]
        said = [visit.claims[shelf.stream] for peer, visit in asked if peer in peers and shelf.stream in visit.claims]
        return Ordinals().with_all(*said, *(has for peer, (_, has) in shelf.promised.items() if peer in peers))

    def _ask(self, peer: Peer, topic: Topic, visit: Visit) -> None:
        """The next question, about streams that nobody else is asked about: each comes in order, from one side."""
        busy = {stream for other in self.under_way.values() if other is not visit for stream in other.asked}
        needs = [(each, *self.shelves.lacking(each, has)) for each, has in visit.claims.items()]
        wanted = sorted((need for need in needs if need[1]), key=lambda need: (need[0].incarnation, need[0]))
        free = [need for need in wanted if need[0] not in busy]
        if not free:
            visit.due_us = self.node.now_us + self.params.patience_us
            if not wanted:
                del self.under_way[peer, topic]
                self._kept(visit.claims)
                visit.over()
            return
        visit.one = free[0][2]
        wheres = () if visit.one else self.wishes.wheres(free[0][0].topic)
        alike = [need for need in free if need[2] == visit.one and (visit.one or self._wheres(need[0]) == wheres)]
        if visit.one:
            runs = [run for stream, unsure, _ in alike for run in rules.runs_of(stream, rules.searches(unsure))]
        else:  # of a filter's matches nobody knows how many there are
            events = 1 << 63 if wheres else self.params.ask
            runs = rules.page([(stream, lacking) for stream, lacking, _ in alike], events, RUNS_MAX)
        self._send(peer, topic, visit, runs[:RUNS_MAX], askable(wheres))

    def _wheres(self, stream: Stream) -> tuple[str, ...]:
        return self.wishes.wheres(stream.topic)

    def _send(self, peer: Peer, topic: Topic, visit: Visit, runs: list[Run], wheres: tuple[str, ...]) -> None:
        self.number += 1
        visit.number, visit.asked, visit.came, visit.arrived = self.number, rules.by_stream(runs), 0, 0
        visit.due_us = self.node.now_us + self.params.wait_us
        self.node.out.send([peer], Lacks(topic, self.number, tuple(runs), wheres, visit.one))

    # -- hearing ------------------------------------------------------------------------------------------------

    def brought(self, peer: Peer, event: Event) -> None:
        """An event was of use: it is news, or says how old a stream is."""
        stream = Stream(event.topic, event.id.publisher, event.id.incarnation)
        for (who, _), visit in self.under_way.items():
            if who == peer and stream in visit.asked:
                visit.came += 1

    def searches(self, peer: Peer, stream: Stream) -> bool:
        """Whether somebody is asked only how old a stream is."""
        return any(who == peer and visit.one and stream in visit.asked for (who, _), visit in self.under_way.items())

    def on_answered(self, peer: Peer, answered: Answered) -> None:
        found = [
            each for each in self.under_way.items() if each[0][0] == peer and 0 < each[1].number == answered.number
        ]
        for (_, topic), visit in found:
            left, lacks = rules.by_stream(answered.left), rules.by_stream(answered.lacks)
            for stream, asked in visit.asked.items():
                self._heard(peer, stream, asked, left.get(stream), lacks.get(stream), visit)
            visit.number, visit.due_us = 0, self.node.now_us + self.params.wait_us
            visit.owed = max(0, answered.brought - visit.arrived)
            if not visit.owed:
                self._go_on(peer, topic, visit)

    def arrived(self, peer: Peer, events: Sequence[EventId]) -> None:
        """Events came from there, news or not. What was on its way when the answer came is waited for, or it would be
        asked for once more."""
        for (who, topic), visit in [*self.under_way.items()] if self.under_way else ():
            if who == peer and visit.asked:
                lives = {(stream.publisher, stream.incarnation) for stream in visit.asked}
                count = sum((each.publisher, each.incarnation) in lives for each in events)
                visit.arrived += count
                owed, visit.owed = visit.owed, max(0, visit.owed - count)
                if owed and not visit.owed:
                    self._go_on(who, topic, visit)

    def _go_on(self, peer: Peer, topic: Topic, visit: Visit) -> None:
        """What was asked for came, or did not: the next question, unless several were in vain."""
        if visit.asked:
            filtered = any(self.wishes.wheres(stream.topic) for stream in visit.asked)
            visit.vain = 0 if visit.came or (filtered and not visit.one) else visit.vain + 1
            visit.asked, visit.owed = {}, 0
            if visit.vain >= VAIN_MAX:
                self._doubt(peer)
                del self.under_way[peer, topic]
                return
            if visit.vain:
                visit.due_us = self.node.now_us + self.params.patience_us
                return
        self._ask(peer, topic, visit)

    def _heard(
        self, peer: Peer, stream: Stream, asked: Ordinals, left: Ordinals | None, lacks: Ordinals | None, visit: Visit
    ) -> None:
        """What one of them said of a stream: it need not be asked for the same again."""
        lacking, shelf = asked.within(lacks or Ordinals()), self.shelves.shelves.get(stream)
        looked_at = asked.without(left or Ordinals())
        if visit.one:
            visit.claims[stream] = visit.claims[stream].without(lacking)
            return
        visit.claims[stream] = visit.claims[stream].without(looked_at)
        if shelf is not None:
            remember(shelf.lackers, peer, self.node.now_us, lacking)
            if self.wishes.wheres(stream.topic):
                remember(shelf.vouched, peer, self.node.now_us, looked_at.without(lacking))
                self._believe(shelf)

    def _believe(self, shelf: Shelf) -> None:
        """Several said of the same events that those that match are here; or their publisher did."""
        _, published = shelf.vouched.get(shelf.stream.publisher, (0, Ordinals()))
        said = [ordinals for _, ordinals in shelf.vouched.values()]
        shelf.done.add_all(rules.said_by(said, min(2, self.params.witnesses)).with_all(published))
        shelf.word = None

    def _doubt(self, peer: Peer) -> None:
        self.doubted[peer] = self.node.now_us + self.params.doubt_us
        if len(self.doubted) > DOUBTED_MAX:
            del self.doubted[next(iter(self.doubted))]

    def peer_down(self, peer: Peer) -> None:
        for who in [who for who in self.under_way if who[0] == peer]:
            del self.under_way[who]


def remember(said: dict[Peer, Said], peer: Peer, now_us: int, more: Ordinals) -> None:
    """What one of them said, beside what it said before; those heard longest ago fall out."""
    _, before = said.pop(peer, (0, Ordinals()))
    said[peer] = now_us, Ordinals([*more.with_all(before)][:HOLES_MAX])
    if len(said) > SAID_MAX:
        del said[next(iter(said))]
