"""What participants of a hierarchy say to each other. Everything a peer can make long is bounded where it comes in.

A row is made by somebody who lives in the subsystem it is about, and passed on as it is: where nodes have keys, with
its author's seal, checked before a machine hears of it. How long ago a subsystem was heard of is anybody's word, and
moves nothing but that.
"""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, Peer
from gossamer.core.messages import Carrier, Claim, Reader, Said
from gossamer.core.patterns import Pattern

LEVELS_MAX = 60
SEATS_MAX = 64
"Delegates of a subsystem."
PATTERNS_MAX = 64
"Of what a subsystem wants, once condensed."
MARKS_MAX = 512
"Rows named in one digest."
ROWS_MAX = 64
"Rows in one message."
SEAL_BYTES_MAX = 256
AGE_MS_MAX = 1 << 31

Level: TypeAlias = Annotated[int, Meta(ge=1, le=LEVELS_MAX)]
Rounds: TypeAlias = Annotated[int, Meta(ge=0, le=2**31)]
Padding: TypeAlias = Annotated[int, Meta(ge=0, le=2**30)]
Digit: TypeAlias = Annotated[int, Meta(ge=0, le=2**32)]
Digits: TypeAlias = Annotated[tuple[Digit, ...], Meta(max_length=LEVELS_MAX)]
Age: TypeAlias = Annotated[int, Meta(ge=0, le=AGE_MS_MAX)]


class LevelGossip(Carrier, frozen=True, tag="hpmcast.gossip"):
    """An event, told on a level: what the sender knows of its audience there travels along."""

    level: Level
    prob: float
    "The share of the view that wants it; 0: all of them have been told, there is nothing left to do on this level."
    rounds: Rounds
    "How often it was gossiped on this level, since the first who had it there."
    padding: Padding = 0
    "So many of the view's first participants count as interested too."


class Seat(Struct, frozen=True, array_like=True, gc=False):
    """A participant that stands for a subsystem."""

    address: Digits
    peer: Peer
    weight: Count = 0
    "What speaks for it, where delegates are not simply the smallest addresses."


class SubsystemRow(Struct, frozen=True, array_like=True):
    """A subsystem in a view: on level 1 one participant, in its own words."""

    about: Digits
    "Its branch address; as many digits as say on which level it stands."
    author: Peer
    "Who made this row: the participant itself, or one of the delegates."
    stamp: Count
    "When, by its author's clock in microseconds: the later of two counts."
    delegates: Annotated[tuple[Seat, ...], Meta(max_length=SEATS_MAX)]
    interest: Annotated[tuple[Pattern, ...], Meta(max_length=PATTERNS_MAX)]
    "What anybody in it wants, or more."
    count: Count
    "Participants in it; 0: there were some, and they left."
    seal: Annotated[bytes, Meta(max_length=SEAL_BYTES_MAX)] = b""
    "The author's signature; set and checked outside of machines."

    @property
    def rank(self) -> tuple[int, int]:
        """The greater one is the later row; rows of the same moment go by their authors."""
        return self.stamp, self.author


class RowMark(Struct, frozen=True, array_like=True, gc=False):
    """Which row of a subsystem this is, and how long ago anybody in it was heard of."""

    about: Digits
    author: Peer
    stamp: Count
    "0: I have none."
    age_ms: Age = 0


def in_rows(rows: Sequence[SubsystemRow]) -> tuple[Peer, ...]:
    """Everybody that rows name: who made them, and who is to be sent events."""
    return tuple(dict.fromkeys(each for row in rows for each in (row.author, *(seat.peer for seat in row.delegates))))


class OfParticipant(Said, frozen=True):
    """In a hierarchy everybody carries what others want: whoever takes part must be allowed to read all of it."""

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return ((reader.community, sender),)


class RowDigest(OfParticipant, frozen=True, tag="hpmcast.digest"):
    """I live here, and have these rows of the views we share: send me what you have later ones of."""

    address: Digits
    marks: Annotated[tuple[RowMark, ...], Meta(max_length=MARKS_MAX)]
    whole: bool
    "Whether these are all, so that what is not named is unknown to me."
    answer: bool
    "Whether the receiver may ask back for what I have later ones of."


class LaterRows(OfParticipant, frozen=True, tag="hpmcast.tell"):
    """These are later than yours."""

    rows: Annotated[tuple[SubsystemRow, ...], Meta(max_length=ROWS_MAX)]
    ages_ms: Annotated[tuple[Age, ...], Meta(max_length=ROWS_MAX)] = ()
    "How long ago anybody in each subsystem was heard of."

    def names(self) -> tuple[Peer, ...]:
        return in_rows(self.rows)


class PlaceRequest(OfParticipant, frozen=True, tag="hpmcast.join"):
    """Somebody looks for its place: passed on to the lowest delegates known of it, until its neighbours have it."""

    row: SubsystemRow
    "The newcomer's own."
    tries: Annotated[int, Meta(ge=0, le=1 << 16)]
    "How often it asked before."
    hops: Annotated[int, Meta(ge=0, le=LEVELS_MAX)] = 0

    def names(self) -> tuple[Peer, ...]:
        return in_rows((self.row,))


class Ping(OfParticipant, frozen=True, tag="hpmcast.ping"):
    """Nothing was heard of you for long: are you there?"""

    address: Digits = ()
    "Where we believe you live."


class Pong(OfParticipant, frozen=True, tag="hpmcast.pong"):
    """I am."""


Message: TypeAlias = LevelGossip | RowDigest | LaterRows | PlaceRequest | Ping | Pong
