"""What recovering nodes say to each other. Patterns travel whole, so that grants can be checked by their topic."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.events import Carried
from gossamer.core.ids import Count, EventId, Peer
from gossamer.core.patterns import Pattern

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


class Digest(Struct, frozen=True, tag="recovery.digest"):
    """Push: I have these events of this pattern. `initiator` is whom to ask for them, whoever passes the digest on."""

    pattern: Pattern
    ids: Ids
    initiator: Peer
    round: Count
    ages_us: Annotated[tuple[Count, ...], Meta(max_length=DIGEST_MAX)] = ()
    "How long each has been here: whoever subscribed since then did not ask for it."


class Want(Struct, frozen=True, tag="recovery.want"):
    """The answer to a digest: send me these."""

    pattern: Pattern
    ids: Ids


class Lost(Struct, frozen=True, tag="recovery.lost"):
    """Subscriber pull: `initiator` misses these events of the pattern."""

    pattern: Pattern
    wanted: Annotated[tuple[Place, ...], Meta(max_length=DIGEST_MAX)]
    initiator: Peer
    round: Count


class Ask(Struct, frozen=True, tag="recovery.ask"):
    """Publisher pull: `initiator` misses these events of one publisher. Walks back along the route: its last node is
    the next to hear it; where none is left, the publisher."""

    source: Peer
    incarnation: Count
    wanted: Annotated[tuple[Asked, ...], Meta(max_length=DIGEST_MAX)]
    route: Annotated[tuple[Peer, ...], Meta(max_length=ROUTE_MAX)]
    initiator: Peer
    round: Count


class Again(Struct, frozen=True, tag="recovery.again", gc=False):
    """An event for whoever missed it. It is not spread further, and says nothing of the route events take."""

    carried: Carried


class Latest(Struct, frozen=True, tag="recovery.latest"):
    """Where a publisher that has nothing new stands: so many events of the pattern, the first of them `age_us` ago."""

    source: Peer
    incarnation: Count
    pattern: Pattern
    sequence: Count
    age_us: Count


Message: TypeAlias = Digest | Want | Lost | Ask | Again | Latest

MEMBERS_ONLY: tuple[type[Struct], ...] = (Want,)
"""Whoever asks for events reads them: the sender of a `Want`, the initiator of `Lost` and `Ask` (these are passed on by
nodes that need not). Digests and `Latest` may come from a publisher that does not read its topic."""
