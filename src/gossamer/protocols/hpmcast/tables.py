"""One participant's views: a table for each level, with a row for each populated subsystem of its branch there.

Rows about others are taken as they are told. The row about a participant's own subsystem is worked out from the table
below: everybody in it does, and comes to the same. What is told outside is the latest row that one of its delegates
made. Plain state; the membership decides.
"""

from collections.abc import Iterator, Sequence

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.topics import Hierarchy
from gossamer.protocols.hpmcast.addresses import Address, branch
from gossamer.protocols.hpmcast.condensing import condensed
from gossamer.protocols.hpmcast.electing import covering, elected
from gossamer.protocols.hpmcast.messages import RowMark, Seat, SubsystemRow
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.hpmcast.wanting import Interest, wanted

LINES_MAX = 4096
"Rows of one table; mostly there are fewer addresses."
CLAIMS_MAX = 2
"Participants that say they live at the same address: a mistake should be seen, a crowd should not get in."


class KnownRow:
    """A line: a row that can be asked."""

    __slots__ = ("heard_us", "hierarchy", "peers", "row", "wanted")

    def __init__(self, row: SubsystemRow, heard_us: int, hierarchy: Hierarchy) -> None:
        self.row = row
        self.heard_us = heard_us
        "When anybody in the subsystem last gave a sign of life, to anybody, as far as this node was told."
        self.hierarchy = hierarchy
        self.peers = tuple(seat.peer for seat in row.delegates)
        self.wanted = wanted(row.interest)

    def matches(self, event: Event) -> bool:
        return self.wanted is not None and self.wanted.wants(event, self.hierarchy)

    @property
    def place(self) -> tuple[Address, Peer]:
        """Lines stand in the order of addresses."""
        return self.row.about, self.row.author


