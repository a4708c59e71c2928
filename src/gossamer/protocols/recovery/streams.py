"""The streams this node follows, and what is missing of each.

A stream is what one incarnation of a publisher counts by one pattern. What its events say is proved; what others say of
it is hearsay, and moves nothing but the losses asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound
from gossamer.core.machine import Missing
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.lost import LostBuffer
from gossamer.protocols.recovery.gaps import GAPS_MAX, Gap, Gaps, runs
from gossamer.protocols.recovery.params import Params

LOST_MAX = 20_000
SOURCES_MAX = 10_000

Life: TypeAlias = tuple[Peer, int]
"A publisher, and its incarnation."


class Source:
    """One incarnation of a publisher."""

    __slots__ = ("claimed", "highest", "route", "since_us", "uncounted")

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        "Of what it began to count later, everything that came is known: nothing was forgotten since."
        self.highest: dict[int, int] = {}
        "The last place heard of each local pattern."
        self.claimed: dict[int, int] = {}
        "The last place somebody said there is."
        self.uncounted: dict[int, None] = {}
        "Local patterns by which not all its events are counted, as was said."
        self.route: tuple[Peer, ...] = ()


class Streams:
    """Every stream of our patterns, as far as it came, and what is missing of it.

    A pattern that another one of ours includes is followed too: what is missing of it is known when that one goes."""

    def __init__(self, node: Stack, params: Callable[[Topic], Params]) -> None:
        self.node, self.params = node, params
        self.local: dict[int, Pattern] = {}
        self.since_us: dict[int, int] = {}
        "When each of them was subscribed to."
        self.patterns: dict[int, Pattern] = {}
        "Those of which something may be missing: these,"
        self.leaving: dict[int, None] = {}
        "and some that went, until nothing of them is."
        self.sources: dict[Life, Source] = {}
        self.heard_of: dict[int, dict[Life, Source]] = {}
        "Those of which anything is known, by pattern."
        self.forgot_us = 0
        "When one of them was last forgotten."
        self.crowded = False
        "Whether so many are known that it matters which of them is used."
        self.lost = LostBuffer(LOST_MAX)
        self.gaps = Gaps(node, self.lost)
        self.interest_changed(node.interest.whole())

    def bounds(self) -> Iterator[Bound]:
        yield "publishers", len(self.sources), SOURCES_MAX
        yield "losses", len(self.lost), LOST_MAX
        yield "gaps", len(self.gaps.waiting), GAPS_MAX + 1

    def interest_changed(self, change: Change) -> None:
        by_content, widest = self.node.interest.by_content, self.node.interest.widest
        came_us = [self.since_us.get(each.signature, self.node.now_us) for each in change.unfollowed]
        for each in change.came:
            pattern = each if by_content else Pattern(each.topic)
            if pattern.signature not in self.local:
                self.follow(pattern, True)
        for each in change.went:
            pattern = each if by_content else Pattern(each.topic)
            if pattern not in widest:
                self.follow(pattern, False)
        for pattern in change.followed:
            self._tell_missing(pattern, min(came_us, default=self.node.now_us))
        self._forget_missing()

    def follow(self, pattern: Pattern, on: bool) -> None:
        """This one is ours from now on, or no longer."""
        signature = pattern.signature
        if on:
            self.local[signature] = self.patterns[signature] = pattern
            self.since_us[signature] = self.node.now_us
            self.leaving.pop(signature, None)
        elif signature in self.local:
            del self.local[signature], self.since_us[signature]
            for source in self.heard_of.pop(signature, {}).values():
                source.highest.pop(signature, None)
                source.claimed.pop(signature, None)
                source.uncounted.pop(signature, None)
            self.leaving[signature] = None

    def _forget_missing(self) -> None:
        """Gives up what is missing of patterns that went, unless another one of ours includes them."""
        one_above, missing = self.node.interest.widest.one_above, self.lost.by_pattern
        for signature in [*self.leaving]:
            if signature not in missing or one_above(self.patterns[signature]) is None:
                self.lost.forget(signature)
                self.gaps.forget(signature)
                del self.patterns[signature], self.leaving[signature]

    # -- publishers -----------------------------------------------------------------------------------------------

    def source(self, publisher: Peer, incarnation: int) -> Source:
        """A publisher in one life of it; when there are too many, the one used longest ago begins anew."""
        life = (publisher, incarnation)
        source = self.sources.pop(life, None) or Source(self.forgot_us)
        self.sources[life] = source
        self.crowded = len(self.sources) > SOURCES_MAX // 2
        if len(self.sources) > SOURCES_MAX:
            self._forget_source(next(iter(self.sources)))
        return source

    def _forget_source(self, life: Life) -> None:
        source, self.forgot_us = self.sources.pop(life), self.node.now_us
        for signature in {**source.highest, **source.uncounted}:
            del self.heard_of[signature][life]
            if not self.heard_of[signature]:
                del self.heard_of[signature]

    def expected_us(self, signature: int, source: Source) -> int:
        """What this publisher began to count later, we should have from 1 on."""
        return max(self.since_us[signature], source.since_us)

    def hear_of(self, signature: int, life: Life, source: Source) -> None:
        """Something is known of this stream from now on."""
        self.heard_of.setdefault(signature, {})[life] = source

    # -- what is missing ----------------------------------------------------------------------------------------

    def miss(self, publisher: Peer, incarnation: int, pattern: Pattern, first: int, sought: int, last: int) -> None:
        """These places were passed over; those from `sought` on are asked for."""
        signature, now_us, params = pattern.signature, self.node.now_us, self.params(pattern.topic)
        self.lost.expire(signature, now_us - params.expiry_us)
        for sequence in range(sought, last + 1):
            self.lost.add((publisher, incarnation, signature, sequence), now_us)
        wide = self.node.interest.widest.held_by(pattern)
        if wide is None or not self._shown_by(self.since_us[wide.signature], pattern, now_us):
            self.gaps.add(Gap(now_us + params.patience_us, publisher, incarnation, pattern, first, sought, last))

    def _shown_by(self, came_us: int, pattern: Pattern, noticed_us: int) -> bool:
        """Whether one that includes this pattern, and came then, shows the same gap: not of what was lost before."""
        return came_us <= self.since_us[pattern.signature] or (
            noticed_us - came_us > self.params(pattern.topic).expiry_us
        )

    def _tell_missing(self, pattern: Pattern, came_us: int) -> None:
        """The one that included this pattern, and came then, is gone: what is missing of both is now ours to tell."""
        signature, ripe_us = pattern.signature, self.node.now_us + self.params(pattern.topic).patience_us
        places: dict[Life, list[int]] = {}
        for missed in self.lost.by_pattern.get(signature, ()):
            if self._shown_by(came_us, pattern, self.lost.noticed_us[missed]):
                places.setdefault(missed[:2], []).append(missed[3])
        for life, missing in places.items():
            for first, last in runs(sorted(missing)):
                self.gaps.add(Gap(ripe_us, *life, pattern, first, first, last))

    def not_counted(self, event: Event, patterns: Iterable[Pattern]) -> None:
        """An event of another node is not counted by these: those of them that are ours are told so, once."""
        if event.id.publisher == self.node.me:
            return
        life, held = (event.id.publisher, event.id.incarnation), self.node.interest.widest.held
        source = self.source(*life)
        for pattern in patterns:
            signature = pattern.signature
            if signature in self.local and pattern not in held and signature not in source.uncounted:
                source.uncounted[signature] = None
                self.hear_of(signature, life, source)
                self.node.out.effects.append(Missing(*life, pattern, 0, 0))

    def missing_since(self, event: Event) -> int | None:
        """When an event was first found to be missing; None: nobody noticed."""
        who, noticed_us = (event.id.publisher, event.id.incarnation), self.lost.noticed_us
        places = [(*who, tag.pattern, tag.sequence) for tag in event.tags] if who in self.lost.by_source else []
        return min([noticed_us[place] for place in places if place in noticed_us], default=None)

    def found(self, events: Sequence[Event]) -> None:
        """These of one publisher are here: under whatever patterns, they are missing no more."""
        publisher, incarnation, lost = events[0].id.publisher, events[0].id.incarnation, self.lost
        if (publisher, incarnation) not in lost.by_source:
            return
        for event in events:
            for tag in event.tags:
                place = publisher, incarnation, tag.pattern, tag.sequence
                if place in lost.noticed_us:
                    lost.remove(place)
