"""What is looked up, what was found so far, and what an answer is worth.

Nobody is believed alone who says that there are few: not of the place asked for, and not by sending whoever asks to
parts of it that hold less than was wanted. Then another one is asked for the whole, and what both say counts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.protocols.pgrid.messages import Branch, LeafSeat, Registration, Reply, Spelled
from gossamer.protocols.pgrid.places import Bits, place_of

Target: TypeAlias = tuple[Bits, Spelled, int]
"A place, a topic, and how many of its members are wanted: then the place is what those of its members begin with."

DEPTH_MAX = 32
"Parts of parts of what was asked for: members of a topic are spread evenly, so there are about log2 of their number."


class Lookup:
    """Something looked up, and what was found."""

    def __init__(self, target: Target, done: "Callable[[Lookup], None]") -> None:
        self.place, self.name, self.count = target
        self.done = done
        self.open = 0
        "Places not yet looked up: one at first, more when what was asked for is in several leaves."
        self.found: list[Registration] = []
        self.total: int | None = None
        "How many there are, of which some were found; None: nobody who should know was reached."
        self.holders: list[LeafSeat] = []
        "Who holds the place."
        self.load, self.replicas = 0, 0
        "Of its leaf."
        self.hops = 0
        self.sent_on_by: tuple[Peer, ...] = ()
        "Who said alone in which parts of the place all of it is."
        self.before: tuple[list[Registration], int] | None = None
        "What was found so, and how many there should be, while another one is asked."

    def is_doubtful(self) -> bool:
        """Whether one alone said where all of it is, and that was less than was wanted."""
        return bool(self.sent_on_by) and self.before is None and bool(self.name) and len(self.found) < self.count

    def doubt(self) -> None:
        self.before = (self.found, self.total or 0)
        self.found, self.total = [], None

    def agree(self) -> None:
        """What was found the first time counts too, if there is still less than was wanted."""
        found, total = self.before or ([], self.total)
        if len(self.found) < self.count:
            self.found = united(found, self.found)
            self.total = min((each for each in (total, self.total) if each is not None), default=None)
        if self.total is not None:
            self.total = max(self.total, len(self.found))


class OpenPlace:
    """One place of a lookup: whom to ask about it next, and who was."""

    def __init__(
        self, lookup: Lookup, place: Bits, count: int, seats: Sequence[LeafSeat], depth: int, asked: Iterable[Peer]
    ) -> None:
        self.lookup, self.place, self.count, self.depth = lookup, place, count, depth
        self.first = depth == 0
        self.next = [*seats]
        self.asked: dict[Peer, None] = dict.fromkeys(asked)
        self.silent: dict[Peer, None] = {}
        self.now: Peer | None = None
        self.begun = 0
        self.opinion: Reply | None = None
        "What the first one said who knew of few, or of nobody."

    def asked_for(self, reply: Reply) -> Reply:
        """A reply without those who are members of something else, or no more, or who are not where they belong: they
        might be in many places. Who names fewer than it could knows of no more."""
        members = tuple(filter(self.belongs, reply.members))[: self.count]
        return replace(reply, members=members, count=reply.count if len(members) == self.count else len(members))

    def belongs(self, said: Registration) -> bool:
        name, begins = self.lookup.name, self.lookup.place
        return not said.gone and name in ("", said.name) and (not name or said.place == place_of(said.member, begins))

    def within(self, reply: Reply) -> list[Branch]:
        """The branches of a reply that are parts of what was asked for. Each is narrower, and the last ones have no
        more, so a search comes to an end, soon, whatever it is told."""
        place = self.place
        if self.depth >= DEPTH_MAX:
            return []
        return [each for each in reply.branches if len(each.place) > len(place) and each.place.startswith(place)]


def both(one: Reply, other: Reply) -> Reply:
    """What two say together, each of whom knows of few."""
    members = tuple(united(one.members, other.members))
    return replace(other, members=members, count=len(members))


def united(one: Iterable[Registration], other: Iterable[Registration]) -> list[Registration]:
    return [*{said.member: said for said in (*one, *other)}.values()]
