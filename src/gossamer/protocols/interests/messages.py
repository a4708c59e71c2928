"""What nodes tell each other about what they want. Everything a peer can make long is bounded where it comes in.

An entry is made by the node it is about, and passed on as it is: where nodes have keys, with that node's seal, checked
before a machine hears of it. How long ago a node was heard of is anybody's word, and moves nothing but that.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, Peer
from gossamer.core.messages import Said
from gossamer.parts.wants import Packed

MARKS_MAX = 128
"Nodes named in one digest."
ASKED_MAX = 64
"Nodes asked about at once."
SEAL_BYTES_MAX = 256
AGE_MS_MAX = 1 << 31

Age: TypeAlias = Annotated[int, Meta(ge=0, le=AGE_MS_MAX)]


class Mark(Struct, frozen=True, array_like=True, gc=False):
    """Which entry of a node this is, and how long ago the node was heard of."""

    peer: Peer
    incarnation: Count
    "When this life of the node began, by its own clock."
    version: Count
    "Counts the changes of its interest in this life."
    age_ms: Age = 0

    @property
    def stamp(self) -> tuple[int, int]:
        """The later of two entries has the greater one."""
        return self.incarnation, self.version


class Entry(Struct, frozen=True, array_like=True):
    """What a node wants, in its own words."""

    mark: Mark
    wants: Packed
    seal: Annotated[bytes, Meta(max_length=SEAL_BYTES_MAX)] = b""
    "The node's signature; set and checked outside of machines."


class NodesDigest(Said, frozen=True, tag="interests.digest"):
    """I know of these; ask me about those you do not know, or know less of. The first is its sender."""

    marks: Annotated[tuple[Mark, ...], Meta(max_length=MARKS_MAX)]
    answer: bool
    "Whether the receiver shall answer with what it knows."

    def names(self) -> tuple[Peer, ...]:
        return tuple(mark.peer for mark in self.marks)


class AskWants(Said, frozen=True, tag="interests.ask"):
    """What do these want?"""

    peers: Annotated[tuple[Peer, ...], Meta(max_length=ASKED_MAX)]


class TellWants(Said, frozen=True, tag="interests.tell"):
    """This is what they want."""

    entries: Annotated[tuple[Entry, ...], Meta(max_length=ASKED_MAX)]

    def names(self) -> tuple[Peer, ...]:
        return tuple(entry.mark.peer for entry in self.entries)


class Gone(Said, frozen=True, tag="interests.gone"):
    """I leave."""


Message: TypeAlias = NodesDigest | AskWants | TellWants | Gone
