"""What flooding nodes say to each other. Everything a peer can make long is bounded where it comes in."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.events import Hops
from gossamer.core.ids import EventId
from gossamer.core.messages import Carrier, OfMember, Said
from gossamer.core.topics import Topic

IDS_MAX = 500
"Events named in one message."

Ids: TypeAlias = Annotated[tuple[EventId, ...], Meta(max_length=IDS_MAX)]


class Pass(Carrier, frozen=True, tag="flood.pass"):
    """An event for everybody you know."""


class Have(OfMember, frozen=True, tag="flood.have"):
    """I have these events of the topic."""

    ids: Ids
    hops: Annotated[tuple[Hops, ...], Meta(max_length=IDS_MAX)] = ()
    "How far each had come."


class Graft(OfMember, frozen=True, tag="flood.graft"):
    """Send me these, and from now on every event of the topic at once."""

    ids: Ids = ()


class Prune(OfMember, frozen=True, tag="flood.prune"):
    """I had this already: of events of the topic, only tell me which you have."""


class Near(OfMember, frozen=True, tag="flood.near"):
    """I take part in this topic and have you for a neighbour; or, if it `asks`: do you, and have you me?"""

    asks: bool = False


class Part(Said, frozen=True, tag="flood.part"):
    """I do not take part in this topic (any more)."""

    topic: Topic


Message: TypeAlias = Pass | Have | Graft | Prune | Near | Part
