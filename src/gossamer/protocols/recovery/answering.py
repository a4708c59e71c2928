"""How a node answers those who miss something, and asks for what others say they have.

Nobody is sent an event of a topic it did not ask about, nor more than its share: a request names a topic its initiator
may read, and takes tokens for each event that goes out. Where links make cycles nobody speaks for others.
"""

from collections.abc import Callable, Sequence
from itertools import chain, repeat

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Fetch
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Lost, Want
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing

DIGESTS_PER_S = 50
"Digests of one peer that are heard where answers are limited: it says 10 a second, and one push."


class Answering:
    """Serves from what is held."""

    def __init__(
        self,
        node: Stack,
        ground: Ground,
        holding: Holding,
        passing: Passing,
        params: Callable[[Topic], Params],
        asked_since: Callable[[Pattern], int],
        limit: int,
    ) -> None:
        self.node, self.ground, self.holding, self.passing, self.params = node, ground, holding, passing, params
        self.asked_since = asked_since
        self.answers = Buckets(limit, 2 * limit) if limit else None
        self.digests = Buckets(DIGESTS_PER_S, 2 * DIGESTS_PER_S) if limit else None
        self.wanted: list[Callable[[Pattern], None]] = []
        "Who wants to know that a digest was answered."

    def on_digest(self, peer: Peer, digest: Digest) -> None:
        if not self.heeds(peer, digest.initiator):
            return
        recovers = self.params(digest.pattern.topic).method != "none"
        if recovers and self.ground.wants(digest.pattern) and (missing := self._missing(digest)):
            self.node.out.send([digest.initiator], Want(digest.pattern, missing))
        self.passing.onward(digest, peer, must=False)

    def _missing(self, digest: Digest) -> tuple[EventId, ...]:
        """What is new to us of a digest, and no older than our subscription."""
        me, knows = self.node.me, self.node.knows
        oldest_us = self.node.now_us - self.asked_since(digest.pattern)
        return tuple(
            each
            for each, age_us in zip(digest.ids, chain(digest.ages_us, repeat(0)))
            if age_us <= oldest_us and each.publisher != me and not knows(each)
        )

    def on_want(self, peer: Peer, want: Want) -> None:
        for tell in self.wanted:
            tell(want.pattern)
        self.answer(peer, peer, [(want.pattern, event_id) for event_id in want.ids])

    def on_lost(self, peer: Peer, lost: Lost) -> None:
        if not self.heeds(peer, lost.initiator):
            return
        pattern, signature, at = lost.pattern, lost.pattern.signature, self.holding.at
        found = [at(place.source, place.incarnation, signature, place.sequence) for place in lost.wanted]
        self.answer(lost.initiator, peer, [(pattern, each) for each in found if each is not None])
        self.passing.onward(lost, peer, must=not self.ground.wants(pattern))

    def on_ask(self, peer: Peer, ask: Ask) -> None:
        if not self.heeds(peer, ask.initiator):
            return
        at = self.holding.at
        found = [at(ask.source, ask.incarnation, each.pattern.signature, each.sequence) for each in ask.wanted]
        held = [(each.pattern, event_id) for each, event_id in zip(ask.wanted, found) if event_id is not None]
        served = self.answer(ask.initiator, peer, held)
        left = tuple(each for each, event_id in zip(ask.wanted, found) if event_id not in served)
        if left and self.ground.tree and self.node.me not in (ask.source, *ask.route):  # or it would come back
            self.walk(Ask(ask.source, ask.incarnation, left, ask.route, ask.initiator, ask.round))

    def walk(self, ask: Ask) -> None:
        """Sends a request to the next node on its way to the publisher."""
        *rest, following = ask.route or (ask.source,)
        if following != self.node.me:
            self.node.out.send(
                [following], Ask(ask.source, ask.incarnation, ask.wanted, tuple(rest), ask.initiator, ask.round)
            )

    def heeds(self, peer: Peer, initiator: Peer) -> bool:
        """Whether what a peer says for `initiator` is heard."""
        if initiator == self.node.me:
            return False
        if not self.ground.tree and initiator != peer:
            self.node.out.note("reject", peer=peer, detail="a digest in the name of another")
            return False
        return self.digests is None or self.digests.take(first_hand(initiator, peer), self.node.now_us)

    # -- sending again ----------------------------------------------------------------------------------------

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
