"""How SCAMP decides. Plain numbers in, plain answers out."""

import math
from collections.abc import Sequence

from gossamer.core.ids import Peer

RENEWED_AT = 0.9
"The part of a lease after which it is renewed, on average."


def keeps(chance: float, view_size: int) -> bool:
    """Whether a copy of a subscription stays here: with probability 1 / (1 + view size)."""
    return chance * (1 + view_size) < 1


def steps_back(chance: float, degree_there: int, degree_here: int) -> bool:
    """Whether a walk returns to where it came from: only d / d' of the steps from d to d' > d neighbours are taken.

    A plain walk ends oftener at well-known nodes; this one (Metropolis, Hastings) ends anywhere alike."""
    return degree_there > 0 and chance * degree_here >= degree_there


def wanted(size: int, extra: int) -> float:
    """Entries a view should have, and keepers a member: (c + 1) ln N, on average."""
    return 1.0 if size <= 2 else min(size - 1.0, (extra + 1) * math.log(size))


def renewal_copies(size: int, extra: int, chance: float) -> int:
    """Keepers a renewed subscription asks for, so that `wanted` keep it at any time: the last ones still do for the
    rest of their lease. Rounded by a draw: rounded up, views of small communities would be a fifth too large.

    The newcomer's rule (the contact's view + c), repeated at each renewal, lets views grow for ever: 100 members held
    12, 15, 18, 22, 25, 27 on average after the first six leases."""
    return max(1, math.floor(RENEWED_AT * wanted(size, extra) + chance))


def renewed_after(chance: float) -> float:
    """The part of a lease after which it is renewed: early enough to try again, never all at once."""
    return RENEWED_AT - 0.05 + 0.1 * chance


def farewell(holders: Sequence[Peer], view: Sequence[Peer], extra: int) -> list[tuple[Peer, Peer | None]]:
    """Whom each holder puts in a leaver's place: its view in turn; the last c + 1 holders just drop it."""
    replacing = len(holders) - (extra + 1)
    told: list[tuple[Peer, Peer | None]] = []
    for i, holder in enumerate(holders):
        heirs = [peer for peer in view if peer != holder] if i < replacing else []
        told.append((holder, heirs[i % len(heirs)] if heirs else None))
    return told
