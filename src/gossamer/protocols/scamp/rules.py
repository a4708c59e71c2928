"""How SCAMP decides. Plain numbers in, plain answers out."""

import math
from collections.abc import Sequence

from gossamer.core.ids import Peer


def keeps(chance: float, view_size: int) -> bool:
    """Whether a copy of a subscription stays here: with probability 1 / (1 + view size)."""
    return chance * (1 + view_size) < 1


def steps_back(chance: float, degree_there: int, degree_here: int) -> bool:
    """Whether a walk returns to where it came from: only d / d' of the steps from d to d' > d neighbours are taken.

    A plain walk ends oftener at well-known nodes; this one (Metropolis, Hastings) ends anywhere alike."""
    return degree_there > 0 and chance * degree_here >= degree_there


def renewal_copies(size: int, extra: int) -> int:
    """Keepers a renewed subscription wants: (c + 1) ln N, what views should hold.

    The newcomer's rule (the contact's view + c), repeated at each renewal, lets views grow for ever: 100 members held
    12, 15, 18, 22, 25, 27 on average after the first six leases; with this one 11 to 12 throughout."""
    if size <= 2:
        return 1
    return min(size - 1, math.ceil((extra + 1) * math.log(size)))


def farewell(holders: Sequence[Peer], view: Sequence[Peer], extra: int) -> list[tuple[Peer, Peer | None]]:
    """Whom each holder puts in a leaver's place: its view in turn; the last c + 1 holders just drop it."""
    replacing = len(holders) - (extra + 1)
    told: list[tuple[Peer, Peer | None]] = []
    for i, holder in enumerate(holders):
        heirs = [peer for peer in view if peer != holder] if i < replacing else []
        told.append((holder, heirs[i % len(heirs)] if heirs else None))
    return told
