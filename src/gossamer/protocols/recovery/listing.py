"""Digests of ids, for events that nobody could see a gap of: who holds some tells others which, of what they want (004,
5.4.1).

It takes no counts. A spread knows what its peers want, or whom they lead to; so each is told of the events that are for
its side, while these are young, and asks for those it lacks. What is only carried for others is held and asked for too:
behind it nobody else may have it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from gossamer.core.draws import EXCHANGE
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Bound
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Matching
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.parts.bucket import Buckets
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import DIGEST_MAX, Listed, Want
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.pulse import Pulse
from gossamer.protocols.recovery.reading import Reading

LISTS_PER_S = 50
"Lists of one peer that are heard where answers are limited: each is of one topic."


class List(Struct, frozen=True):
    """Timer: tell some others what is held."""

    due_us: int


class Listing:
    """One node's. How often, to how many and for how long: as the root topic says."""

    def __init__(
        self,
        node: Stack,
        ground: Matching,
        holding: Holding,
        params: Callable[[Topic], Params],
        reading: Reading,
    ) -> None:
        self.node, self.ground, self.holding, self.params, self.reading = node, ground, holding, params, reading
        own = params(ROOT)
        self.pulse = Pulse(node, List, own.interval_us)
        self.lists = Buckets(LISTS_PER_S, 2 * LISTS_PER_S) if own.answers_per_s else None
        self.young: dict[EventId, int] = {}
        "Events that are told of, and until when; those told longest ago first."
        self.turn = 0
        "How many of them are to be told of before this was in vain."
        self.rounds = 0

    def bounds(self) -> Iterator[Bound]:
        yield "events told of by id", len(self.young), self.params(ROOT).cache

    def add(self, carried: Carried) -> None:
        """Events that are held: for a while others are told of them."""
        params = self.params(ROOT)
        for event in carried.events:
            self.young[event.id] = self.node.now_us + params.expiry_us
            if len(self.young) > params.cache:
                del self.young[next(iter(self.young))]
        self.hurry()

    def hurry(self) -> None:
        """There is news, or somebody wanted some."""
        if self.young:
            self.turn = len(self.young)
            self.pulse.pace(self.params(ROOT).interval_us)
            self.pulse.hurry()

    def on_list(self, timer: List) -> None:
        if not self.pulse.beats(timer.due_us):
            return
        now_us, params = self.node.now_us, self.params(ROOT)
        self.young = {event_id: until_us for event_id, until_us in self.young.items() if until_us > now_us}
        if not self.young:
            return
        self.rounds += 1
        peers, everything = self.ground.picked(params.fanout, self.node.key(EXCHANGE, self.rounds))
        held = self.next(everything)
        for peer, wanting in peers:
            self.tell(peer, [event for event in held if wanting.matches(event)])
        if self.turn <= 0:
            self.pulse.slow_down()
            self.turn = len(self.young)
        self.pulse.wait()

    def next(self, everything: bool) -> list[Event]:
        """As many as a message may name, those told longest ago first."""
        named = [*islice(self.young, DIGEST_MAX)]
        for event_id in named:
            self.young[event_id] = self.young.pop(event_id)
        self.turn -= len(named)
        found, me = [self.holding.get(event_id) for event_id in named], self.node.me
        return [it.event for it in found if it is not None and (everything or it.event.id.publisher == me)]

    def tell(self, peer: Peer, events: Sequence[Event]) -> None:
        by_topic: dict[Topic, list[EventId]] = {}
        for event in events:
            if event.id.publisher != peer:
                by_topic.setdefault(event.topic, []).append(event.id)
        for topic, ids in by_topic.items():
            self.node.out.send([peer], Listed(topic, tuple(ids), tuple(map(self.holding.age_us, ids))))

    def on_listed(self, peer: Peer, listed: Listed) -> None:
        """Asks for what is new here. Who told of it knows that somebody on this side wants it, and not whether we do:
        it may be for others behind us."""
        if self.lists is not None and not self.lists.take(peer, self.node.now_us):
            return
        since_us = 0 if self.ground.carries(listed.topic, peer) else self._read_since_us(listed.topic)
        if since_us is None:
            return
        missing = self.reading.missing(listed.ids, listed.ages_us, since_us)
        if missing:
            self.node.out.send([peer], Want(Pattern(listed.topic), missing))

    def _read_since_us(self, topic: Topic) -> int | None:
        return None if self.params(topic).method == "none" else self.reading.since_us(topic)
