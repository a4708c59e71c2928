"""What dispatchers say to each other. Everything a peer can make long is bounded where it comes in."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.ids import Count, Peer
from gossamer.core.messages import Carrier, Claim, Reader, Said
from gossamer.core.patterns import Pattern
from gossamer.parts import tree

CHANGES_MAX = 64
"Patterns one message adds, or takes back."

Patterns: TypeAlias = Annotated[tuple[Pattern, ...], Meta(max_length=CHANGES_MAX)]


class Offer(tree.Offer, frozen=True, tag="dispatch.offer"):
    """The tree's beat."""


class Part(tree.Part, frozen=True, tag="dispatch.part"):
    """A node leaves the tree."""


class Tell(Said, frozen=True, tag="dispatch.tell"):
    """Send me what matches these patterns (and no longer what matches those). Without either: do we agree so far?"""

    stream: Count
    "Which life of the link, by its sender; a later one has a greater number, and begins with nothing told."
    number: Count
    "Counts the changes of this life, from 1."
    add: Patterns = ()
    remove: Patterns = ()

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return tuple((topic, sender) for topic in dict.fromkeys(each.topic for each in self.add))


class Told(Said, frozen=True, tag="dispatch.told"):
    """What I was told up to this change is in my table."""

    stream: Count
    number: Count


class Route(Carrier, frozen=True, tag="dispatch.route"):
    """An event, along the tree."""


Message: TypeAlias = Offer | Part | Tell | Told | Route
