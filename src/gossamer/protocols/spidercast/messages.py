"""What SpiderCast nodes say to each other. Everything a peer can make long is bounded where it comes in.

What a message says of wants and of links it says of its sender; what it says of others (`Redirect`, `Found`) is only a
hint whom to ask.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, Peer
from gossamer.core.messages import Claim, Reader, Said
from gossamer.parts.wants import WORD_BYTES, Packed, PackedPart

HOPS_MAX = 64
"Steps of a request towards a home: on the way each is nearer than the one before."
FOUND_MAX = 9
"Nodes named in one answer: a full notice board, and the home itself."

Number: TypeAlias = Annotated[int, Meta(ge=0, le=1)]
"Which task: 0 greedy, 1 random."
Size: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 20)]
"A degree, or a target."
Word: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 8 * WORD_BYTES) - 1)]
"What stands for a topic; 0 for the root."


class Connect(Said, frozen=True, tag="spidercast.connect"):
    """Will you be my neighbour?"""

    task: Number
    degree: Size
    target: Size
    wants: Packed

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return tuple((topic, sender) for topic in reader.wanted(self.wants))


class ConnectOk(Said, frozen=True, tag="spidercast.connect_ok"):
    """I am."""

    task: Number
    degree: Size
    target: Size
    wants: Packed

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return tuple((topic, sender) for topic in reader.wanted(self.wants))


class Redirect(Said, frozen=True, tag="spidercast.redirect"):
    """I have too many; ask this one instead, if one is named."""

    task: Number
    peer: Peer | None = None
    wants: PackedPart = b""

    def names(self) -> tuple[Peer, ...]:
        return () if self.peer is None else (self.peer,)


class Disconnect(Said, frozen=True, tag="spidercast.disconnect"):
    """I could do without this link; could you?"""

    task: Number


class DisconnectOk(Said, frozen=True, tag="spidercast.disconnect_ok"):
    """I could, and we are no neighbours any more."""

    task: Number


class LeaveLink(Said, frozen=True, tag="spidercast.leave"):
    """We are no neighbours."""

    task: Number


class Standing(Struct, frozen=True, array_like=True, gc=False):
    """How one task of the sender does."""

    degree: Size
    target: Size
    linked: bool
    "Whether the receiver is a neighbour."


class Beat(Said, frozen=True, tag="spidercast.beat"):
    """I am there."""

    greedy: Standing
    random: Standing
    known: Count
    "Stands for what I think you want (`Wants.word`): if it is something else, tell me."
    wants: Packed | None = None
    "What I want, if you may not know it."

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return () if self.wants is None else tuple((topic, sender) for topic in reader.wanted(self.wants))


class Seek(Said, frozen=True, tag="spidercast.seek"):
    """`seeker` looks for others that want a topic: to its home, step by step."""

    task: Number
    topic: Word
    seeker: Peer
    wants: PackedPart
    hops: Annotated[int, Meta(ge=0, le=HOPS_MAX)] = 0

    def names(self) -> tuple[Peer, ...]:
        return (self.seeker,)


class Other(Struct, frozen=True, array_like=True):
    """A node, and what it wants."""

    peer: Peer
    wants: PackedPart


class Found(Said, frozen=True, tag="spidercast.found"):
    """These want it, or did when they looked for others."""

    task: Number
    topic: Word
    others: Annotated[tuple[Other, ...], Meta(max_length=FOUND_MAX)]

    def names(self) -> tuple[Peer, ...]:
        return tuple(other.peer for other in self.others)


Message: TypeAlias = Connect | ConnectOk | Redirect | Disconnect | DisconnectOk | LeaveLink | Beat | Seek | Found