class ViewTables:
    """`branching` bounds the digits; R is how many stand for a subsystem."""

    def __init__(
        self,
        me: Peer,
        address: Address,
        branching: Sequence[int],
        redundancy: int,
        upkeep: Upkeep,
        hierarchy: Hierarchy,
    ) -> None:
        self.me, self.address, self.branching = me, address, tuple(branching)
        self.redundancy, self.upkeep, self.hierarchy = redundancy, upkeep, hierarchy
        self.levels = len(address)
        self.own = KnownRow(SubsystemRow(address, me, 0, (Seat(address, me, upkeep.capacity),), (), 1), 0, hierarchy)
        self.members: dict[Peer, KnownRow] = {}
        "Level 1: the others of our lowest group; those that left, too, for a while."
        self.others: dict[Address, KnownRow] = {}
        "All levels above, by branch address; our own subsystems as they are told outside."
        self._lines: dict[int, list[KnownRow]] = {}
        self._summaries: dict[int, KnownRow] = {}

    # -- views ----------------------------------------------------------------------------------------------------

    def lines(self, level: int) -> Sequence[KnownRow]:
        made = self._lines.get(level)
        if made is None:
            own = self.own if level == 1 else self.summary(level)
            made = [own, *(known for known in self.told(level) if known.row.count and not self.is_mine(known.row))]
            made.sort(key=lambda known: known.place)
            self._lines[level] = made
        return made

    def summary(self, level: int) -> KnownRow:
        """The line of our own subsystem on a level, condensed from the table below it."""
        made = self._summaries.get(level)
        if made is None:
            below = self.lines(level - 1)
            upkeep, hierarchy = self.upkeep, self.hierarchy
            interests: list[Interest] = [known.row.interest for known in below]
            row = SubsystemRow(
                branch(self.address, level - 1),
                self.me,
                0,
                self.delegates(below, level - 1),
                condensed(interests, upkeep.grade(level), upkeep.interest_size, hierarchy),
                sum(known.row.count for known in below),
            )
            made = self._summaries[level] = KnownRow(row, 0, hierarchy)
        return made

    def delegates(self, below: Sequence[KnownRow], level: int) -> tuple[Seat, ...]:
        """Who stands for all of a table together."""
        choice = self.upkeep.choice
        lines: Sequence[Sequence[Seat]] = [known.row.delegates for known in below]
        if choice == "coverage" and level == 1:
            read = [(known.row.delegates[0], known.wanted) for known in below]
            weighed = [(seat, each) for seat, each in read if each is not None]
            lines = [covering(weighed, self.redundancy, self.hierarchy)]
        return elected(lines, self.redundancy, choice)

    def changed(self, level: int) -> None:
        """A row on this level came, went or changed: what was worked out from it no longer holds."""
        for above in range(level, self.levels + 1):
            self._lines.pop(above, None)
            self._summaries.pop(above + 1, None)

    def stands(self, level: int) -> bool:
        """Whether this participant is in the view of a level itself."""
        return level == 1 or self.me in self.summary(level).peers

    def rank(self) -> int:
        """The highest level on which it is."""
        return max(level for level in range(1, self.levels + 1) if self.stands(level))

    # -- rows -----------------------------------------------------------------------------------------------------

    def level_of(self, about: Address) -> int:
        """The level of the table in which a subsystem has its row."""
        return self.levels - len(about) + 1

    def belongs(self, about: Address) -> bool:
        """Whether it stands in one of our tables."""
        size = len(about)
        return (
            1 <= size <= self.levels and about[:-1] == self.address[: size - 1] and about[-1] < self.branching[size - 1]
        )

    def is_address(self, about: Address) -> bool:
        return all(digit < radix for digit, radix in zip(about, self.branching))

    def is_mine(self, row: SubsystemRow) -> bool:
        """Whether a row above level 1 is about one of our own subsystems."""
        return len(row.about) < self.levels and row.about == self.address[: len(row.about)]

    def find(self, about: Address, author: Peer) -> KnownRow | None:
        """What is known of a subsystem; of a participant, by who it is."""
        if len(about) < self.levels:
            return self.others.get(about)
        return self.own if author == self.me else self.members.get(author)

    def told(self, level: int) -> Iterator[KnownRow]:
        """The rows of a level as others are told of them, ours left out on level 1."""
        if level == 1:
            yield from self.members.values()
        else:
            size = self.levels - level + 1
            yield from (known for about, known in self.others.items() if len(about) == size)

    def shared(self, distance: int) -> Iterator[KnownRow]:
        """All rows of the tables that somebody at this distance has too."""
        if distance <= 1:
            yield self.own
        for level in range(max(1, distance), self.levels + 1):
            yield from self.told(level)

    def has_room(self, row: SubsystemRow) -> bool:
        """Whether there is a place for somebody new."""
        told = [known.row.about for known in self.told(self.level_of(row.about))]
        return len(told) < LINES_MAX and told.count(row.about) < CLAIMS_MAX - (row.about == self.address)

    def take(self, row: SubsystemRow, heard_us: int) -> None:
        """Takes in a row that is later than what was known."""
        before = self.find(row.about, row.author)
        if before is not None and row.count:
            heard_us = max(heard_us, before.heard_us)
        known = KnownRow(row, heard_us, self.hierarchy)
        if len(row.about) == self.levels:
            self.members[row.author] = known
        else:
            self.others[row.about] = known
        self._noticed(row)

    def drop(self, row: SubsystemRow) -> None:
        if len(row.about) == self.levels:
            self.members.pop(row.author, None)
        else:
            self.others.pop(row.about, None)
        self._noticed(row)

    def _noticed(self, row: SubsystemRow) -> None:
        if not self.is_mine(row):  # what outsiders are told of ourselves changes nothing here
            self.changed(self.level_of(row.about))

    def is_later(self, mark: RowMark | SubsystemRow) -> bool:
        """Whether a row is later than what is known."""
        known = self.find(mark.about, mark.author)
        return known is None or (mark.stamp, mark.author) > known.row.rank

    # -- our own --------------------------------------------------------------------------------------------------

    def say(self, interest: Interest, stamp: int, count: int = 1) -> None:
        """What this participant says of itself."""
        seat = Seat(self.address, self.me, self.upkeep.capacity)
        self.own = KnownRow(SubsystemRow(self.address, self.me, stamp, (seat,), interest, count), 0, self.hierarchy)
        self.changed(1)

    def differs(self, level: int) -> bool:
        """Whether this participant stands for its subsystem on a level, and outsiders are told something else."""
        made, told = self.summary(level), self.others.get(branch(self.address, level - 1))
        if self.me not in made.peers:
            return False
        return told is None or _content(told.row) != _content(made.row)

    def strangers(self, level: int) -> list[Peer]:
        """Whom outsiders are told of as delegates of our subsystem on a level, and we do not know there."""
        told = self.others.get(branch(self.address, level - 1))
        if told is None or not told.row.count:
            return []
        known = dict.fromkeys(peer for line in self.lines(level - 1) for peer in line.peers)
        return [peer for peer in told.peers if peer not in known]

    def publish(self, level: int, now_us: int) -> None:
        """Makes the row that outsiders are told of our own subsystem, later than any before."""
        made = self.summary(level).row
        told = self.others.get(made.about)
        stamp = max(1, now_us, 0 if told is None else told.row.stamp + 1)
        row = SubsystemRow(made.about, self.me, stamp, made.delegates, made.interest, made.count)
        self.others[made.about] = KnownRow(row, now_us, self.hierarchy)

    def peers(self) -> dict[Peer, Address]:
        """Everybody in the views but this participant."""
        found = {
            seat.peer: seat.address
            for level in range(1, self.levels + 1)
            for known in self.lines(level)
            for seat in known.row.delegates
        }
        found.pop(self.me, None)
        return found


def _content(row: SubsystemRow) -> tuple[object, ...]:
    return row.delegates, row.interest, row.count
