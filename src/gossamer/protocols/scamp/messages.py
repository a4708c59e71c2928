"""What SCAMP nodes say to each other. What a message says of its sender it says of `peer`: nobody speaks for others."""

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta

from gossamer.core.ids import Peer
from gossamer.core.messages import Claim, OfMember, Reader, Said
from gossamer.core.topics import Topic

HOPS_MAX = 1 << 10
LEASE_US_MAX = 1 << 53
MARKS_BYTES_MAX = 512

Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Steps: TypeAlias = Annotated[int, Meta(ge=0, le=HOPS_MAX)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 32)]
Lease: TypeAlias = Annotated[int, Meta(ge=0, le=LEASE_US_MAX)]
"Bounded where they come in: whatever a peer sends, arithmetic stays exact and every loop short."


def subscribed(topic: Topic, who: Peer, sender: Peer) -> tuple[Claim, ...]:
    """A subscription is told by its subscriber, then passed on by members."""
    return ((topic, sender),) if who == sender else ((topic, who), (topic, sender))


class Join(Said, frozen=True, tag="scamp.join"):
    """`who` subscribes. Walks on while `walk` steps are left; the node where it ends acts as the contact."""

    members_only: ClassVar[bool] = True
    topic: Topic
    who: Peer
    number: Number
    walk: Steps
    lease_us: Lease
    copies: Count | None = None
    "How many keepers a renewal wants; None: a newcomer, as many as the contact's view and c more."
    degree: Count = 0
    "How many members the last node knows, for the next to weigh the step; 0: the step is not to be weighed."

    def names(self) -> tuple[Peer, ...]:
        return (self.who,)

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return subscribed(self.topic, self.who, sender)


class Accept(OfMember, frozen=True, tag="scamp.accept"):
    """I act as the contact of your subscription of this number."""

    number: Number


class Forward(Said, frozen=True, tag="scamp.forward"):
    """A copy of a subscription, looking for a keeper."""

    members_only: ClassVar[bool] = True
    topic: Topic
    who: Peer
    number: Number
    hops: Steps
    lease_us: Lease

    def names(self) -> tuple[Peer, ...]:
        return (self.who,)

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return subscribed(self.topic, self.who, sender)


class Kept(OfMember, frozen=True, tag="scamp.kept"):
    """You are in my view now."""


class Gone(Said, frozen=True, tag="scamp.gone"):
    """I am not in this community (any more); hold `instead` in my place if one is named."""

    topic: Topic
    instead: Peer | None = None

    def names(self) -> tuple[Peer, ...]:
        return () if self.instead is None else (self.instead,)

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return () if self.instead is None else ((self.topic, self.instead),)


class Beat(OfMember, frozen=True, tag="scamp.beat"):
    """You are in my view; are you there?"""


class Here(OfMember, frozen=True, tag="scamp.here"):
    """I am."""


class Marks(OfMember, frozen=True, tag="scamp.marks"):
    """The count of the community, as far as I know it."""

    epoch: Number
    packed: Annotated[bytes, Meta(max_length=MARKS_BYTES_MAX)]
    last: Count | None
    answer: bool
    "Whether the receiver shall answer with what it knows."


Message: TypeAlias = Join | Accept | Forward | Kept | Gone | Beat | Here | Marks
