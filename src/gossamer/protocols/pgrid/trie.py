"""What a peer knows of the trie: its own leaf, who else holds it, and peers on the other side of every level above.

A half in which nobody lives is empty. Whatever belongs there is held by the leaf beside it, in the order of places; so
every place has its leaf, however uneven they are, and nobody has to live where nothing is.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from statistics import median_low

from msgspec import Struct

from gossamer.core.draws import distinct, draw
from gossamer.core.ids import Peer
from gossamer.protocols.pgrid.messages import LeafSeat
from gossamer.protocols.pgrid.places import Bits, beside, common

REPLICAS_MAX = 32
"Peers known that hold the same leaf, and peers known that hold parts of it: beyond that nobody needs to know all."
WITNESSES = 2
"So many must say themselves that they hold parts of a leaf before its peers believe that it was divided."
HERE, FURTHER = -1, -2
"Instead of a level: at the same leaf; at a part of it, where this peer should be, too."


class KnownPeer(Struct):
    """Another peer."""

    path: Bits
    below: int | None = None
    "Registrations on its side of the level at which our paths part, if it said so."
    heard_us: int | None = None
    "When it said so itself; None: others named it."


class Trie:
    """Plain state; who stands where in it."""

    def __init__(self, me: Peer, references: int, serves: Callable[[], bool] = lambda: True) -> None:
        self.me, self.serves = me, serves
        self.most = references
        self.path: Bits = ""
        self.levels: dict[int, dict[Peer, KnownPeer]] = {}
        "References: on each level peers on its other side."
        self.fellows: dict[Peer, KnownPeer] = {}
        "Those who hold the same leaf."
        self.further: dict[Peer, KnownPeer] = {}
        "Those who hold a part of it: they went on, and this peer has not followed yet."
        self.level_of: dict[Peer, int] = {}

    # -- who is where -----------------------------------------------------------------------------------------------

    def level(self, path: Bits) -> int:
        """On which level a peer of this path is of use. One that has not yet gone as far as we did still holds what is
        on the other side of the level where it stopped."""
        alike = common(self.path, path)
        if alike < len(self.path):
            return alike
        return HERE if alike == len(path) else FURTHER

    def is_behind(self, path: Bits) -> bool:
        """Whether a peer of this path has not yet gone as far as we did."""
        return len(path) < len(self.path) and self.path.startswith(path)

    def table(self, level: int) -> dict[Peer, KnownPeer]:
        if level == HERE:
            return self.fellows
        return self.further if level == FURTHER else self.levels.setdefault(level, {})

    def get(self, peer: Peer) -> KnownPeer | None:
        level = self.level_of.get(peer)
        return None if level is None else self.table(level).get(peer)

    def heard(self, peer: Peer, path: Bits, below: int | None, now_us: int, word: int) -> None:
        """A peer said itself where it is. Where there are enough, it takes the place of one that did not, or of any
        now and then, so that not everybody refers to the same few."""
        if peer == self.me:
            return
        self.forget(peer)
        level = self.level(path)
        if self.is_behind(path) and not below:
            return  # a newcomer, who holds nothing
        table = self.table(level)
        if len(table) >= self.room(level):
            idle = [other for other, known in table.items() if known.heard_us is None]
            if not idle and word & 3:
                return
            choice = idle or [*table]
            self.forget(choice[draw(word, 1) % len(choice)])
            table = self.table(level)
        table[peer] = KnownPeer(path, below, now_us)
        self.level_of[peer] = level

    def named(self, seat: LeafSeat) -> bool:
        """Others say where a peer is: it may stand where there is room. True: it is news."""
        if seat.peer == self.me or seat.peer in self.level_of:
            return False
        level = self.level(seat.path)
        if self.is_behind(seat.path) or len(self.table(level)) >= self.room(level):
            return False
        self.table(level)[seat.peer] = KnownPeer(seat.path)
        self.level_of[seat.peer] = level
        return True

    def room(self, level: int) -> int:
        return self.most if level >= 0 else REPLICAS_MAX

    def forget(self, peer: Peer) -> bool:
        level = self.level_of.pop(peer, None)
        if level is None:
            return False
        table = self.table(level)
        table.pop(peer)
        if level >= 0 and not table:
            del self.levels[level]
        return True

    def move(self, path: Bits) -> None:
        """This peer holds another leaf from now on: everybody known finds their place anew."""
        everybody = [(peer, known) for _, table in self.tables() for peer, known in table.items()]
        self.path = path
        self.levels, self.fellows, self.further, self.level_of = {}, {}, {}, {}
        for peer, known in sorted(everybody, key=lambda each: -(each[1].heard_us or 0)):
            level = self.level(known.path)
            if len(self.table(level)) < self.room(level):
                self.table(level)[peer] = KnownPeer(known.path, None, known.heard_us)
                self.level_of[peer] = level
        self.levels = {level: table for level, table in self.levels.items() if table}

    def tables(self) -> Iterator[tuple[int, dict[Peer, KnownPeer]]]:
        yield HERE, self.fellows
        yield FURTHER, self.further
        yield from self.levels.items()

    # -- questions --------------------------------------------------------------------------------------------------

    @property
    def ahead(self) -> int:
        """How many went on from this leaf, as they say themselves."""
        return sum(known.heard_us is not None for known in self.further.values())

    @property
    def is_left(self) -> bool:
        """Whether others have divided this leaf, and hold its parts. One alone that says so may lie, and whoever holds
        something for others would send them astray; who does not has nothing to lose."""
        return bool(self.further) and (self.ahead >= WITNESSES or not self.serves())

    @property
    def replicas(self) -> int:
        """How many peers hold this leaf, this one included, as far as they said so."""
        return 1 + sum(known.heard_us is not None for known in self.fellows.values())

    def towards(self, place: Bits, avoid: Collection[Peer] = ()) -> list[LeafSeat] | None:
        """Peers that are nearer to a place; None: it is held here, as far as this peer knows."""
        if self.is_left and (ahead := self.seats(self.further, avoid)):
            return sorted(ahead, key=lambda seat: -common(seat.path, place))
        while (level := common(self.path, place)) < min(len(self.path), len(place)):
            if across := self.seats(self.levels.get(level, {}), avoid):
                return across
            place = beside(place, level, len(self.path))
        return None

    def holds(self, place: Bits) -> bool:
        """Whether a place belongs to this leaf, or to an empty half beside it."""
        return (not self.is_left and place.startswith(self.path)) or self.towards(place) is None

    def shape(self) -> tuple[object, ...]:
        """What decides who holds which place: as long as it stays, all answers do."""
        return (self.path, self.is_left, *sorted(self.levels))

    @staticmethod
    def seats(table: dict[Peer, KnownPeer], avoid: Collection[Peer] = ()) -> list[LeafSeat]:
        """Those of a table; whoever said itself where it is comes first."""
        found = [(peer, known) for peer, known in table.items() if peer not in avoid]
        return [LeafSeat(peer, known.path) for peer, known in sorted(found, key=lambda each: each[1].heard_us is None)]

    def count(self, level: int) -> int:
        """Registrations on the other side of a level, as most of those say who are there: one of them may lie."""
        said = [known.below for known in self.levels.get(level, {}).values() if known.below is not None]
        return median_low(said) if said else 0

    def useful_to(self, path: Bits, besides: Peer, most: int, word: int) -> list[LeafSeat]:
        """Peers that one of this path may have use for: those nearest to it, and as many of all the others."""
        parted = common(self.path, path)
        everybody = [
            (level, peer, known.path)
            for level, table in self.tables()
            for peer, known in table.items()
            if known.heard_us is not None and peer != besides
        ]

        def nearness(each: tuple[int, Peer, Bits]) -> int:
            """Whoever parts from us before the other one does parts from it there, too: most need not be compared."""
            level = each[0]
            return level if 0 <= level < parted else common(each[2], path) if level == parted or level < 0 else parted

        drawn = [everybody[i] for i in distinct(word, len(everybody), 3 * most)]
        ranked = sorted(drawn, key=lambda each: -nearness(each))
        chosen = [*ranked[: most // 2], *ranked[: most // 2 - 1 : -1][: most - most // 2]]
        return [LeafSeat(peer, theirs) for _, peer, theirs in chosen]


def some(seats: Iterable[LeafSeat], word: int, most: int) -> list[LeafSeat]:
    """A few of them, drawn."""
    return sorted(seats, key=lambda seat: draw(word, seat.peer))[:most]


def peers(seats: Sequence[LeafSeat]) -> list[Peer]:
    return [seat.peer for seat in seats]
