"""What nodes and clients say to each other beside the protocols: hand-over, revocation, reading and publishing."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import Full, GossamerError, Misuse, SpecError, TransportDown
from gossamer.core.events import Chance
from gossamer.core.ids import EventId, Peer
from gossamer.core.patterns import Where
from gossamer.core.topics import Topic
from gossamer.core.typed import PARENTS_MAX
from gossamer.live.reading.bookmarks import Bookmark
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.live.spool.subscriptions import SUBSCRIPTIONS_MAX
from gossamer.wire.sealed import Attributes

Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
NUMBERS = 2**31
Number: TypeAlias = Annotated[int, Meta(ge=0, lt=NUMBERS)]
"Tells a client's requests apart."
TEXT_MAX = 1000
Text: TypeAlias = Annotated[str, Meta(max_length=TEXT_MAX)]
KEY_MAX = 256
NAME_MAX = 128
Name: TypeAlias = Annotated[str, Meta(max_length=NAME_MAX)]
TYPES_MAX = 4096
Told: TypeAlias = Annotated[
    dict[Topic, Annotated[tuple[Topic, ...], Meta(max_length=PARENTS_MAX)]], Meta(max_length=TYPES_MAX)
]
"Further super-topics, as the types of a client's program say: a node that does not know them refuses."
PLACES_MAX = 1000
"Items acknowledged in one message."
AHEAD_DURABLE = 32
"Items of a durable subscription on the way to a client that it has not read: others could be handling them."
Kind: TypeAlias = Annotated[str, Meta(max_length=32)]
"Whose fault a problem is; one that is not known here counts as the caller's."
KINDS: dict[str, type[GossamerError]] = {"misuse": Misuse, "file": SpecError, "full": Full, "down": TransportDown}


RANGES_MAX = 10_000
How: TypeAlias = Literal["disk", "memory", "not"]
"Where a member has an event: on its disk; in memory, gone with its process; or not, for nobody there wants it."


class Acked(Struct, frozen=True, tag="live.acked"):
    """These events of yours came here, as (incarnation, first sequence, last sequence), and are kept like this."""

    ranges: Annotated[tuple[tuple[Count, Count, Count], ...], Meta(max_length=RANGES_MAX)]
    kept: How = "disk"


def acked(events: Sequence[EventId], how: How) -> list[Acked]:
    """Events of one publisher as runs. They mostly come one after the other."""
    found: dict[tuple[int, int, int], None] = {}
    incarnation, first, last = events[0].incarnation, events[0].sequence, events[0].sequence - 1
    for each in events:
        if each.sequence != last + 1 or each.incarnation != incarnation:
            found[incarnation, first, last] = None
            incarnation, first = each.incarnation, each.sequence
        last = each.sequence
    found[incarnation, first, last] = None
    runs = [*found]
    return [Acked(tuple(runs[start : start + RANGES_MAX]), how) for start in range(0, len(runs), RANGES_MAX)]


class Revoked(Struct, frozen=True, tag="live.revoked"):
    """The authority's list of keys that are no longer good, newer than yours."""

    data: bytes


class Bye(Struct, frozen=True, tag="live.bye"):
    """This link ends in good order: no need to call again."""

    why: Text = ""


class Ping(Struct, frozen=True, tag="client.ping"):
    """A node asks whether its client is there; by the same the client knows that its node is."""


class Pong(Struct, frozen=True, tag="client.pong"):
    """It is."""


class Offer(Struct, frozen=True, tag="client.offer"):
    """Publish this for me."""

    number: Number
    topic: Topic
    payload: bytes
    attributes: Attributes = {}
    key: Annotated[str, Meta(max_length=KEY_MAX)] | None = None
    climb: Chance | None = None
    parents: Told = {}


class Answer(Struct, frozen=True, tag="client.answer"):
    """It is spooled under this id; or it is not, and why."""

    number: Number
    id: EventId | None
    problem: Text = ""
    kind: Kind = "misuse"


AWAITED_MAX = 10_000
PATIENCE_MAX_S = 86_400.0


class Await(Struct, frozen=True, tag="client.await"):
    """Tell me when enough members have these events of yours, or after so long."""

    number: Number
    events: Annotated[tuple[EventId, ...], Meta(max_length=AWAITED_MAX)]
    patience_s: Annotated[float, Meta(ge=0, le=PATIENCE_MAX_S)]


