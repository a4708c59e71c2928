"""One community as a node knows it: whom it holds, who holds it, and how far its own subscription has come."""

from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.protocols.scamp.params import Params

Phase: TypeAlias = Literal["asking", "joining", "settled"]
"asking: the search looks for a contact · joining: one was told · settled: one accepted."


class Held(Struct):
    """A view entry."""

    number: int
    "The subscription it came with; 0: it came without one."
    until_us: int
    "When its lease ends."
    heard_us: int
    "The last sign of life."


class View:
    """Plain state; the layers decide."""

    def __init__(self, life: int, now_us: int, params: Params) -> None:
        self.life = life
        self.held: dict[Peer, Held] = {}
        self.holders: dict[Peer, int] = {}  # the in-view: when each was last heard
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

    def others(self, besides: Peer) -> list[Peer]:
        return [peer for peer in self.held if peer != besides]

    def holds_us(self, peer: Peer, now_us: int, most: int) -> None:
        """Notes a holder; when there are too many, the one silent for longest is forgotten."""
        self.holders.pop(peer, None)
        self.holders[peer] = now_us
        if len(self.holders) > most:
            del self.holders[next(iter(self.holders))]

    def heard(self, peer: Peer, now_us: int) -> None:
        if held := self.held.get(peer):
            held.heard_us = now_us

    def drop(self, peer: Peer) -> None:
        self.held.pop(peer, None)
        self.holders.pop(peer, None)

    def expire(self, now_us: int, silence_us: int) -> None:
        """Drops what outlived its lease, and the silent."""
        since = now_us - silence_us
        self.held = {p: held for p, held in self.held.items() if held.until_us > now_us and held.heard_us >= since}
        self.holders = {peer: heard_us for peer, heard_us in self.holders.items() if heard_us >= since}
