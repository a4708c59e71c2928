"""No owner may crowd a table: at most a quarter of its entries are of one owner where there are enough others, and an
even share where there are fewer than four owners. Whoever runs a thousand nodes gets no more of a neighbour's view than
whoever runs a few.

Two entries of one owner are always fine. Peers nobody named an owner for count as owned by as many different ones. A
network of one owner is not affected.
"""

from collections.abc import Collection, Mapping

from gossamer.core.ids import Peer

UNNAMED = 0


def share(size: int, owners: int) -> int:
    """Entries one owner may have of a table of this size, in which so many owners have some.

    A quarter is rounded down, it is a promise; an even share up, or tables of few owners could not grow."""
    return max(2, size // 4 if owners >= 4 else -(-size // max(1, owners)))


def counted(present: Collection[Peer], owners: Mapping[Peer, int]) -> tuple[dict[int, int], int]:
    """Entries by owner, as far as named, and how many owners there are."""
    counts: dict[int, int] = {}
    for peer in present:
        owner = owners.get(peer, UNNAMED)
        counts[owner] = counts.get(owner, 0) + 1
    unnamed = counts.pop(UNNAMED, 0)
    return counts, len(counts) + unnamed


def crowd(newcomer: Peer, present: Collection[Peer], owners: Mapping[Peer, int]) -> list[Peer]:
    """The entries of a newcomer's owner, if one more would be too many: it may only take the place of one of these.
    Empty: it is welcome."""
    owner = owners.get(newcomer, UNNAMED)
    if owner == UNNAMED:
        return []
    counts, there = counted(present, owners)
    same = counts.get(owner, 0)
    if same == len(present) or same < share(len(present) + 1, there):
        return []
    return [peer for peer in present if owners.get(peer, UNNAMED) == owner]


def is_surplus(peer: Peer, present: Collection[Peer], owners: Mapping[Peer, int]) -> bool:
    """Whether an entry's owner has too many: they came first, and others came later."""
    owner = owners.get(peer, UNNAMED)
    if owner == UNNAMED:
        return False
    counts, there = counted(present, owners)
    return there > 1 and counts.get(owner, 0) > share(len(present), there)


def surplus(newcomer: Peer, present: Collection[Peer], owners: Mapping[Peer, int]) -> Peer | None:
    """Whose place a newcomer takes in a table that is full: the oldest of an owner that has too many, if one has."""
    counts, there = counted(present, owners)
    mine = owners.get(newcomer, UNNAMED)
    there += mine == UNNAMED or mine not in counts
    counts.pop(mine, None)
    largest = max(counts, key=lambda owner: counts[owner], default=None)
    if largest is None or counts[largest] <= share(len(present), there):
        return None
    return next(peer for peer in present if owners.get(peer, UNNAMED) == largest)