class Copies(Struct, frozen=True, tag="client.copies"):
    """So many of them too few members have; of the others, the fewest copies on disk and in memory, and how many nobody
    has. Or why it cannot be said."""

    number: Number
    waiting: Count = 0
    disk: Count = 0
    memory: Count = 0
    given_up: Count = 0
    problem: Text = ""
    kind: Kind = "misuse"


class Read(Struct, frozen=True, tag="client.read"):
    """Send me the events of this topic as they come."""

    number: Number
    topic: Topic
    name: Name = ""
    "A durable subscription goes on behind what was acknowledged; that it is on disk is answered with `Reply`."
    from_start: bool = False
    "Also what the spool still has of earlier ones."
    ordered: bool = False
    where: Where = ""
    "Only those whose attributes match this filter."
    recover: bool = True
    "Whether events that were lost on the way are looked for."
    bookmark: Bookmark | None = None
    "What a durable subscription of that name has had at another node."
    parents: Told = {}


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
    """The client has read so many more items."""

    number: Number
    items: Number


class Handled(Struct, frozen=True, tag="client.handled"):
    """The items of these places are handled; answered once that is on disk."""

    number: Number
    reader: Number
    places: Annotated[tuple[Count, ...], Meta(max_length=PLACES_MAX)]


class Mark(Struct, frozen=True, tag="client.mark"):
    """How far has this reader's durable subscription come?"""

    number: Number
    reader: Number


class Look(Struct, frozen=True, tag="client.look"):
    """A page of your log, please: events of this topic after one place and up to another. Nothing is handed out: asked
    again, it is the same page."""

    number: Number
    topic: Topic
    where: Where = ""
    after: Count = 0
    until: Count = 0
    "The last place of interest; 0: as far as the log is committed."
    items: Annotated[int, Meta(ge=0, le=1_000)] = 1_000
    "Events to look through at most; 0: only how far the log is committed."
    counted: bool = False
    "How many there are is enough."


class Looked(Struct, frozen=True, tag="client.looked"):
    """Here it is; or it is not, and why."""

    number: Number
    items: Annotated[tuple[Item, ...], Meta(max_length=1_000)] = ()
    found: Count = 0
    "How many events."
    examined: Count = 0
    "Read on after this place."
    lost: Count = 0
    "Events that had places here and are gone; at least so many."
    settled: Count = 0
    "How far the log is committed."
    problem: Text = ""
    kind: Kind = "misuse"


class Through(Struct, frozen=True, tag="client.through"):
    """Everything of this durable subscription of mine up to a place is handled; answered once that is on disk."""

    number: Number
    name: Name
    place: Count


class ListThem(Struct, frozen=True, tag="client.list"):
    """Which durable subscriptions are there, of mine?"""

    number: Number


class Delete(Struct, frozen=True, tag="client.delete"):
    """Forget this durable subscription."""

    number: Number
    name: Name
    owner: Name = ""
    "Whose, if not mine: for those who run the node."


class Reply(Struct, frozen=True, tag="client.reply"):
    """It is done; or it is not, and why."""

    number: Number
    problem: Text = ""
    kind: Kind = "misuse"
    bookmark: Bookmark | None = None
    subscriptions: Annotated[tuple[SubscriptionInfo, ...], Meta(max_length=SUBSCRIPTIONS_MAX)] = ()


class Enough(Struct, frozen=True, tag="client.enough"):
    """This reader is closed."""

    number: Number


NODE_CONTROL: tuple[type[Struct], ...] = (Acked, Revoked, Bye)
CLIENT_CONTROL: tuple[type[Struct], ...] = (
    *(Offer, Answer, Await, Copies, Read, Items, Taken, Enough, Handled, Mark, ListThem, Delete, Reply),
    *(Look, Looked, Through),
    *(Ping, Pong, Revoked, Bye),
)


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


def refusal_of(data: bytes, why: str) -> Answer | Copies | Items | Looked | Reply | None:
    """What to tell a client that sent this and may be waiting; None: it does not say what for."""
    try:
        request = _requests.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    problem = f"the node cannot read this: {why}"[:TEXT_MAX]
    if request.type == Offer.__struct_config__.tag:
        return Answer(request.number, None, problem)
    if request.type in (each.__struct_config__.tag for each in (Handled, Mark, ListThem, Delete, Through)):
        return Reply(request.number, problem)
    if request.type == Look.__struct_config__.tag:
        return Looked(request.number, problem=problem)
    if request.type == Await.__struct_config__.tag:
        return Copies(request.number, problem=problem)
    return Items(request.number, (), problem) if request.type == Read.__struct_config__.tag else None
