"""Events of this node's own that were spread together, and who has them."""

from collections.abc import Container, Sequence

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.live.links.control import How
from gossamer.live.spool.items import Outgoing, Waiting
from gossamer.wire.pack import Pack, opened


class HandedOver(Struct, frozen=True):
    """What became of publications; true when all of them are with enough members."""

    waiting: int
    "Events that too few have: they stay in the outbox, and are offered on."
    on_disk: int
    "Of those handed over, the fewest members that have an event on disk."
    in_memory: int
    "And in memory only. Both 0: that was long ago, or nothing was."
    given_up: int = 0
    "Events that nobody has: nobody wanted them, or nobody took them for too long."

    def __bool__(self) -> bool:
        return not self.waiting


class Row:
    """Events that share a row of the spool's outbox: it goes with the last of them."""

    __slots__ = ("first", "left", "since_us")

    def __init__(self, first: EventId, left: int, since_us: int) -> None:
        self.first, self.left, self.since_us = first, left, since_us
        "Their age is counted from then, by the clock of this life."


def rows_of(outbox: Sequence[Outgoing | Waiting], now_us: int) -> list[Row]:
    """For every event, the row it is in."""
    ages = [each.age_us if isinstance(each, Waiting) else 0 for each in outbox]
    rows = [Row(each.id, 1 + each.more, now_us - age_us) for each, age_us in zip(outbox, ages, strict=True)]
    return [row for row in rows for _ in range(row.left)]


class Parcel:
    """One event, or those of a pack for as long as they go the same way: then one count serves all of them."""

    __slots__ = ("answers", "asked", "at_s", "body", "events", "join", "rows", "told", "tries", "unwanted")

    def __init__(
        self, events: Sequence[Event], body: bytes | Pack, rows: Sequence[Row], join: bool, at_s: float
    ) -> None:
        self.events, self.body, self.rows, self.join, self.at_s = events, body, rows, join, at_s
        self.told: tuple[Peer, ...] = ()
        "To whom it went when it was last spread."
        self.tries = self.unwanted = 0
        "How often it was offered again, and how often nobody had wanted it by then."
        self.asked: tuple[Peer, ...] = ()
        "To whom it ever went: nobody else can have it from us."
        self.answers: dict[Peer, How] = {}
        "Who said what has become of it there."

    @property
    def ids(self) -> list[EventId]:
        return [event.id for event in self.events]

    def sealed(self, event_id: EventId) -> bytes:
        return opened(self.body)[event_id][1] if isinstance(self.body, Pack) else self.body

    def copies(self) -> tuple[int, int]:
        """How many members have it on disk, and in memory."""
        answers = [*self.answers.values()]
        return answers.count("disk"), answers.count("memory")

    def is_hopeful(self) -> bool:
        """Whether it went to anybody who may keep it."""
        return any(self.answers.get(peer) != "not" for peer in self.told)

    def enough(self, wanted: int, forgetful: Container[Peer], settled: bool) -> bool:
        """Whether so many have it on disk, or all that have a disk; where nobody has one, so many, or all, in memory.
        Who is known to be forgetful has none; of others that is not known before they answer. Who has not settled
        among the members does not know yet who all are."""
        disk, memory = self.copies()
        if disk >= wanted:
            return True
        if not settled:
            return False
        if any(peer not in self.answers and peer not in forgetful for peer in self.told):
            return False
        takers = sum(self.answers.get(peer) != "not" for peer in self.told)
        return takers > 0 and (disk > 0 or memory >= min(wanted, takers))

    def tell(self, peers: tuple[Peer, ...], again: bool) -> None:
        """It left for these; `again`: because they missed it, which makes the others no fewer."""
        if not again:
            self.told = peers
        self.asked = tuple(dict.fromkeys((*self.asked, *peers))) if self.asked else peers

    def apart(self) -> "list[Parcel]":
        """Every event by itself, from now on."""
        return [self._only(event, row) for event, row in zip(self.events, self.rows, strict=True)]

    def _only(self, event: Event, row: Row) -> "Parcel":
        one = Parcel([event], self.body, [row], self.join, self.at_s)
        one.told, one.tries, one.unwanted, one.asked = self.told, self.tries, self.unwanted, self.asked
        one.answers = {**self.answers}
        return one
