"""The streams this node follows, and what is missing of each.

A stream is what one incarnation of a publisher counts by one pattern. What its events say is proved; what others say of
it is hearsay, and moves nothing but the losses asked for.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound
from gossamer.core.machine import Missing
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.lost import LostBuffer
from gossamer.protocols.recovery.params import Params

LOST_MAX = 20_000
SOURCES_MAX = 10_000
GAPS_MAX = 1000
"Gaps that wait to be told; when there are more, the first is told early."


class Source:
    """One incarnation of a publisher."""

    __slots__ = ("claimed", "highest", "route", "uncounted")

    def __init__(self) -> None:
        self.highest: dict[int, int] = {}
        "The last place heard of each local pattern."
        self.claimed: dict[int, int] = {}
        "The last place somebody said there is."
        self.uncounted: dict[int, None] = {}
        "Local patterns by which not all its events are counted, as was said."
        self.route: tuple[Peer, ...] = ()


class Gap(Struct, frozen=True):
    """Places that were missing when it was noticed; told when it counts as a loss, if they still are."""

    ripe_us: int
    publisher: Peer
    incarnation: int
    pattern: Pattern
    first: int
    last: int


class Streams:
    """Every stream of our patterns, as far as it came, and what is missing of it."""

    def __init__(self, node: Stack, params: Callable[[Topic], Params]) -> None:
        self.node, self.params = node, params
        self.local: dict[int, Pattern] = {}
        self.since_us: dict[int, int] = {}
        "When each of them was subscribed to."
        self.sources: dict[tuple[Peer, int], Source] = {}
        self.crowded = False
        "Whether so many are known that it matters which of them is used."
        self.lost = LostBuffer(LOST_MAX)
        self.gaps: list[Gap] = []
        self.interest_changed(node.interest.whole())

    def bounds(self) -> Iterator[Bound]:
        yield "publishers", len(self.sources), SOURCES_MAX
        yield "losses", len(self.lost), LOST_MAX
        yield "gaps", len(self.gaps), GAPS_MAX + 1

    def interest_changed(self, change: Change) -> None:
        for pattern in change.unfollowed:
            self.follow(pattern, False)
        for pattern in change.followed:
            self.follow(pattern, True)

    def follow(self, pattern: Pattern, on: bool) -> None:
        """This one is ours from now on, or no longer."""
        if on:
            self.local[pattern.signature], self.since_us[pattern.signature] = pattern, self.node.now_us
        elif pattern.signature in self.local:
            self._forget(pattern.signature)

    def _forget(self, signature: int) -> None:
        del self.local[signature], self.since_us[signature]
        self.lost.forget(signature)
        for source in self.sources.values():
            source.highest.pop(signature, None)
            source.claimed.pop(signature, None)
            source.uncounted.pop(signature, None)

    def read_since_us(self, topic: Topic) -> int | None:
        """Since when our users read events of this topic, whichever of them; None: they do not."""
        above = (topic, *self.node.hierarchy.ancestors(topic))
        ours = [mine for each in above for mine in self.node.interest.widest.of_topic(each)]
        return min((self.since_us[mine.signature] for mine in ours), default=None)

    def source(self, publisher: Peer, incarnation: int) -> Source:
        """A publisher in one life of it; when there are too many, the one used longest ago begins anew."""
        who = (publisher, incarnation)
        source = self.sources.pop(who, None) or Source()
        self.sources[who] = source
        self.crowded = len(self.sources) > SOURCES_MAX // 2
        if len(self.sources) > SOURCES_MAX:
            del self.sources[next(iter(self.sources))]
        return source

    # -- what is missing ----------------------------------------------------------------------------------------

    def miss(self, publisher: Peer, incarnation: int, pattern: Pattern, first: int, last: int) -> None:
        """These places were passed over."""
        signature, now_us, params = pattern.signature, self.node.now_us, self.params(pattern.topic)
        self.lost.expire(signature, now_us - params.expiry_us)
        for sequence in range(first, last + 1):
            self.lost.add((publisher, incarnation, signature, sequence), now_us)
        self.gaps.append(Gap(now_us + params.patience_us, publisher, incarnation, pattern, first, last))
        self.tell_ripe()

    def not_counted(self, event: Event, patterns: Iterable[Pattern]) -> None:
        """An event of another node is not counted by these: those of them that are ours are told so, once."""
        if event.id.publisher == self.node.me:
            return
        source = self.source(event.id.publisher, event.id.incarnation)
        for pattern in patterns:
            if pattern.signature in self.local and pattern.signature not in source.uncounted:
                source.uncounted[pattern.signature] = None
                self.node.out.effects.append(Missing(event.id.publisher, event.id.incarnation, pattern, 0, 0))

    def missing_since(self, event: Event) -> int | None:
        """When an event was first found to be missing; None: nobody noticed."""
        who, noticed_us = (event.id.publisher, event.id.incarnation), self.lost.noticed_us
        since = [noticed_us.get((*who, tag.pattern, tag.sequence)) for tag in event.tags] if noticed_us else []
        return min((each for each in since if each is not None), default=None)

    def found(self, event: Event) -> None:
        """It is here: under whatever patterns, it is missing no more."""
        who = (event.id.publisher, event.id.incarnation)
        for tag in event.tags:
            self.lost.remove((*who, tag.pattern, tag.sequence))

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
