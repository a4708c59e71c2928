"""What nodes and clients say to each other beside the protocols: hand-over, revocation, reading and publishing."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import GossamerError, Misuse, SpecError, TransportDown
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Where
from gossamer.core.topics import Topic
from gossamer.wire.sealed import Attributes

Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
NUMBERS = 2**31
Number: TypeAlias = Annotated[int, Meta(ge=0, lt=NUMBERS)]
"Tells a client's requests apart."
TEXT_MAX = 1000
Text: TypeAlias = Annotated[str, Meta(max_length=TEXT_MAX)]
KEY_MAX = 256
NAME_MAX = 128
Kind: TypeAlias = Annotated[str, Meta(max_length=32)]
"Whose fault a problem is; one that is not known here counts as the caller's."
KINDS: dict[str, type[GossamerError]] = {"misuse": Misuse, "file": SpecError, "down": TransportDown}


class Acked(Struct, frozen=True, tag="live.acked"):
    """These events of yours are here, as (incarnation, first sequence, last sequence)."""

    ranges: Annotated[tuple[tuple[Count, Count, Count], ...], Meta(max_length=10_000)]


class Revoked(Struct, frozen=True, tag="live.revoked"):
    """The authority's list of keys that are no longer good, newer than yours."""

    data: bytes


class Bye(Struct, frozen=True, tag="live.bye"):
    """This link ends in good order: no need to call again."""

    why: Text = ""


class Offer(Struct, frozen=True, tag="client.offer"):
    """Publish this for me."""

    number: Number
    topic: Topic
    payload: bytes
    attributes: Attributes = {}
    key: Annotated[str, Meta(max_length=KEY_MAX)] | None = None


class Answer(Struct, frozen=True, tag="client.answer"):
    """It is spooled under this id; or it is not, and why."""

    number: Number
    id: EventId | None
    problem: Text = ""
    kind: Kind = "misuse"


class Read(Struct, frozen=True, tag="client.read"):
    """Send me the events of this topic as they come."""

    number: Number
    topic: Topic
    name: Annotated[str, Meta(max_length=NAME_MAX)] = ""
    "A named subscription goes on where it was acknowledged."
    from_start: bool = False
    "Also what the spool still has of earlier ones."
    ordered: bool = False
    where: Where = ""
    "Only those whose attributes match this filter."
    recover: bool = True
    "Whether events that were lost on the way are looked for."


class Item(Struct, frozen=True, array_like=True):
    """One event for a reader, or a number of lost ones."""

    place: Count
    sealed: bytes
    hops: Count = 0
    redelivered: bool = False
    lost: Count = 0
    topic: Annotated[str, Meta(max_length=255)] = ""
    "Where the lost ones are missing, if they may still be found."
    publisher: Peer = 0


class Items(Struct, frozen=True, tag="client.items"):
    """For one reader, in its order; or why there will be none."""

    number: Number
    items: Annotated[tuple[Item, ...], Meta(max_length=10_000)]
    problem: Text = ""
    kind: Kind = "misuse"


class Taken(Struct, frozen=True, tag="client.taken"):
    """The client has read so many more items, and acknowledges these places."""

    number: Number
    items: Number
    acked: Annotated[tuple[Count, ...], Meta(max_length=10_000)] = ()


class Enough(Struct, frozen=True, tag="client.enough"):
    """This reader is closed."""

    number: Number


NODE_CONTROL: tuple[type[Struct], ...] = (Acked, Revoked, Bye)
CLIENT_CONTROL: tuple[type[Struct], ...] = (Offer, Answer, Read, Items, Taken, Enough, Revoked, Bye)


# What went wrong


def told(wrong: GossamerError) -> tuple[str, str]:
    """An error as it travels to a client: its sentence, and its kind."""
    kinds = [kind for kind, error in KINDS.items() if isinstance(wrong, error)]
    return str(wrong)[:TEXT_MAX], kinds[0] if kinds else "misuse"


def heard(problem: str, kind: str) -> GossamerError:
    """The same error, at the client."""
    return KINDS.get(kind, Misuse)(problem)


class Request(Struct):
    """What can be known of a client's message that cannot be read."""

    type: str
    number: Number


_requests = msgspec.msgpack.Decoder(Request)


def refusal_of(data: bytes, why: str) -> Answer | Items | None:
    """What to tell a client that sent this and may be waiting; None: it does not say what for."""
    try:
        request = _requests.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    problem = f"the node cannot read this: {why}"[:TEXT_MAX]
    if request.type == Offer.__struct_config__.tag:
        return Answer(request.number, None, problem)
    return Items(request.number, (), problem) if request.type == Read.__struct_config__.tag else None
