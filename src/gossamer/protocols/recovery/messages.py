"""What recovering nodes say to each other. Patterns travel whole, so that grants can be checked by their topic."""

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, EventId, Peer
from gossamer.core.messages import Carrier, Claim, Reader, Said
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic

DIGEST_MAX = 500
"Events named in one message."
ROUTE_MAX = 64
"Nodes on the way back to a publisher."

Ids: TypeAlias = Annotated[tuple[EventId, ...], Meta(max_length=DIGEST_MAX)]


class Place(Struct, frozen=True, array_like=True, gc=False):
    """Which of a publisher's events, counted by a pattern that stands elsewhere in the message."""

    source: Peer
    incarnation: Count
    sequence: Count


class Asked(Struct, frozen=True, array_like=True, gc=False):
    """Which event of a pattern, of a publisher that stands elsewhere in the message."""

    pattern: Pattern
    sequence: Count


class Digest(Said, frozen=True, tag="recovery.digest", gc=False):
    """Push: I have these events of this pattern. `initiator` is whom to ask for them, whoever passes the digest on."""

    pattern: Pattern
    ids: Ids
    initiator: Peer
    round: Count
    ages_us: Annotated[tuple[Count, ...], Meta(max_length=DIGEST_MAX)] = ()
    "How long each has been here: whoever subscribed since then did not ask for it."

    def names(self) -> tuple[Peer, ...]:
        return (self.initiator,)


class Listed(Said, frozen=True, tag="recovery.listed"):
    """I have these events of this topic, and somebody on your side wants them: ask for those you lack."""

    topic: Topic
    ids: Ids
    ages_us: Annotated[tuple[Count, ...], Meta(max_length=DIGEST_MAX)] = ()
    "How long each has been here: whoever subscribed since then did not ask for it."


class Want(Said, frozen=True, tag="recovery.want", gc=False):
    """The answer to a digest or a list: send me these."""

    members_only: ClassVar[bool] = True
    pattern: Pattern
    ids: Ids

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return ((self.pattern.topic, sender),)


class Lost(Said, frozen=True, tag="recovery.lost", gc=False):
    """Subscriber pull: `initiator` misses these events of the pattern."""

    pattern: Pattern
    wanted: Annotated[tuple[Place, ...], Meta(max_length=DIGEST_MAX)]
    initiator: Peer
    round: Count

    def names(self) -> tuple[Peer, ...]:
        return (self.initiator,)

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        """Whoever asks, and not who passes it on, is going to be sent events."""
        return ((self.pattern.topic, self.initiator),)


class Ask(Said, frozen=True, tag="recovery.ask", gc=False):
    """Publisher pull: `initiator` misses these events of one publisher. Walks back along the route: its last node is
    the next to hear it; where none is left, the publisher."""

    source: Peer
    incarnation: Count
    wanted: Annotated[tuple[Asked, ...], Meta(max_length=DIGEST_MAX)]
    route: Annotated[tuple[Peer, ...], Meta(max_length=ROUTE_MAX)]
    initiator: Peer
    round: Count

    def names(self) -> tuple[Peer, ...]:
        return tuple(dict.fromkeys((self.initiator, *(self.route or (self.source,))[-1:])))

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return tuple(dict.fromkeys((each.pattern.topic, self.initiator) for each in self.wanted))


class Again(Carrier, frozen=True, tag="recovery.again", gc=False):
    """An event for whoever missed it. It is not spread further, and says nothing of the route events take."""


class Latest(Said, frozen=True, tag="recovery.latest"):
    """Where a publisher that has nothing new stands: so many events of the pattern, the first of them `age_us` ago."""

    source: Peer
    incarnation: Count
    pattern: Pattern
    sequence: Count
    age_us: Count

    def names(self) -> tuple[Peer, ...]:
        return (self.source,)


Message: TypeAlias = Digest | Listed | Want | Lost | Ask | Again | Latest
