"""Which of a node's inboxes an event is for. Many filters are asked at once, by an index for each topic read."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from gossamer.core.events import Event
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.reading.inbox import Inbox

if TYPE_CHECKING:
    from gossamer.core.filters import Index

E = TypeVar("E", bound=Event)


class Audience:
    """All open inboxes."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.inboxes: dict[Inbox, None] = {}
        self._asked: dict[Topic, dict[Inbox, None]] = {}
        "Those that are offered every event of a topic."
        self._indexes: dict[Topic, Index[Inbox]] = {}

    def add(self, inbox: Inbox) -> None:
        self.inboxes[inbox] = None
        if inbox.filter is not None and is_indexed(inbox):
            from gossamer.core.filters import Index  # a node that filters nothing need not load the grammar

            self._indexes.setdefault(inbox.topic, Index()).add(inbox, inbox.filter)
        else:
            self._asked.setdefault(inbox.topic, {})[inbox] = None

    def remove(self, inbox: Inbox) -> None:
        topic = inbox.topic
        del self.inboxes[inbox]
        if is_indexed(inbox):
            self._indexes[topic].remove(inbox)
            if not len(self._indexes[topic]):
                del self._indexes[topic]
        else:
            del self._asked[topic][inbox]
            if not self._asked[topic]:
                del self._asked[topic]

    def has(self, topic: Topic) -> bool:
        """Whether events of this topic may be for anybody."""
        return any(self._concerned(topic))

    def readers(self, topic: Topic) -> list[Inbox]:
        """Everybody who reads all events of a topic, or some of them."""
        asked, indexes = self._concerned(topic)
        return [*asked, *(inbox for index in indexes for inbox in index)]

    def below(self, topic: Topic) -> list[Inbox]:
        """Everybody who reads a topic below this one."""
        inside = self.hierarchy.includes
        return [inbox for inbox in self.inboxes if inbox.topic != topic and inside(topic, inbox.topic)]

    def divided(self, topic: Topic, events: Sequence[E]) -> Iterator[tuple[Inbox, Sequence[E]]]:
        """Events of one topic, and to whom to offer which of them."""
        asked, indexes = self._concerned(topic)
        for inbox in asked:
            yield inbox, events
        for event in events if indexes else ():
            for index in indexes:
                for inbox in index.wanting(event):
                    yield inbox, (event,)

    def _concerned(self, topic: Topic) -> "tuple[list[Inbox], list[Index[Inbox]]]":
        """Those to be offered every event of a topic, and the indexes that tell of each who else wants it."""
        above = (topic, *self.hierarchy.ancestors(topic))
        asked = [inbox for wide in above if wide in self._asked for inbox in self._asked[wide]]
        return asked, [self._indexes[wide] for wide in above if wide in self._indexes]


def is_indexed(inbox: Inbox) -> bool:
    """Whether an inbox need not hear of what it does not want: others have an order to move on, or a filter so
    entangled that an index knows little of it."""
    return inbox.filter is not None and inbox.filter.exact and inbox.order is None
