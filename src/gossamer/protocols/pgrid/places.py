"""Where things belong: a place is a string of bits, and topics keep their order in it.

Each segment of a topic's name is a 1 and 16 bits of a hash of the name so far, so all topics below another one begin
alike: they are a range. The members of a topic itself begin with its bits and a 0; what follows is drawn from who they
are, so a large community is spread over many leaves. Names are hashed as the network spells them: on a network with
keys nobody learns a name that it does not know.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.draws import REGISTER, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.topics import ROOT, Topic, named_super

SEGMENT_BITS = 16
MEMBER_BITS = 32
TOPIC_BITS_MAX = 30 * (1 + SEGMENT_BITS)
"Topics deeper than thirty segments share the place of the one they are below: their names tell them apart."
PLACE_BITS_MAX = TOPIC_BITS_MAX + 1 + MEMBER_BITS

BITS = r"\A[01]*\Z"
Bits: TypeAlias = Annotated[str, Meta(pattern=BITS, max_length=PLACE_BITS_MAX)]


def below(topic: Topic, spell: Callable[[Topic], str]) -> Bits:
    """What the places of everything below a topic begin with."""
    segments = []
    above: Topic | None = topic
    while above is not None and above != ROOT:
        word = int.from_bytes(blake2b(spell(above).encode(), digest_size=2).digest(), "big")
        segments.append(f"1{word:0{SEGMENT_BITS}b}")
        above = named_super(above)
    return "".join(reversed(segments))[:TOPIC_BITS_MAX]


def members_of(topic: Topic, spell: Callable[[Topic], str]) -> Bits:
    """What the places of a topic's own members begin with."""
    return below(topic, spell) + "0"


def place_of(member: Peer, members: Bits) -> Bits:
    """Where a member of a topic is registered, given what the places of its members begin with."""
    return f"{members}{draw(fold(REGISTER, member), 0) >> 64 - MEMBER_BITS:0{MEMBER_BITS}b}"


def common(one: Bits, other: Bits) -> int:
    """How many bits two of them have in common before they part."""
    both = min(len(one), len(other))
    return both - (int(one[:both], 2) ^ int(other[:both], 2)).bit_length() if both else 0


def flipped(bit: str) -> str:
    return "1" if bit == "0" else "0"


def across(path: Bits, level: int) -> Bits:
    """The other half of a level."""
    return path[:level] + flipped(path[level])


def beside(place: Bits, level: int, bits: int) -> Bits:
    """The place nearest to the half of this level that `place` lies in, in order, on its other side: to the left of a
    right half, to the right of a left one."""
    return across(place, level) + place[level] * max(0, bits - level - 1)
