"""Which rows are believed.

A row on level 1 is a participant's word about itself. A row above is made by one of the delegates it names, who live
where it says; whoever passes it on changes nothing. With keys the seal shows who the author is, and everybody it names
must have been granted to take part; where somebody lives is its own word, or its grant's. No row is later than the
clock allows, or it could never be replaced.
"""

from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.condensing import fits
from gossamer.protocols.hpmcast.messages import SubsystemRow
from gossamer.protocols.hpmcast.tables import ViewTables

AHEAD_US = 600_000_000
"Clocks may differ by so much."
ROW_BYTES = 64
"A row beside its delegates and interest, about."
SEAT_BYTES = 24


def filters(row: SubsystemRow) -> int:
    """Characters of its filters."""
    return sum(len(pattern.where) for pattern in row.interest)


def cost(row: SubsystemRow) -> int:
    """Bytes of a row, about."""
    interest = sum(len(pattern.topic) + len(pattern.where) + 4 for pattern in row.interest)
    return ROW_BYTES + SEAT_BYTES * len(row.delegates) + interest + len(row.seal)


def is_sound(row: SubsystemRow, tables: ViewTables, now_us: int) -> bool:
    """Whether a row could have been made as rows are, but for its filters: these are costly to read."""
    lives = [seat.peer for seat in row.delegates]
    return (
        0 < row.stamp <= now_us + AHEAD_US
        and row.author in lives
        and len(lives) == len(dict.fromkeys(lives))
        and len(lives) <= (1 if len(row.about) == tables.levels else tables.redundancy)
        and (len(row.about) < tables.levels or row.count <= 1)
        and all(_is_below(seat.address, row.about, tables) for seat in row.delegates)
        and fits(row.interest)
    )


def _is_below(address: Address, about: Address, tables: ViewTables) -> bool:
    return len(address) == tables.levels and address[: len(about)] == about and tables.is_address(address)
