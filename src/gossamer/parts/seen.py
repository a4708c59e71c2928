"""Event ids already met, within a bound."""

from collections.abc import Sequence, Set

from gossamer.core.ids import EventId

NOTHING_OLD: Set[EventId] = frozenset()
"One for all: most nodes of a simulation never fill a generation."


class Seen:
    """Remembers at least the last `limit` ids in two generations; when the young one is full, the old one goes."""

    def __init__(self, limit: int = 100_000) -> None:
        self.limit = limit
        self.young: set[EventId] = set()
        self.old: Set[EventId] = NOTHING_OLD

    def __contains__(self, event_id: EventId) -> bool:
        return event_id in self.young or event_id in self.old

    def has_any(self, event_ids: Sequence[EventId]) -> bool:
        return not (self.young.isdisjoint(event_ids) and self.old.isdisjoint(event_ids))

    def add(self, event_id: EventId) -> bool:
        """True if the id is new."""
        if event_id in self.young or event_id in self.old:
            return False
        if len(self.young) >= self.limit:
            self.old, self.young = self.young, set()
        self.young.add(event_id)
        return True

    def add_all(self, event_ids: Sequence[EventId]) -> bool:
        """True if all of them are new; otherwise none is remembered."""
        ids = {*event_ids}
        if len(ids) < len(event_ids) or self.has_any(event_ids):
            return False
        if len(self.young) >= self.limit:
            self.old, self.young = self.young, set()
        self.young |= ids
        return True
