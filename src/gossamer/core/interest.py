"""What this node takes part in: topics it reads, topics it publishes on. What our users want is kept here and nowhere
else; whoever needs more than the answers is told the difference that a subscription made."""

from collections.abc import Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING

from msgspec import Struct

from gossamer.core.covering import Covering
from gossamer.core.events import Event
from gossamer.core.pattern_index import PatternIndex, filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.topics import ROOT, Hierarchy, Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter


class Change(Struct, frozen=True):
    """The difference one subscription, or publication, made: what came, and what went."""

    came: tuple[Pattern, ...] = ()
    "What our users subscribe to now, and did not before."
    went: tuple[Pattern, ...] = ()
    joined: tuple[Topic, ...] = ()
    "Communities this node is a member of now, and was not before."
    left: tuple[Topic, ...] = ()
    followed: tuple[Pattern, ...] = ()
    "Patterns that none other of ours includes, and by which events are counted for us from now on."
    unfollowed: tuple[Pattern, ...] = ()


NO_CHANGE = Change()


class Interest:
    """A node belongs to the community of every topic it subscribes to or publishes on."""

    def __init__(self, hierarchy: Hierarchy, community: Topic = ROOT) -> None:
        self.hierarchy = hierarchy
        self.community = community
        "Where one community holds the whole network together: its topic."
        self.by_content = False
        "Whether the spread knows filters, so that events are counted by them, and not by topics only. It says so."
        self.patterns: dict[Pattern, Filter | None] = {}
        "What our users subscribed to."
        self.subscribed: dict[Topic, int] = {}
        "The topics of these, and how many patterns each has."
        self.publishing: dict[Topic, None] = {}
        self.index = PatternIndex(hierarchy)
        self.widest = Covering(hierarchy)
        "What events are counted by for us."
        self._mine: tuple[Topic, ...] | None = None
        self._local: list[Pattern] | None = None

    # -- changes ------------------------------------------------------------------------------------------------

    def subscribe(self, pattern: Pattern) -> Change:
        if pattern in self.patterns:
            return NO_CHANGE
        wanted, topic = filter_of(pattern), pattern.topic
        inside = self.takes_part(topic)
        self.patterns[pattern] = wanted
        self.subscribed[topic] = self.subscribed.get(topic, 0) + 1
        self.index.add(pattern, wanted)
        self.widest.add(self._counted(pattern))
        return self._changed(topic, inside, came=(pattern,))

    def unsubscribe(self, pattern: Pattern) -> Change:
        if pattern not in self.patterns:
            return NO_CHANGE
        topic, inside = pattern.topic, self.takes_part(pattern.topic)
        del self.patterns[pattern]
        self.subscribed[topic] -= 1
        if not self.subscribed[topic]:
            del self.subscribed[topic]
        self.index.remove(pattern)
        if self.by_content or topic not in self.subscribed:
            self.widest.remove(self._counted(pattern))
        return self._changed(topic, inside, went=(pattern,))

    def start_publishing(self, topic: Topic) -> Change:
        inside = self.takes_part(topic)
        self.publishing[topic] = None
        return self._changed(topic, inside)

    def stop_publishing(self, topic: Topic) -> Change:
        inside = self.takes_part(topic)
        self.publishing.pop(topic, None)
        return self._changed(topic, inside)

    def whole(self) -> Change:
        """All of it, for who comes late."""
        return Change((*self.patterns,), (), self.mine(), (), (*self.widest.shown,), ())

    def _counted(self, pattern: Pattern) -> Pattern:
        return pattern if self.by_content or not pattern.where else Pattern(pattern.topic)

    def _changed(
        self, topic: Topic, inside: bool, came: tuple[Pattern, ...] = (), went: tuple[Pattern, ...] = ()
    ) -> Change:
        sides, shown = (*self.widest.changed,), self.widest.shown
        self.widest.changed.clear()
        if sides:
            self._local = None
        moved = () if inside == self.takes_part(topic) else (topic,)
        if moved:
            self._mine = None
        if not (came or went or moved):
            return NO_CHANGE
        return Change(
            came,
            went,
            joined=() if inside else moved,
            left=moved if inside else (),
            followed=tuple(filter(shown.__contains__, sides)),
            unfollowed=tuple(filterfalse(shown.__contains__, sides)),
        )

    # -- questions ----------------------------------------------------------------------------------------------

    def mine(self) -> tuple[Topic, ...]:
        """The communities this node is a member of."""
        if self._mine is None:
            self._mine = tuple({**self.subscribed, **self.publishing})
        return self._mine

    def takes_part(self, topic: Topic) -> bool:
        """Whether this node is a member of the topic's own community."""
        return topic in self.subscribed or topic in self.publishing

    def wants(self, topic: Topic) -> bool:
        """Whether our user reads events of this topic."""
        subscribed = self.subscribed
        return topic in subscribed or not subscribed.keys().isdisjoint(self.hierarchy.ancestors(topic))

    def matches(self, event: Event) -> bool:
        """Whether our user reads this event: its topic, and attributes where somebody asked for some only."""
        return self.index.matches(event.topic, self.index.asked(event))

    def alike(self, events: Sequence[Event]) -> bool:
        """Whether what is answered here of one of these events holds for all: nothing counts but their one topic."""
        return not self.index.filtered and len({event.topic for event in events}) == 1

    def communities(self, topic: Topic) -> tuple[Topic, ...]:
        """Our communities that events of this topic concern, the nearest first. Empty: such an event is a parasite
        here."""
        return tuple([each for each in (topic, *self.hierarchy.ancestors(topic)) if self.takes_part(each)])

    def local(self) -> Sequence[Pattern]:
        """What events are counted by for us, sorted by signature."""
        if self._local is None:
            self._local = sorted(self.widest.shown, key=lambda pattern: pattern.signature)
        return self._local
