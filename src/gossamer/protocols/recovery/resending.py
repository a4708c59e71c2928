"""What is sent again: from what is held, straight to whoever asked; and what comes again, through the one door.

Nobody is sent an event of a topic it did not ask about, nor more than its share: a request names a topic its initiator
may read, and takes tokens for each event that goes out.
"""

from collections.abc import Sequence

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Fetch
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import Again, Want


class Resending:
    """Serves from what is held. `limit`: events one peer is sent again per second; 0: any number."""

    def __init__(self, node: Stack, holding: Holding, limit: int) -> None:
        self.node, self.holding = node, holding
        self.answers = Buckets(limit, 2 * limit) if limit else None

    def give(self, peer: Peer, want: Want) -> None:
        """What a peer asks for by id."""
        self.answer(peer, peer, [(want.pattern, event_id) for event_id in want.ids])

    def answer(self, initiator: Peer, peer: Peer, wanted: Sequence[tuple[Pattern, EventId]]) -> dict[EventId, None]:
        """Sends what is held, once each, and asks the store for what it may still have; which events these are."""
        served: dict[EventId, None] = {}
        stored: list[EventId] = []
        for pattern, event_id in wanted:
            carried = self.holding.get(event_id)
            if carried is None:
                known = self.holding.in_store(event_id)
            else:
                known = carried.event.topic, len(carried.event.payload)
            if known is None or event_id in served or not self.node.hierarchy.includes(pattern.topic, known[0]):
                continue
            if not self._may(initiator, peer, known[1]):
                break
            served[event_id] = None
            if carried is None:
                stored.append(event_id)
            else:
                self.node.out.send([initiator], Again(Carried(carried.event, carried.hops + 1)))
        if stored:
            self.node.out.effects.append(Fetch(initiator, tuple(stored)))
        return served

    def _may(self, initiator: Peer, peer: Peer, payload_bytes: int) -> bool:
        if self.answers is None:
            return True
        cost = min(rules.cost(payload_bytes), self.answers.burst)
        return self.answers.take(first_hand(initiator, peer), self.node.now_us, cost)

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        """The store had these."""
        for event in events:
            self.node.out.send([peer], Again(Carried(event, 1)))

    def take(self, peer: Peer, again: Again, since_us: int | None = None) -> bool:
        """What was missing, known to be so since then, came straight from one who had it. Mostly it goes no further:
        others ask for themselves. Whether it was news."""
        carried = Carried(again.carried.event, again.carried.hops)
        if self.node.accept(carried, peer) is None:
            return False
        event, waited = carried.event, None if since_us is None else str(self.node.now_us - since_us)
        self.node.out.note("recover", event=event.id, peer=peer, topic=event.topic, detail=waited)
        self.node.tell(lambda layer: layer.recovered(carried))
        return True
