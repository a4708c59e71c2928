"""Loss, alone or in bursts, link by link: what a network does, for those who play one."""

from gossamer.core.draws import BURST, chance, fold
from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer


def refuse_improbable(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise Misuse(f"{name} is a probability between 0 and 1, not {value}")


class GilbertElliott:
    """Loss in bursts: each link is good or bad, changes state now and then, and loses more while bad."""

    def __init__(self, seed: int, *, worsens: float, improves: float, good: float = 0.0, bad: float = 1.0) -> None:
        refuse_improbable(worsens=worsens, improves=improves, good=good, bad=bad)
        self.seed = seed
        self.worsens, self.improves, self.good, self.bad = worsens, improves, good, bad
        self.state: dict[tuple[Peer, Peer], tuple[bool, int]] = {}

    def lost(self, sender: Peer, target: Peer, key: int) -> bool:
        """Whether this transmission vanishes; the key is its own."""
        is_bad, count = self.state.get((sender, target), (False, 0))
        link_key = fold(fold(fold(self.seed, BURST), sender), target)
        turns = chance(link_key, count) < (self.improves if is_bad else self.worsens)
        is_bad = is_bad != turns
        self.state[sender, target] = (is_bad, count + 1)
        return bool(chance(key, target) < (self.bad if is_bad else self.good))


def bursts_of(seed: int, loss: float, burst: float) -> GilbertElliott:
    """Loses this share of everything, so many in a row on average."""
    worsens = 1.0 if loss >= 1 else min(1.0, loss / (burst * (1 - loss)))
    return GilbertElliott(seed, worsens=worsens, improves=0.0 if loss >= 1 else 1 / burst)
