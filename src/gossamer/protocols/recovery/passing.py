"""Where gossip goes: along a tree from node to node, or to a few sampled peers and no further."""

from collections.abc import Callable

from gossamer.core.draws import FORWARD, TAIL, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import Ask, Digest, Latest, Lost
from gossamer.protocols.recovery.params import Params


class Passing:
    """Sends what is about a pattern towards those who want it."""

    def __init__(self, node: Stack, ground: Ground, params: Callable[[Topic], Params]) -> None:
        self.node, self.ground, self.params = node, ground, params

    def begin(self, message: Digest | Lost) -> bool:
        """Sends a digest of our own. Whether there was anybody to send it to."""
        if self.ground.tree:
            chosen = self._neighbours(message, self.node.me, must=True)
        else:
            chosen = self._sampled(message.pattern, self._key(message))
        self.node.out.send(chosen, message)
        return bool(chosen)

    def onward(self, message: Digest | Lost, via: Peer, must: bool) -> None:
        """Passes somebody's digest on."""
        if self.ground.tree:
            self.node.out.send(self._neighbours(message, via, must), message)

    def back(self, ask: Ask) -> None:
        """Sends a request to the next node on its way to the publisher."""
        *rest, following = ask.route or (ask.source,)
        if following != self.node.me:
            asked = Ask(ask.source, ask.incarnation, ask.wanted, tuple(rest), ask.initiator, ask.round)
            self.node.out.send([following], asked)

    def latest(self, message: Latest, via: Peer) -> None:
        """Tells where a publisher stands: everybody on a tree, a few where links make cycles."""
        if self.ground.tree:
            chosen = [peer for peer in self.ground.towards(message.pattern) if peer != via]
        else:
            word = fold(fold(message.source, message.sequence), self.node.now_us)
            chosen = self._sampled(message.pattern, self.node.key(TAIL, word))
            chosen = [peer for peer in chosen if peer not in (via, message.source)]
        self.node.out.send(chosen, message)

    def _neighbours(self, message: Digest | Lost, via: Peer, must: bool) -> list[Peer]:
        """Each eligible neighbour with its own chance; where nobody was drawn and somebody must be told, one."""
        eligible = sorted([peer for peer in self.ground.towards(message.pattern) if peer != via])
        if not eligible:  # at the end of a branch
            return []
        key, forward = self._key(message), self.params(message.pattern.topic).forward
        chosen = [peer for peer in eligible if rules.forwards(key, peer, forward)]
        return chosen if chosen or not must else [eligible[rules.mandatory(key, len(eligible))]]

    def _key(self, message: Digest | Lost) -> int:
        return self.node.key(FORWARD, rules.forward_word(message.initiator, message.round))

    def _sampled(self, pattern: Pattern, key: int) -> list[Peer]:
        known = self.ground.towards(pattern)
        return [known[i] for i in distinct(key, len(known), self.params(pattern.topic).fanout)]
