"""Since when our users read what."""

from collections.abc import Sequence
from itertools import chain, repeat

from gossamer.core.ids import EventId
from gossamer.core.interest import Change
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic

LEFT_MAX = 1000
"Topics that went, and are still read as part of another, of which it is known since when."


class Reading:
    """Topic by topic: what was published earlier, nobody here asked for."""

    def __init__(self, node: Stack) -> None:
        self.node = node
        self.begun_us: dict[Topic, int] = {}
        self.left: dict[Topic, None] = {}
        "Those of them that our users read as part of another topic only."
        self.interest_changed(node.interest.whole())

    def interest_changed(self, change: Change) -> None:
        """A topic that is read already, as part of another, is read on; and so is one that another takes over."""
        interest = self.node.interest
        for pattern in change.came:
            self.left.pop(pattern.topic, None)
            begun_us = self.since_us(pattern.topic)
            self.begun_us[pattern.topic] = self.node.now_us if begun_us is None else begun_us
        for pattern in change.went:
            if pattern.topic not in interest.subscribed:
                self._go(pattern.topic)

    def _go(self, topic: Topic) -> None:
        wants = self.node.interest.wants
        self.left[topic] = None
        gone = [*self.left][:-LEFT_MAX] if wants(topic) else [each for each in self.left if not wants(each)]
        for each in gone:
            del self.left[each], self.begun_us[each]

    def since_us(self, topic: Topic) -> int | None:
        """Since when they read events of a topic, whichever of them; None: they do not."""
        above = (topic, *self.node.hierarchy.ancestors(topic))
        return min([self.begun_us[each] for each in above if each in self.begun_us], default=None)

    def missing(self, ids: Sequence[EventId], ages_us: Sequence[int], since_us: int) -> tuple[EventId, ...]:
        """What is new to us of events that somebody has had for so long, and no older than this."""
        me, seen, oldest_us = self.node.me, self.node.door.seen, self.node.now_us - since_us
        return tuple(
            [
                each
                for each, age_us in zip(ids, chain(ages_us, repeat(0)))
                if age_us <= oldest_us and each.publisher != me and each not in seen
            ]
        )
