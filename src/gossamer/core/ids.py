"""Who and what: peers and events are named by numbers, so that draws can be keyed by them."""

from hashlib import blake2b
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.draws import fold

Peer: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"Another node: a number that also fits a signed column of 64 bits."
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"Bounded where it comes in, for the same reason."
ORDINAL_MAX = 2**48 - 1
"Events that may be counted in one stream: so many that none gets there, so few that sums of them fit such a column."
Ordinal: TypeAlias = Annotated[int, Meta(ge=0, le=ORDINAL_MAX)]


def peer_of(name: str) -> Peer:
    """The number of a node by its name: keys may change, the name and so the number stay."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1


class EventId(Struct, frozen=True, array_like=True, order=True, gc=False):
    """An event's name: unique as long as a publisher never repeats a sequence within one incarnation."""

    publisher: Peer
    incarnation: Count
    sequence: Count

    def word(self) -> int:
        """64 bits that stand for this id in draws."""
        word: int = fold(fold(self.publisher, self.incarnation), self.sequence)
        return word
