"""Events of this node's own that were spread together, and who has them."""

from collections.abc import Sequence

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.wire.pack import Pack, opened

MEMBERS_ENOUGH = 3
"Members that must have an event before its publisher may forget it (all, if there are fewer)."


class Row:
    """Events that share a row of the spool's outbox: it goes with the last of them."""

    __slots__ = ("first", "left")

    def __init__(self, first: EventId, left: int) -> None:
        self.first, self.left = first, left


def rows_of(outbox: Sequence[Outgoing | Waiting]) -> list[Row]:
    """For every event, the row it is in."""
    return [row for each in outbox for row in [Row(each.id, 1 + each.more)] * (1 + each.more)]


class Parcel:
    """One event, or those of a pack for as long as they go the same way: then one count serves all of them."""

    __slots__ = ("acked", "asked", "at_s", "body", "events", "join", "rows", "told", "tries", "unwanted")

    def __init__(
        self, events: Sequence[Event], body: bytes | Pack, rows: Sequence[Row], join: bool, at_s: float
    ) -> None:
        self.events, self.body, self.rows, self.join, self.at_s = events, body, rows, join, at_s
        self.told = 0
        "To how many it went when it was last spread."
        self.tries = self.unwanted = 0
        "How often it was offered again, and how often nobody had wanted it by then."
        self.asked: tuple[Peer, ...] = ()
        "To whom it ever went: nobody else can have it from us."
        self.acked: set[Peer] = set()

    @property
    def ids(self) -> list[EventId]:
        return [event.id for event in self.events]

    def sealed(self, event_id: EventId) -> bytes:
        return opened(self.body)[event_id][1] if isinstance(self.body, Pack) else self.body

    def enough(self) -> bool:
        return 0 < min(MEMBERS_ENOUGH, self.told) <= len(self.acked)

    def tell(self, peers: tuple[Peer, ...], again: bool) -> None:
        """It left for these; `again`: because they missed it, which makes the others no fewer."""
        if not again:
            self.told = len(peers)
        self.asked = tuple(dict.fromkeys((*self.asked, *peers))) if self.asked else peers

    def apart(self) -> "list[Parcel]":
        """Every event by itself, from now on."""
        return [self._only(event, row) for event, row in zip(self.events, self.rows, strict=True)]

    def _only(self, event: Event, row: Row) -> "Parcel":
        one = Parcel([event], self.body, [row], self.join, self.at_s)
        one.told, one.tries, one.unwanted, one.asked = self.told, self.tries, self.unwanted, self.asked
        one.acked = {*self.acked}
        return one
