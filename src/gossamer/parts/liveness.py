"""Telling the dead from the unlucky, by questions that want an answer.

A question or its answer is lost with probability p = 1 - (1 - loss)²; a live peer fails to answer n questions in a row
with p ** n. So nobody is given up for one silence: the silent are asked again, several times within the interval that
the others are asked once in, and given up after n questions in vain. Counting questions instead of time means that a
node which was itself stopped for a while does not take everybody else for dead when it wakes up.
"""

from collections.abc import Iterable

from gossamer.core.ids import Peer

DOUBTFUL = 2
"""Questions in vain after which a peer is still used, but not named to others any more: news of the dead would travel
in circles, and outlive them."""


class Unanswered:
    """How many times in a row each peer was asked in vain."""

    def __init__(self) -> None:
        self.asks: dict[Peer, int] = {}

    def asked(self, peers: Iterable[Peer]) -> None:
        for peer in peers:
            self.asks[peer] = self.asks.get(peer, 0) + 1

    def heard(self, peer: Peer) -> None:
        self.asks.pop(peer, None)

    def silent(self, among: Iterable[Peer]) -> list[Peer]:
        """Those of them that owe an answer."""
        return [peer for peer in among if peer in self.asks]

    def sure(self, among: Iterable[Peer]) -> list[Peer]:
        """Those of them there is no doubt about."""
        return [peer for peer in among if self.asks.get(peer, 0) < DOUBTFUL]

    def lost(self, most: int) -> list[Peer]:
        """Those that were asked in vain so many times."""
        return [peer for peer, asks in self.asks.items() if asks >= most]


def false_alarms_per_hour(loss: float, asks: int, every_us: int) -> float:
    """How often a live peer, asked once in an interval while all is well, is given up: (intervals an hour) × p ** n.

    At 10 % loss (p = 0.19) and an interval of 3 s: 16 questions 3 × 10⁻⁹, 12 questions 3 × 10⁻⁶, 3 questions 8."""
    unanswered = 1 - (1 - loss) ** 2
    return 3_600_000_000 / every_us * unanswered**asks


def intervals_to_notice(asks: int, asks_per_interval: int) -> int:
    """After how many intervals at most a dead peer is given up: one may pass before it is asked for the first time."""
    return 1 + -(-asks // asks_per_interval)
