"""Spreads whose patterns are topics: an event is counted by its own topic and by every topic that includes it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.core.draws import distinct, draw, fold, upper_pick
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic


class Topical:
    """What recovery asks of such a spread; each has a `towards` of its own. Filters run where events are read: losses
    are seen by topic."""

    tree = False
    instead: Pattern | None = None
    node: Stack
    _known: tuple[Sequence[Pattern], Sequence[Topic], Sequence[Topic], list[Pattern]] | None = None
    "What our patterns, communities and outlets were when this was last worked out, and all of their topics."

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return patterns_of(self.node, topic)

    def local(self) -> Sequence[Pattern]:
        """The widest topics our users subscribed to."""
        return self.node.interest.local()

    def known(self) -> Sequence[Pattern]:
        """These, the communities this node is in, and those it hands events to."""
        outside = () if self.node.outside is None else tuple(self.node.outside.topics())
        local, mine, before = self.local(), self.node.interest.mine(), self._known
        if before is None or before[0] is not local or before[1] is not mine or before[2] != outside:
            topics = [*(pattern.topic for pattern in local), *mine, *outside]
            before = self._known = local, mine, outside, in_order(topics)
        return before[3]

    def wants(self, pattern: Pattern) -> bool:
        return self.node.interest.wants(pattern.topic)

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        raise NotImplementedError

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, "Below"]], bool]:
        """Some of those who want all of one topic, of which this node could tell."""
        known = self.known()
        if not known:
            return (), True
        pattern = known[upper_pick(draw(key, 0), len(known))]
        peers, wanted = self.towards(pattern), Below(self.node.hierarchy, pattern.topic)
        return [(peers[i], wanted) for i in distinct(fold(key, 1), len(peers), k)], True

    def carries(self, topic: Topic, besides: Peer) -> bool:
        """Nobody has what it does not want itself."""
        return False


class Below(NamedTuple):
    """Wants a topic and what lies below it."""

    hierarchy: Hierarchy
    topic: Topic

    def matches(self, event: Event) -> bool:
        return self.hierarchy.includes(self.topic, event.topic)


def patterns_of(node: Stack, topic: Topic) -> tuple[Pattern, ...]:
    return tuple([Pattern(each) for each in (topic, *node.hierarchy.ancestors(topic))])


def in_order(topics: Iterable[Topic]) -> list[Pattern]:
    return sorted(map(Pattern, dict.fromkeys(topics)), key=lambda pattern: pattern.signature)
