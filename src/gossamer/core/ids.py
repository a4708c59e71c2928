"""Who and what: peers and events are named by numbers, so that draws can be keyed by them."""

from typing import TypeAlias

from msgspec import Struct

from gossamer.core.draws import fold

Peer: TypeAlias = int
"Another node: a 64-bit number."


class EventId(Struct, frozen=True, array_like=True, order=True):
    """An event's name: unique as long as a publisher never repeats a sequence within one incarnation."""

    publisher: Peer
    incarnation: int
    sequence: int

    def word(self) -> int:
        """64 bits that stand for this id in draws."""
        word: int = fold(fold(self.publisher, self.incarnation), self.sequence)
        return word
