"""Where a node stands in a spanning tree: how far it followed the root's beats, on whom it hangs, who hangs on it."""

from typing import TypeAlias

from gossamer.core.ids import Peer

OTHERS_MAX = 512
"Peers whose last offer is remembered, for each tree."

Rank: TypeAlias = tuple[int, int, int]
"(epoch, -root, sequence): the greater one is followed."
NOWHERE: Rank = (0, 0, 0)


class OtherStand:
    """What a peer said last."""

    __slots__ = ("child", "life", "missed", "rank")

    def __init__(self, life: int) -> None:
        self.life = life
        self.rank = NOWHERE
        self.child = False
        "Whether it hangs on us."
        self.missed = 0
        "Our beats since it was last heard."


class Stand:
    """One node's place in one tree. Plain state; the layer decides."""

    def __init__(self, life: int) -> None:
        self.life = life
        self.rank = NOWHERE
        self.rooted = False
        self.parent: Peer | None = None
        self.parent_life = 0
        self.others: dict[Peer, OtherStand] = {}
        self.news = False
        "Whether a beat came since our last tick."
        self.quiet = 0
        "Ticks since one came."
        self.doubt = 0
        "Counts the times the parent was seen to lag, for timers to be stale."
        self.lags = False
        self.shown: tuple[Peer, ...] = ()
        "The links as others were last told of them."

    @property
    def ready(self) -> bool:
        return self.rooted or self.parent is not None

    def links(self) -> tuple[Peer, ...]:
        """The parent, then the children."""
        children = [peer for peer, other in self.others.items() if other.child]
        return tuple(dict.fromkeys([*([] if self.parent is None else [self.parent]), *children]))

    def best(self) -> Peer | None:
        """Whoever is farthest ahead of us, the one heard of for longest among several."""
        ahead = [peer for peer, other in self.others.items() if other.rank > self.rank]
        return max(ahead, key=lambda peer: self.others[peer].rank, default=None)

    def know(self, peer: Peer, life: int) -> OtherStand | None:
        """The peer's entry; None: this is of a former life of it."""
        other = self.others.get(peer)
        if other is not None and other.life > life:
            return None
        if other is None or other.life < life:
            self.drop(peer)
            if len(self.others) >= OTHERS_MAX:
                linked = self.links()
                out = next((each for each in self.others if each not in linked), None)
                if out is None:
                    return None
                del self.others[out]
            other = self.others[peer] = OtherStand(life)
        return other

    def drop(self, peer: Peer) -> None:
        """The peer is gone; if we hung on it, we hang on nobody."""
        self.others.pop(peer, None)
        if self.parent == peer:
            self.parent, self.lags = None, False
