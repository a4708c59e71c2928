"""Gaps that were noticed, until they count as losses: then our users are told, if something is missing still."""

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Missing
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.parts.lost import LostBuffer

GAPS_MAX = 1000
"Gaps that wait to be told; when there are more, the first is told early."


class Gap(Struct, frozen=True):
    """Places that were missing when it was noticed; told when it counts as a loss, if they still are."""

    ripe_us: int
    publisher: Peer
    incarnation: int
    pattern: Pattern
    first: int
    sought: int
    "The first of them that is asked for: there may be too many."
    last: int


class Gaps:
    """In the order they were noticed."""

    def __init__(self, node: Stack, lost: LostBuffer) -> None:
        self.node, self.lost = node, lost
        self.waiting: list[Gap] = []

    def add(self, gap: Gap) -> None:
        self.waiting.append(gap)
        self.tell_ripe()

    def forget(self, signature: int) -> None:
        """Nobody wants this pattern any more."""
        self.waiting = [gap for gap in self.waiting if gap.pattern.signature != signature]

    def tell_ripe(self) -> None:
        """Tells what counts as a loss by now."""
        if not self.waiting:
            return
        waiting: list[Gap] = []
        for number, gap in enumerate(self.waiting):
            if gap.ripe_us <= self.node.now_us or len(self.waiting) - number > GAPS_MAX:
                self._tell(gap)
            else:
                waiting.append(gap)
        self.waiting = waiting

    def _tell(self, gap: Gap) -> None:
        beyond = [(gap.first, gap.sought - 1)] if gap.first < gap.sought else []
        for first, last in joined(beyond + runs(self._still_missing(gap))):
            self.node.out.effects.append(Missing(gap.publisher, gap.incarnation, gap.pattern, first, last))

    def _still_missing(self, gap: Gap) -> list[int]:
        signature = gap.pattern.signature
        return [
            sequence
            for sequence in range(gap.sought, gap.last + 1)
            if (gap.publisher, gap.incarnation, signature, sequence) in self.lost
        ]


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last of each stretch without holes."""
    return joined([(number, number) for number in numbers])


def joined(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that follow each other made one."""
    found: list[tuple[int, int]] = []
    for first, last in stretches:
        if found and found[-1][1] + 1 == first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found
