"""What peers of the overlay say to each other."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Peer
from gossamer.core.messages import OfMember, Said
from gossamer.core.topics import NAME_MAX, Topic
from gossamer.protocols.pgrid.places import PLACE_BITS_MAX, Bits

SEATS_MAX = 16
"Peers named beside each other."
QUESTIONS_MAX = 32
GIVEN_MAX = 64
"Registrations in one message."
MARKS_MAX = 512
SUMS_MAX = 1024
MEMBERS_MAX = 64
BRANCHES_MAX = 64
SEAL_MAX = 4096

Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Spelled: TypeAlias = Annotated[str, Meta(max_length=NAME_MAX)]


class LeafSeat(Struct, frozen=True, array_like=True):
    """A peer, and the path of the leaf it holds."""

    peer: Peer
    path: Bits


LeafSeats: TypeAlias = Annotated[tuple[LeafSeat, ...], Meta(max_length=SEATS_MAX)]


class Registration(Struct, frozen=True, array_like=True):
    """`member` is a member of a topic. Nobody but itself can say so: its seal stands on it."""

    name: Spelled
    "The topic, as the network spells it."
    place: Bits
    member: Peer
    stamp: Number
    "The member's clock: of two, the later counts."
    gone: bool = False
    "It is a member no longer."
    seal: Annotated[bytes, Meta(max_length=SEAL_MAX)] = b""


Registrations: TypeAlias = Annotated[tuple[Registration, ...], Meta(max_length=GIVEN_MAX)]
Ages: TypeAlias = Annotated[tuple[Count, ...], Meta(max_length=GIVEN_MAX)]


class Meet(Said, frozen=True, tag="pgrid.meet"):
    """This is my leaf; these are peers that you may have use for."""

    path: Bits
    load: Count
    "Registrations that my leaf has."
    replicas: Count
    "Peers that hold it, as far as I know."
    total: Word
    "Of all I hold in it: who holds the same has the same."
    level: Annotated[int, Meta(ge=0, le=PLACE_BITS_MAX)]
    "At which our paths part, as far as I know."
    below: Count
    "Registrations on my side of it."
    seats: LeafSeats
    answer: bool
    "Whether I want to hear the same of you."

    def names(self) -> tuple[Peer, ...]:
        return tuple(seat.peer for seat in self.seats)


class PlaceQuestion(Struct, frozen=True, array_like=True):
    """Who holds this place, or what begins like it? And which members of this topic are there?"""

    number: Number
    place: Bits
    name: Spelled
    "None in particular, if it is empty."
    count: Annotated[int, Meta(ge=0, le=MEMBERS_MAX)]
    avoid: Annotated[tuple[Peer, ...], Meta(max_length=SEATS_MAX)] = ()
    "Peers that did not answer me."


class AskPlaces(Said, frozen=True, tag="pgrid.ask"):
    """Some questions at once."""

    questions: Annotated[tuple[PlaceQuestion, ...], Meta(max_length=QUESTIONS_MAX)]


class Branch(Struct, frozen=True, array_like=True):
    """A part of what was asked for that others hold."""

    place: Bits
    count: Count
    seats: LeafSeats


class Reply(Struct, frozen=True, array_like=True):
    """The answer to a question: peers that are nearer; or, from who holds the place, what is there."""

    number: Number
    path: Bits
    seats: LeafSeats
    "Nearer peers; or those that hold the same."
    holds: bool = False
    load: Count = 0
    replicas: Count = 0
    count: Count = 0
    "Of what was asked for, so many are in this leaf."
    members: Annotated[tuple[Registration, ...], Meta(max_length=MEMBERS_MAX)] = ()
    branches: Annotated[tuple[Branch, ...], Meta(max_length=BRANCHES_MAX)] = ()


class Answer(Said, frozen=True, tag="pgrid.answer"):
    """The replies to some questions."""

    replies: Annotated[tuple[Reply, ...], Meta(max_length=QUESTIONS_MAX)]

    def names(self) -> tuple[Peer, ...]:
        named: dict[Peer, None] = {}
        for reply in self.replies:
            named.update(dict.fromkeys(seat.peer for seat in reply.seats))
            named.update(dict.fromkeys(each.member for each in reply.members))
            named.update(dict.fromkeys(seat.peer for branch in reply.branches for seat in branch.seats))
        return tuple(named)


class Give(Said, frozen=True, tag="pgrid.give"):
    """Registrations for whoever holds their places."""

    registrations: Registrations
    ages_ms: Ages
    "How long ago each was made or renewed."
    spread: bool = False
    "Whether you shall give those of mine to all who hold the same."

    def names(self) -> tuple[Peer, ...]:
        return tuple(dict.fromkeys(each.member for each in self.registrations))


class Took(Said, frozen=True, tag="pgrid.took"):
    """I hold these registrations of yours, for they belong here."""

    ids: Annotated[tuple[Word, ...], Meta(max_length=GIVEN_MAX)]


class CompareLeaf(Said, frozen=True, tag="pgrid.compare"):
    """What I hold at this path, summed up by the first bits of what each is called; tell me of the sums that differ."""

    path: Bits
    sums: Annotated[tuple[Word, ...], Meta(max_length=SUMS_MAX)]


class ListHeld(Said, frozen=True, tag="pgrid.listing"):
    """What I hold of some, or of what belongs to you: each by what it is called, and its stamp."""

    marks: Annotated[tuple[tuple[Word, Number], ...], Meta(max_length=MARKS_MAX)]
    parts: Annotated[tuple[Count, ...], Meta(max_length=SUMS_MAX)] = ()
    "Which sums of yours these are all of; none: I hold these for you, and let them go once you have them."
    of: Count = 0
    "How many sums there were."


class WantListed(Said, frozen=True, tag="pgrid.want"):
    """Give me those of what you listed; the others I have."""

    ids: Annotated[tuple[Word, ...], Meta(max_length=MARKS_MAX)]
    listed: Annotated[tuple[Word, ...], Meta(max_length=MARKS_MAX)] = ()
    "All you listed, if you only held it for me."


class Hello(OfMember, frozen=True, tag="pgrid.hello"):
    """I am new in this community, and drew you: hold me in place of somebody."""


class Gone(Said, frozen=True, tag="pgrid.gone"):
    """I am in this community no more."""

    topic: Topic


Message: TypeAlias = Meet | AskPlaces | Answer | Give | Took | CompareLeaf | ListHeld | WantListed | Hello | Gone
