"""Which of a node's inboxes an event is for. Many filters are asked at once, by an index for each topic read."""

from typing import TYPE_CHECKING

from gossamer.core.events import Event
from gossamer.core.topics import Hierarchy, Topic, remember
from gossamer.live.inbox import Inbox

if TYPE_CHECKING:
    from gossamer.core.filters import Index


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

    def of(self, event: Event) -> list[Inbox]:
        """Those to offer it to."""
        known = self._by_topic.get(event.topic)
        if known is None:
            asked = [inbox for inbox in self.inboxes if not is_indexed(inbox) and inbox.wants(event.topic)]
            indexes = [index for wide, index in self._indexes.items() if self.hierarchy.includes(wide, event.topic)]
            known = remember(self._by_topic, event.topic, (asked, indexes))
        asked, indexes = known
        if not indexes:
            return asked
        return [*asked, *(inbox for index in indexes for inbox in index.matches(event.attributes))]


def is_indexed(inbox: Inbox) -> bool:
    """Whether an inbox need not hear of what it does not want: others have a cursor or an order to move on."""
    return inbox.filter is not None and not inbox.name and inbox.order is None
