"""How losses are noticed: the streams this node follows, and the gaps in them.

A stream is what one incarnation of a publisher counts by one pattern. What its events say is proved; what others say of
it is hearsay, and moves nothing but the losses asked for.
"""

from collections.abc import Callable

from msgspec import Struct

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Missing
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.lost import LostBuffer
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.params import Params

LOST_MAX = 20_000
SOURCES_MAX = 10_000
GAPS_MAX = 1000
"Gaps that wait to be told; when there are more, the first is told early."


class Source:
    """One incarnation of a publisher."""

    __slots__ = ("claimed", "highest", "route")

    def __init__(self) -> None:
        self.highest: dict[int, int] = {}
        "The last place heard of each local pattern."
        self.claimed: dict[int, int] = {}
        "The last place somebody said there is."
        self.route: tuple[Peer, ...] = ()


class Gap(Struct, frozen=True):
    """Places that were missing when it was noticed; told when it counts as a loss, if they still are."""

    ripe_us: int
    publisher: Peer
    incarnation: int
    pattern: Pattern
    first: int
    last: int


class Noticing:
    """Every stream of our patterns, and what is missing of it."""

    def __init__(self, node: Stack, ground: Ground, params: Callable[[Topic], Params]) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.local: dict[int, Pattern] = {}
        self.since_us: dict[int, int] = {}
        "When each of them was subscribed to."
        self.sources: dict[tuple[Peer, int], Source] = {}
        self.lost = LostBuffer(LOST_MAX)
        self.gaps: list[Gap] = []
        self.noticed: list[Callable[[Pattern], None]] = []
        "Who wants to know of a new loss."

    def interest_changed(self) -> None:
        local = {pattern.signature: pattern for pattern in self.ground.local()}
        for signature in self.local:
            if signature not in local:
                self._forget(signature)
        self.since_us = {signature: self.since_us.get(signature, self.node.now_us) for signature in local}
        self.local = local

    def _forget(self, signature: int) -> None:
        self.lost.forget(signature)
        for source in self.sources.values():
            source.highest.pop(signature, None)
            source.claimed.pop(signature, None)

    def asked_since(self, pattern: Pattern) -> int:
        """Since when our users read what matches this pattern; if none does, it is for others, and for as long as it is
        there."""
        includes = self.node.hierarchy.includes
        times = [self.since_us[sig] for sig, mine in self.local.items() if includes(mine.topic, pattern.topic)]
        return min(times, default=0)

    def meet(self, publisher: Peer, incarnation: int) -> Source:
        """A publisher heard of for the first time, in this life of it."""
        source = self.sources[publisher, incarnation] = Source()
        if len(self.sources) > SOURCES_MAX:
            del self.sources[next(iter(self.sources))]
        return source

    def miss(self, publisher: Peer, incarnation: int, signature: int, first: int, last: int) -> None:
        """These places of a local pattern were passed over."""
        pattern, now_us = self.local[signature], self.node.now_us
        params = self.params(pattern.topic)
        self.lost.expire(signature, now_us - params.expiry_us)
        for sequence in range(first, last + 1):
            self.lost.add((publisher, incarnation, signature, sequence), now_us)
        self.gaps.append(Gap(now_us + params.patience_us, publisher, incarnation, pattern, first, last))
        self.tell_ripe()
        for tell in self.noticed:
            tell(pattern)

    def claim(self, publisher: Peer, incarnation: int, signature: int, source: Source, sequence: int) -> bool:
        """Somebody said that the publisher got as far as this. Whether that is news."""
        heard = source.highest[signature]
        if sequence <= max(heard, source.claimed.get(signature, 0)):
            return False
        first = rules.first_lost(max(heard, source.claimed.get(signature, 0)), sequence + 1)
        source.claimed[signature] = sequence
        self.miss(publisher, incarnation, signature, first, sequence)
        return True

    def found(self, event_id: EventId, signature: int, sequence: int) -> int | None:
        """An event came. When its place was found missing, if it was."""
        return self.lost.remove((event_id.publisher, event_id.incarnation, signature, sequence))

    def expire(self, signature: int) -> None:
        pattern = self.local.get(signature)
        if pattern is not None:
            self.lost.expire(signature, self.node.now_us - self.params(pattern.topic).expiry_us)

    def tell_ripe(self) -> None:
        """Tells what counts as a loss by now."""
        waiting: list[Gap] = []
        for number, gap in enumerate(self.gaps):
            if gap.ripe_us <= self.node.now_us or len(self.gaps) - number > GAPS_MAX:
                self._tell(gap)
            else:
                waiting.append(gap)
        self.gaps = waiting

    def _tell(self, gap: Gap) -> None:
        for first, last in runs(self._still_missing(gap)):
            self.node.out.effects.append(Missing(gap.publisher, gap.incarnation, gap.pattern, first, last))

    def _still_missing(self, gap: Gap) -> list[int]:
        signature = gap.pattern.signature
        return [
            sequence
            for sequence in range(gap.first, gap.last + 1)
            if (gap.publisher, gap.incarnation, signature, sequence) in self.lost
        ]


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last of each stretch without holes."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
