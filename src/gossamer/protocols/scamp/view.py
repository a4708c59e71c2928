"""One community as a node knows it: whom it holds, who holds it, and how far its own subscription has come."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.parts.liveness import DOUBTFUL, Unanswered
from gossamer.parts.owners import crowd, is_surplus, surplus
from gossamer.protocols.scamp.params import Params

Phase: TypeAlias = Literal["asking", "joining", "settled"]
"asking: the search looks for a contact · joining: one was told · settled: one accepted."


class ViewEntry(Struct):
    """A view entry."""

    number: int
    "The subscription it came with; 0: it came without one."
    until_us: int
    "When its lease ends."


class View:
    """Plain state; the layers decide."""

    def __init__(self, life: int, now_us: int, params: Params) -> None:
        self.life = life
        self.held: dict[Peer, ViewEntry] = {}
        self.unanswered = Unanswered()
        self.holders: dict[Peer, int] = {}  # the in-view: how many of our beats ago each was last heard
        self.beaten_us = now_us
        # our own subscription
        self.phase: Phase = "asking"
        self.generation = 0
        self.number = 0
        self.tries = 0
        self.named: dict[Peer, None] = {}  # contacts the search named for this attempt
        self.settled_us = now_us
        self.patience_us = params.patience_us
        self.lease_us = params.first_lease_us
        self.ready = False

    def known(self) -> list[Peer]:
        """Every member known: those held, then those that hold us."""
        return [*self.held, *(peer for peer in self.holders if peer not in self.held)]

    def sure(self) -> list[Peer]:
        """Those of them that gave a sign of life lately: whom this node may name to others."""
        return [
            *self.unanswered.sure(self.held),
            *(peer for peer, missed in self.holders.items() if missed < DOUBTFUL and peer not in self.held),
        ]

    def others(self, besides: Peer) -> list[Peer]:
        return [peer for peer in self.held if peer != besides]

    def take(self, peer: Peer, held: ViewEntry, most: int, owners: Mapping[Peer, int]) -> bool:
        """Puts a peer into the view, or renews its stay. False: there is no place, or too many are of its owner."""
        same = [peer] if peer in self.held else crowd(peer, self.held, owners)
        if same:
            if is_surplus(same[0], self.held, owners):
                return False  # leases of this owner may run out, not on
            if same[0] != peer:
                self.let_go(same[0])
        elif len(self.held) >= most:
            out = surplus(peer, self.held, owners)
            if out is None:
                return False
            self.let_go(out)
        self.held[peer] = held
        return True

    def let_go(self, peer: Peer) -> None:
        self.held.pop(peer, None)
        self.unanswered.heard(peer)

    def holds_us(self, peer: Peer, most: int, owners: Mapping[Peer, int]) -> None:
        """Notes a holder; when there are too many, the one silent for longest is forgotten."""
        same = [peer] if peer in self.holders else crowd(peer, self.holders, owners)
        if same:
            if is_surplus(same[0], self.holders, owners):
                return
            del self.holders[same[0]]
        self.holders[peer] = 0
        if len(self.holders) > most:
            out = surplus(peer, self.holders, owners)
            del self.holders[next(iter(self.holders)) if out is None else out]

    def drop(self, peer: Peer) -> None:
        self.let_go(peer)
        self.holders.pop(peer, None)

    def expire(self, now_us: int) -> None:
        """Drops what outlived its lease."""
        for peer in [peer for peer, held in self.held.items() if held.until_us <= now_us]:
            self.let_go(peer)

    def give_up(self, asks: int) -> list[Peer]:
        """Drops whoever was asked so many times in vain. Says whom."""
        lost = self.unanswered.lost(asks)
        for peer in lost:
            self.let_go(peer)
        return lost

    def forget_holders(self, beats: int) -> list[Peer]:
        """Forgets holders that let more than so many of our beats go by without one of their own. Says whom."""
        self.holders = {peer: missed + 1 for peer, missed in self.holders.items()}
        quiet = [peer for peer, missed in self.holders.items() if missed > beats]
        for peer in quiet:
            del self.holders[peer]
        return quiet
