"""How peers of the overlay decide. Plain numbers and bits in, plain answers out."""

from collections.abc import Callable, Sequence

from gossamer.core.draws import chance, draw, upper_pick
from gossamer.protocols.pgrid.places import Bits, across, common

MUCH = 2.0
"So many times as crowded as another leaf, a peer moves there."


def is_full(load: int, load_max: int, replicas: int, replicas_min: int) -> bool:
    """Whether the peers of a leaf divide: it holds much, and there are enough of them for both halves."""
    return load > load_max and replicas >= 2 * replicas_min


def parting(places: Sequence[Bits]) -> int | None:
    """The level at which places first differ; None: they do not. What lies between the first and the last in order has
    as much in common as those two."""
    if len(places) < 2:
        return None
    first, last = min(places), max(places)
    level = common(first, last)
    return None if level in (len(first), len(last)) else level


def share(mine: int, others: int, replicas: int, replicas_min: int) -> float:
    """The chance with which a peer takes the half that has `mine` registrations, so that peers divide as the load does,
    but for `replicas_min` in each half."""
    least = min(0.5, replicas_min / replicas)
    return min(1 - least, max(least, mine / (mine + others)))


def descend(path: Bits, theirs: Bits, load: Callable[[Bits], int], key: int) -> Bits:
    """Where a peer goes that is still where its leaf was, when another has gone further: level by level along the
    other's path, unless a draw takes it to the other half. A half with nothing in it nobody takes."""
    for level in range(len(path), len(theirs)):
        other = load(across(theirs, level))
        if other and chance(key, level) * (other + load(theirs[: level + 1])) < other:
            return across(theirs, level)
    return theirs


def is_better(load: int, replicas: int, there: int, replicas_there: int, replicas_min: int) -> bool:
    """Whether a peer is of more use in another leaf than in its own. One that holds nothing needs nobody."""
    if load == 0 or there == 0:
        return load < there
    if replicas <= replicas_min:
        return False
    return replicas_there < replicas_min or MUCH * replicas_there * load < replicas * there


def parts(k: int, counts: Sequence[int], key: int) -> list[int]:
    """How many of k different ones to take from each of several heaps, so that everybody has the same chance: each in
    turn is drawn from what is left of all."""
    left, taken = [*counts], [0] * len(counts)
    for turn in range(min(k, sum(counts))):
        rank = upper_pick(draw(key, turn), sum(left))
        for heap, count in enumerate(left):
            if rank < count:
                left[heap] -= 1
                taken[heap] += 1
                break
            rank -= count
    return taken
