"""Which of a node's inboxes an event is for. Many filters are asked at once, by an index for each topic read."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from gossamer.core.events import Event
from gossamer.core.topics import Hierarchy, Topic, remember
from gossamer.live.inbox import Inbox

if TYPE_CHECKING:
    from gossamer.core.filters import Index

E = TypeVar("E", bound=Event)


class Audience:
    """All open inboxes."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.inboxes: list[Inbox] = []
        self._indexes: dict[Topic, Index[Inbox]] = {}
        self._by_topic: dict[Topic, tuple[list[Inbox], list[Index[Inbox]]]] = {}

    def add(self, inbox: Inbox) -> None:
        self.inboxes.append(inbox)
        self._by_topic.clear()
        if inbox.filter is not None and is_indexed(inbox):
            from gossamer.core.filters import Index  # a node that filters nothing need not load the grammar

            self._indexes.setdefault(inbox.topic, Index()).add(inbox, inbox.filter)

    def remove(self, inbox: Inbox) -> None:
        self.inboxes.remove(inbox)
        self._by_topic.clear()
        if is_indexed(inbox):
            index = self._indexes[inbox.topic]
            index.remove(inbox)
            if not len(index):
                del self._indexes[inbox.topic]

    def has(self, topic: Topic) -> bool:
        """Whether events of this topic may be for anybody."""
        return any(self._concerned(topic))

    def divided(self, topic: Topic, events: Sequence[E]) -> Iterator[tuple[Inbox, Sequence[E]]]:
        """Events of one topic, and to whom to offer which of them."""
        asked, indexes = self._concerned(topic)
        for inbox in asked:
            yield inbox, events
        for event in events if indexes else ():
            for index in indexes:
                for inbox in index.matches(event.attributes):
                    yield inbox, (event,)

    def _concerned(self, topic: Topic) -> "tuple[list[Inbox], list[Index[Inbox]]]":
        """Those to be offered every event of a topic, and the indexes that tell of each who else wants it."""
        known = self._by_topic.get(topic)
        if known is None:
            asked = [inbox for inbox in self.inboxes if not is_indexed(inbox) and inbox.wants(topic)]
            indexes = [index for wide, index in self._indexes.items() if self.hierarchy.includes(wide, topic)]
            known = remember(self._by_topic, topic, (asked, indexes))
        return known


def is_indexed(inbox: Inbox) -> bool:
    """Whether an inbox need not hear of what it does not want: others have a cursor or an order to move on."""
    return inbox.filter is not None and not inbox.name and inbox.order is None
