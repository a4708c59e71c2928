"""What flooding nodes say to each other. Everything a peer can make long is bounded where it comes in."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.events import Carried, Hops
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic

IDS_MAX = 500
"Events named in one message."

Ids: TypeAlias = Annotated[tuple[EventId, ...], Meta(max_length=IDS_MAX)]


class Pass(Struct, frozen=True, tag="flood.pass"):
    """An event for everybody you know."""

    carried: Carried


class Have(Struct, frozen=True, tag="flood.have"):
    """I have these events of the topic."""

    topic: Topic
    ids: Ids
    hops: Annotated[tuple[Hops, ...], Meta(max_length=IDS_MAX)] = ()
    "How far each had come."


class Graft(Struct, frozen=True, tag="flood.graft"):
    """Send me these, and from now on every event of the topic at once."""

    topic: Topic
    ids: Ids = ()


class Prune(Struct, frozen=True, tag="flood.prune"):
    """I had this already: of events of the topic, only tell me which you have."""

    topic: Topic


class Near(Struct, frozen=True, tag="flood.near"):
    """I take part in this topic and have you for a neighbour; or, if it `asks`: do you, and have you me?"""

    topic: Topic
    asks: bool = False


class Part(Struct, frozen=True, tag="flood.part"):
    """I do not take part in this topic (any more)."""

    topic: Topic


Message: TypeAlias = Pass | Have | Graft | Prune | Near | Part

MEMBERS_ONLY: tuple[type[Struct], ...] = (Have, Graft, Prune, Near)
"""Whoever says one of these is going to be sent events of the topic. A `Pass` may come from a publisher that does not
read its topic, and a `Part` comes from one that does not take part."""
