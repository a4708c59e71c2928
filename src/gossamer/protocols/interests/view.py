"""The nodes this one knows, with what they want: bounded, never this node itself, the nearest on the ring always in.

Plain state; the layer decides.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from gossamer.core.draws import distinct
from gossamer.core.ids import Peer
from gossamer.parts.liveness import Unanswered
from gossamer.parts.owners import crowd, surplus
from gossamer.parts.wants import NOTHING, Wants
from gossamer.protocols.interests.messages import Entry, Mark
from gossamer.protocols.interests.ring import Ring

REMEMBERED = 256
"Nodes given up that are remembered, so that old news does not bring them back; and nodes to begin with."
WORDS_MAX = 1 << 20
"Words in what all nodes of a view want together; those that want most are forgotten first."


class KnownNode(Struct):
    """What is known of a node."""

    entry: Entry
    heard_us: int
    "When the node itself last gave a sign of life, to anybody, as far as this node was told."


class KnownInterests:
    """One node's."""

    def __init__(self, me: Peer, most: int, leaves: int) -> None:
        self.me, self.most, self.leaves = me, most, leaves
        self.known: dict[Peer, KnownNode] = {}
        self.wants: dict[Peer, Wants] = {}
        self.words = 0
        "In these."
        self.shown: Mapping[Peer, Wants] = MappingProxyType(self.wants)
        self.ring = Ring()
        self.lost: dict[Peer, int] = {}
        "Nodes given up, and when."
        self.unanswered = Unanswered()
        self.changes = 0
        self._around: list[Peer] | None = None

    def around(self) -> list[Peer]:
        """The leaves: nearest on the ring, on both sides."""
        if self._around is None:
            self._around = self.ring.around(self.me, self.leaves)
        return self._around

    def is_news(self, mark: Mark, now_us: int) -> bool:
        """Whether an entry is later than what is known of its node, and the node was heard of since it was given up."""
        known = self.known.get(mark.peer)
        if known is not None:
            return mark.stamp > known.entry.mark.stamp
        lost_us = self.lost.get(mark.peer)
        return lost_us is None or now_us - mark.age_ms * 1000 > lost_us

    def heard(self, peer: Peer, at_us: int) -> None:
        """The node gave a sign of life then."""
        known = self.known.get(peer)
        if known is not None:
            known.heard_us = max(known.heard_us, at_us)

    def stalest(self) -> Peer | None:
        """Whoever was not heard of for longest, those aside that owe an answer already."""
        waited = self.unanswered.asks
        among = [peer for peer in self.known if peer not in waited]
        return min(among, key=lambda peer: self.known[peer].heard_us, default=None)

    def welcomes(self, peer: Peer) -> bool:
        """Whether there is room for a stranger, or it stands so near that there must be."""
        return len(self.known) < self.most or self.ring.is_near(peer, self.me, self.leaves)

    def take(self, entry: Entry, wants: Wants, heard_us: int, owners: Mapping[Peer, int], key: int) -> None:
        """Takes in a node, or what it wants now. If there is no room, another one is forgotten: of the owner that has
        too many, if one has; otherwise any that is no leaf."""
        peer, known = entry.mark.peer, self.known.get(entry.mark.peer)
        if known is not None:
            heard_us = max(heard_us, known.heard_us)
        else:
            if len(self.known) >= self.most:
                self.make_room(peer, owners, key)
            self.ring.add(peer)
            self._around = None
            self.lost.pop(peer, None)
        self.known[peer] = KnownNode(entry, heard_us)
        before = self.wants.get(peer, NOTHING)
        if peer not in self.wants or before != wants:
            self.words += wants.weight - before.weight
            self.wants[peer] = wants
            self.changes += 1
            self.lighten()

    def lighten(self) -> None:
        """Forgets whoever wants most, though no leaf, until all together is not too much."""
        while self.words > WORDS_MAX:
            leaves = self.around()
            others = [peer for peer in self.known if peer not in leaves]
            if not others:
                return
            self.drop(max(others, key=lambda peer: (self.wants[peer].weight, peer)))

    def make_room(self, newcomer: Peer, owners: Mapping[Peer, int], key: int) -> None:
        leaves = self.around()
        others = [peer for peer in self.known if peer not in leaves]
        same = [peer for peer in crowd(newcomer, self.known, owners) if peer not in leaves]
        crowded = surplus(newcomer, others, owners)
        among = same or ([crowded] if crowded is not None else others)
        self.drop(among[distinct(key, len(among), 1)[0]])

    def drop(self, peer: Peer) -> None:
        if self.known.pop(peer, None) is not None:
            self.words -= self.wants.pop(peer).weight
            self.ring.remove(peer)
            self._around = None
            self.unanswered.heard(peer)
            self.changes += 1

    def lose(self, peer: Peer, now_us: int) -> None:
        """The node is gone: what others heard of it before does not bring it back."""
        self.drop(peer)
        self.lost.pop(peer, None)
        self.lost[peer] = now_us
        if len(self.lost) > REMEMBERED:
            del self.lost[next(iter(self.lost))]

    def expire(self, before_us: int) -> None:
        """Forgets those of whom nobody heard since then."""
        for peer in [peer for peer, known in self.known.items() if known.heard_us < before_us]:
            self.drop(peer)

    def give_up(self, asks: int, now_us: int) -> None:
        """Gives up whoever was asked so many times in vain."""
        for peer in self.unanswered.lost(asks):
            self.lose(peer, now_us)
            self.unanswered.heard(peer)
