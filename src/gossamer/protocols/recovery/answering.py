"""How a node answers those who miss something, and hears of what others have.

Where links make cycles nobody speaks for others.
"""

from gossamer.core.ids import Peer
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.protocols.recovery.asking import Asking
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import Ask, Digest, Lost
from gossamer.protocols.recovery.passing import Passing
from gossamer.protocols.recovery.resending import Resending

DIGESTS_PER_S = 50
"Digests of one peer that are heard where answers are limited: it says 10 a second, and one push."


class Answering:
    """Hears the digests of others: of what they have, and of what they miss."""

    def __init__(
        self,
        node: Stack,
        ground: Ground,
        asking: Asking,
        holding: Holding,
        passing: Passing,
        resending: Resending,
        limited: bool,
    ) -> None:
        self.node, self.ground, self.asking = node, ground, asking
        self.holding, self.passing, self.resending = holding, passing, resending
        self.digests = Buckets(DIGESTS_PER_S, 2 * DIGESTS_PER_S) if limited else None

    def on_digest(self, peer: Peer, digest: Digest) -> None:
        if not self.heeds(peer, digest.initiator):
            return
        self.asking.heard(digest)
        self.passing.onward(digest, peer, must=False)

    def on_lost(self, peer: Peer, lost: Lost) -> None:
        if not self.heeds(peer, lost.initiator):
            return
        pattern, signature, at = lost.pattern, lost.pattern.signature, self.holding.at
        found = [at(place.source, place.incarnation, signature, place.sequence) for place in lost.wanted]
        held = [(pattern, each) for each in found if each is not None]
        if held:
            self.resending.answer(lost.initiator, peer, held)
        self.passing.onward(lost, peer, must=not self.ground.wants(pattern))

    def on_ask(self, peer: Peer, ask: Ask) -> None:
        if not self.heeds(peer, ask.initiator):
            return
        at = self.holding.at
        found = [at(ask.source, ask.incarnation, each.pattern.signature, each.sequence) for each in ask.wanted]
        held = [(each.pattern, event_id) for each, event_id in zip(ask.wanted, found) if event_id is not None]
        served = self.resending.answer(ask.initiator, peer, held) if held else {}
        left = tuple([each for each, event_id in zip(ask.wanted, found) if event_id not in served])
        if left and self.ground.tree and self.node.me not in (ask.source, *ask.route):  # or it would come back
            self.passing.back(Ask(ask.source, ask.incarnation, left, ask.route, ask.initiator, ask.round))

    def heeds(self, peer: Peer, initiator: Peer) -> bool:
        """Whether what a peer says for `initiator` is heard."""
        if initiator == self.node.me:
            return False
        if not self.ground.tree and initiator != peer:
            self.node.out.note("reject", peer=peer, detail="a digest in the name of another")
            return False
        return self.digests is None or self.digests.take(first_hand(initiator, peer), self.node.now_us)
