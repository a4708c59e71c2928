"""Spreads whose patterns are topics: an event is counted by its own topic and by every topic that includes it."""

from collections.abc import Iterable, Mapping, Sequence

from gossamer.core.events import Attribute
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic


class Topical:
    """What recovery asks of such a spread, but for `towards`. Filters run where events are read: losses are seen by
    topic."""

    tree = False
    node: Stack

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return patterns_of(self.node, topic)

    def local(self) -> Sequence[Pattern]:
        """The widest topics our users subscribed to."""
        interest, includes = self.node.interest, self.node.hierarchy.includes
        return in_order(
            topic
            for topic in interest.subscribed
            if not any(other != topic and includes(other, topic) for other in interest.subscribed)
        )

    def known(self) -> Sequence[Pattern]:
        """These, the communities this node is in, and those it hands events to."""
        outside = () if self.node.outside is None else self.node.outside.topics()
        return in_order([*(pattern.topic for pattern in self.local()), *self.node.interest.mine(), *outside])

    def wants(self, pattern: Pattern) -> bool:
        return self.node.interest.wants(pattern.topic)


def patterns_of(node: Stack, topic: Topic) -> tuple[Pattern, ...]:
    return tuple([Pattern(each) for each in (topic, *node.hierarchy.ancestors(topic))])


def in_order(topics: Iterable[Topic]) -> list[Pattern]:
    return sorted(map(Pattern, dict.fromkeys(topics)), key=lambda pattern: pattern.signature)
