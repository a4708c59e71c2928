"""Losses that no later event shows: a publisher that has nothing new repeats where it stands.

What it says of itself is believed. What others pass on only counts for streams this node follows already, and a few
places ahead: nobody can make it ask for what never was.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound
from gossamer.core.machine import SECOND_US
from gossamer.core.patterns import Pattern, Tag
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Bucket, Buckets
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import Latest
from gossamer.protocols.recovery.noticing import Noticing
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing
from gossamer.protocols.recovery.streams import Streams

TAILS_MAX = 10_000
"Patterns of which our own publications are followed."
HEARSAY_MAX = 16
"Places ahead that are believed when another than the publisher tells of them."
LATEST_PER_S = 50
"Such messages of one peer that are heard."
CLAIMED_PER_S, CLAIMED_BURST = 200, 4000
"""Places one peer is believed to have filled, on its word alone: it may be nobody's publisher. In a minute, as long as
a loss is asked for, it cannot claim as many as are remembered, and so push out what others lost."""
NEW_LIFE = 100
"What it takes of these to be followed from now on."


class Idle(Struct, frozen=True):
    """Timer: see whether anything of this pattern was published lately."""

    signature: int
    due_us: int


class Say(Struct, frozen=True):
    """Timer: go on saying where our streams stand."""


class Tail:
    """Where our own publications of one pattern stand."""

    __slots__ = ("began_us", "due_us", "incarnation", "last_us", "pattern", "repeats", "sequence")

    def __init__(self, pattern: Pattern, incarnation: int, began_us: int) -> None:
        self.pattern, self.incarnation, self.began_us = pattern, incarnation, began_us
        self.sequence = self.last_us = self.repeats = 0
        self.due_us: int | None = None
        "When its timer goes off, if one is set."


class Tails:
    """Both sides: what we tell of ourselves, what we hear of others."""

    def __init__(
        self,
        node: Stack,
        ground: Ground,
        streams: Streams,
        noticing: Noticing,
        passing: Passing,
        params: Callable[[Topic], Params],
    ) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.streams, self.noticing, self.passing = streams, noticing, passing
        self.own: dict[int, Tail] = {}
        self.untold: dict[int, None] = {}
        "Patterns of ours that nobody is told of."
        self.heard = Buckets(LATEST_PER_S, 2 * LATEST_PER_S)
        self.ready: dict[int, None] = {}
        "Those of our own whose turn it is: an event of many patterns ends as many streams at once."
        self.pace = Bucket(LATEST_PER_S, LATEST_PER_S, node.now_us)
        self.saying = False
        "Whether a timer is set for those that are left."
        self.claimed = Buckets(CLAIMED_PER_S, CLAIMED_BURST)

    def bounds(self) -> Iterator[Bound]:
        yield "tails", len(self.own), TAILS_MAX
        yield "patterns nobody is told of", len(self.untold), TAILS_MAX
        yield "tails whose turn it is", len(self.ready), TAILS_MAX

    def lives_by(self) -> Iterator[Struct]:
        for signature, tail in self.own.items():
            if tail.due_us is not None:
                yield Idle(signature, tail.due_us)
        if self.ready:
            yield Say()

    # -- of ourselves -----------------------------------------------------------------------------------------

    def published(self, event: Event) -> None:
        matching: dict[int, Pattern] | None = None
        for tag in event.tags:
            if tag.pattern in self.untold:
                continue
            tail = self.own.get(tag.pattern)
            if tail is None or tail.incarnation != event.id.incarnation:
                if matching is None:
                    matching = {each.signature: each for each in self.ground.patterns(event.topic, event.asked)}
                tail = self._open(tag, matching.get(tag.pattern), event)
            if tail is not None:
                tail.sequence, tail.last_us, tail.repeats = tag.sequence, self.node.now_us, 0
                if tail.due_us is None:
                    self.ready.pop(tag.pattern, None)
                    self._go_on(tail)

    def _open(self, tag: Tag, pattern: Pattern | None, event: Event) -> Tail | None:
        signature = tag.pattern
        if pattern is None or not self.params(pattern.topic).tail_after_us:
            self.untold[signature] = None
            if len(self.untold) > TAILS_MAX:
                self.untold.clear()
            return None
        self.own.pop(signature, None)
        tail = self.own[signature] = Tail(pattern, event.id.incarnation, began_us(event, tag))
        if len(self.own) > TAILS_MAX:
            del self.own[next(iter(self.own))]
        return tail

    def tuned(self) -> None:
        """Parameters changed: what was not told may be from now on."""
        self.untold.clear()
        self.ready.clear()
        for tail in self.own.values():
            if tail.due_us is None:
                self._go_on(tail)

    def _go_on(self, tail: Tail) -> None:
        """Sets the timer of a tail that has none, if there is anything left to say."""
        after_us = self.params(tail.pattern.topic).tail_after_us
        if after_us and tail.repeats < rules.TAIL_REPEATS:
            wait_us = max(1, tail.last_us + rules.tail_wait_us(after_us, tail.repeats) - self.node.now_us)
            tail.due_us = self.node.now_us + wait_us
            self.node.out.timer(wait_us, Idle(tail.pattern.signature, tail.due_us))

    def on_idle(self, timer: Idle) -> None:
        tail = self.own.get(timer.signature)
        if tail is None or tail.due_us != timer.due_us:
            return
        tail.due_us = None
        after_us, now_us = self.params(tail.pattern.topic).tail_after_us, self.node.now_us
        if after_us and now_us >= tail.last_us + rules.tail_wait_us(after_us, tail.repeats):
            self.ready[timer.signature] = None
            self._say()
        else:
            self._go_on(tail)

    def on_say(self, timer: Say) -> None:
        self.saying = False
        self._say()

    def _say(self) -> None:
        """Those whose turn it is, first come first served, no faster than others listen."""
        now_us = self.node.now_us
        while self.ready and self.pace.take(now_us):
            tail = self.own.get(signature := next(iter(self.ready)))
            del self.ready[signature]
            if tail is not None:
                said = Latest(
                    self.node.me, tail.incarnation, tail.pattern, tail.sequence, max(0, now_us - tail.began_us)
                )
                self.passing.latest(said, via=self.node.me)
                tail.repeats, tail.last_us = tail.repeats + 1, now_us
                self._go_on(tail)
        if self.ready and not self.saying:
            self.saying = True
            self.node.out.timer(SECOND_US // 10, Say())

    # -- of others --------------------------------------------------------------------------------------------

    def on_latest(self, peer: Peer, latest: Latest) -> None:
        if latest.source == self.node.me or not self.heard.take(peer, self.node.now_us):
            return
        if self._behind(peer, latest) or self.ground.tree:
            self.passing.latest(latest, via=peer)

    def _behind(self, peer: Peer, latest: Latest) -> bool:
        """Whether this shows that something is missing here."""
        signature = latest.pattern.signature
        if signature not in self.streams.local or not self.ground.wants(latest.pattern):
            return False
        who = (latest.source, latest.incarnation)
        source = self.streams.sources.get(who)
        if peer == latest.source:
            if source is None and not self.claimed.take(peer, self.node.now_us, NEW_LIFE):
                return False
            source = self.streams.source(*who)
            younger = self.node.now_us - latest.age_us > self.streams.expected_us(signature, source)
            self.streams.hear_of(signature, who, source)
            last = source.highest.setdefault(signature, 0 if younger else latest.sequence)
            places = min(latest.sequence - max(last, source.claimed.get(signature, 0)), rules.GAP_MAX)
            if places > 0 and not self.claimed.take(peer, self.node.now_us, places):
                return False
        elif source is None or latest.sequence > source.highest.get(signature, -HEARSAY_MAX) + HEARSAY_MAX:
            return False
        if signature not in source.highest:
            return False
        return self.noticing.claim(*who, signature, source, latest.sequence)


def began_us(event: Event, tag: Tag) -> int:
    """When the count of a tag began; where it does not tell, very long ago: then nobody expects all of it."""
    return event.published_us - 1000 * tag.age_ms if tag.age_ms or tag.sequence == 1 else 0
