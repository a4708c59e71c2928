"""A durable subscription decides: what is handed to whom, what comes again, and what must be on disk before.

Nothing here does I/O or asks the time. What the disk should do is returned as a value (`Read`, `Save`); what it did is
told (`page`, `saved`). The rules:

- An item is handed out only if the disk knows that it may have been (`offered`): after a crash it comes again, marked.
- An acknowledgement is over once the `Save` that has it is committed.
- The position moves only over what is acknowledged or not wanted. Nothing is skipped.
- Each item is with one reader at a time. It comes back when that reader goes, or is silent for too long.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.live.reading.bookmarks import Coverage, stream_of
from gossamer.live.reading.deliveries import WHY_GONE, Delivery, Gap
from gossamer.live.reading.handed import Given, HandedOut, Hands
from gossamer.live.reading.ordering import Order
from gossamer.live.reading.position import Position
from gossamer.live.reading.turns import ReaderId, Turn, Turns, turns_for
from gossamer.live.spool.progress import Progress, Save

PAGE = 256
"""Items that may be handed out without asking the disk again, and places beyond the last one known. After a crash so
many may be marked that were never handed out: a mark says that it may have been, and none is missing."""
FEW = 64
"With fewer than these left of them, the next page is asked for."
MOVED = 1000
"Places the position may move over what is not wanted before the disk is told, if there is nothing else to tell it."
READ_BYTES = 4 << 20
GAPS_MAX = 100
"Gaps that wait to be told; further ones of events that may yet come are left out."


class Read(NamedTuple):
    """Please: what the log has after this place."""

    after: int
    items: int = PAGE
    bytes: int = READ_BYTES


class DurableSubscription:
    """One (owner, name), while its node runs. Readers are numbers."""

    def __init__(
        self,
        progress: Progress,
        coverage: Coverage,
        matches: Callable[[Delivery], bool],
        order: Order | None,
        *,
        patience_us: int = 30_000_000,
        items_max: int = 10_000,
        bytes_max: int = 64 << 20,
    ) -> None:
        self.coverage, self.matches, self.order = coverage, matches, order
        self.items_max, self.bytes_max = items_max, bytes_max
        self.on_disk = progress
        self.position = Position(progress)
        self.out = HandedOut(patience_us)
        self.turns: Turns = turns_for(order)
        self._waiting: dict[int, tuple[Turn, Delivery]] = {}
        "What has its turn and is not out, by place."
        self._turn = 0
        self._gaps: deque[tuple[Gap, int]] = deque()
        "What to tell, and how many of those that retention took were told of afterwards."
        self._gone = self._told = progress.told
        self._before = progress.offered
        "What a former life may have handed out."
        self._given: set[int] = set()
        "Places handed out in this one, and not acknowledged."
        self._handed = 0
        "The highest place handed out in this one."
        self._offering = progress.offered
        self._unoffered: deque[int] = deque()
        "Places examined that the disk need know of before they are handed out."
        self._next_save = 1
        self._acked_in = 0
        "The number of the save that the last acknowledgement is in."
        self._saving: Save | None = None
        self._reading: Read | None = None

    def tune(self, items_max: int, bytes_max: int, patience_us: int) -> None:
        self.items_max, self.bytes_max, self.out.patience_us = items_max, bytes_max, patience_us

    # -- readers come and go ------------------------------------------------------------------------------------

    @property
    def readers(self) -> dict[ReaderId, Hands]:
        return self.out.readers

    def join(self, reader: ReaderId) -> None:
        self.readers[reader] = Hands()

    def leave(self, reader: ReaderId) -> None:
        """What it had comes back. When the last one goes, memory is given up: the log has everything."""
        self._return([(reader, given) for given in self.out.take_back(reader)])
        del self.readers[reader]
        if not self.readers:
            self.position.rewind(self._handed)
            if self.order is not None:
                self.order = Order(self.order.patience_s, self.order.counted)
            self.turns = turns_for(self.order)
            self._waiting.clear()
            self._unoffered.clear()
            self._gaps.clear()
            self._gone = self._told
            self._reading = None

    # -- what the log has ---------------------------------------------------------------------------------------

    def wants(self, last: int) -> Read | None:
        """What to read of a log that is committed up to this place; nothing while that is under way, or while its
        readers have enough."""
        examined = self.position.examined
        if (
            self._reading is not None
            or not self.readers
            or examined >= last
            or self.is_full
            or len(self._waiting) >= PAGE
        ):
            return None
        self._reading = Read(examined)
        return self._reading

    def unread(self, read: Read) -> None:
        """A read came to nothing."""
        if read is self._reading:
            self._reading = None

    def page(
        self, read: Read, items: Sequence[Delivery], examined: int, gaps: Iterable[Gap], gone: int, now_us: int
    ) -> None:
        """What was read: these events, in their places, up to a place; what of it cannot be had; and how many events
        this subscription has lost for good in all its life."""
        if read is not self._reading:
            return  # all readers left meanwhile, and what is read now begins elsewhere
        self._reading = None
        self.lose(gone)
        self._gaps.extend((gap, 0) for gap in gaps)
        self._take_in(items, examined, now_us)

    def lose(self, gone: int) -> None:
        """So many it has lost for good, in all its life: those that were not told of are told."""
        if gone > self._gone:
            self._gaps.append((Gap(gone - self._gone, WHY_GONE), gone))
            self._gone = gone

    def committed(self, items: Sequence[Delivery], before: int, last: int, now_us: int) -> bool:
        """Events that came into the log just now, all of its topic in places after one and up to another. False: it
        has not read the log up to there, and will read these there too."""
        caught_up = bool(self.readers) and self.position.examined >= before and self._reading is None
        if caught_up and not self.is_full:
            self._take_in(items, last, now_us)
            return True
        return False

    @property
    def is_full(self) -> bool:
        return len(self.position.open) >= self.items_max or self.position.size >= self.bytes_max

    def _take_in(self, items: Iterable[Delivery], examined: int, now_us: int) -> None:
        position = self.position
        for item in items:
            place = item.place
            if place <= position.examined:
                continue
            if place in position.done or item in self.coverage or not self.matches(item):
                self.coverage.add(item)
                self._in_turn(() if self.order is None else self.order.pass_over(item))
                continue
            if place <= self._before or place in self._given:
                item = replace(item, redelivered=True)
            position.begin(place, len(item.payload))
            if place > self._offering:
                self._unoffered.append(place)
            self._in_turn((item,) if self.order is None else self.order.offer(item, now_us / 1e6))
        position.examined = max(position.examined, examined)

    def _in_turn(self, items: Iterable[Delivery | Gap]) -> None:
        for item in items:
            if isinstance(item, Gap):
                self._gaps.append((item, 0))
            else:
                self._turn += 1
                self._put(self._turn, item)

    def _put(self, turn: Turn, item: Delivery) -> None:
        self._waiting[item.place] = (turn, item)
        self.turns.put(turn, item)

    def tell(self, gap: Gap) -> None:
        """Events have not come, and may yet: somebody who reads is told."""
        if self.readers and len(self._gaps) < GAPS_MAX:
            self._gaps.append((gap, 0))

    # -- handing out --------------------------------------------------------------------------------------------

    def first(self, reader: ReaderId) -> Delivery | Gap | None:
        """What this reader would be given now."""
        if self._gaps:
            return self._gaps[0][0]
        found = self.turns.first(reader)
        return found[1] if found is not None and found[1].place <= self.on_disk.offered else None

    def take(self, reader: ReaderId, now_us: int) -> Delivery | Gap | None:
        """Gives this reader an item, if there is one and the disk knows of it."""
        item = self.first(reader)
        if isinstance(item, Delivery):
            self.turns.take(reader)
            turn, _ = self._waiting.pop(item.place)
            self._given.add(item.place)
            self._handed = max(self._handed, item.place)
            self.out.give(reader, turn, item, now_us)
        elif item is not None:
            self._told = max(self._told, self._gaps.popleft()[1])
        return item

    def give_back(self, reader: ReaderId, places: Iterable[int]) -> None:
        """The reader never saw these, though it was given them: they go out again as if they had not."""
        unseen = {*places}
        for turn, item in self.out.take_back_if(reader, lambda given: given.item.place in unseen):
            if not item.redelivered:
                self._given.discard(item.place)
            self._put(turn, item)
            self.turns.settled(item, reader)

    def ack(self, places: Iterable[int], now_us: int) -> int:
        """These are handled. The number of the save in which that is written; 0: it is written already."""
        places = [*places]
        for place in places:
            if place > self._before and place not in self._given and not self._was_done(place):
                raise Misuse("this subscription never gave you that item: acknowledge what you got from it")
        for place in places:
            if not self._was_done(place):
                self._settle(place, now_us)
                self._acked_in = self._next_save
        return self._acked_in if self._acked_in > self.written else 0

    def handle(self, items: Iterable[Delivery], until: int) -> int:
        """While nobody reads: everything up to a place is acknowledged, these events among it. The number of the save
        in which that is written."""
        for item in items:
            self.coverage.add(item)
        self.position.examined = max(self.position.examined, until)
        self._given = {place for place in self._given if place > until}
        self._acked_in = self._next_save
        return self._acked_in

    def _was_done(self, place: int) -> bool:
        position = self.position
        return place not in position.open and (place <= position.examined or place in position.done)

    def _settle(self, place: int, now_us: int) -> None:
        if place in self.out.whose:
            reader, (_, item) = self.out.acknowledged(place, now_us)
            self.turns.settled(item, reader)
            self.coverage.add(item)
        elif place in self._waiting:  # it had come back, for its reader took long: better late than twice
            turn, item = self._waiting.pop(place)
            self.turns.remove(turn, item)
            self.coverage.add(item)
        self.position.finish(place)
        self._given.discard(place)

    def overdue(self, now_us: int) -> int:
        """Takes back what has been out for too long, and gives up what order waited for; how many came back."""
        back = self.out.overdue(now_us)
        if self.order is not None:
            for reader, given in tuple(back):
                back += self._following(reader, given)
            self._in_turn(self.order.due(now_us / 1e6))
        self._return(back)
        return len(back)

    def _following(self, reader: ReaderId, given: Given) -> list[tuple[ReaderId, Given]]:
        """Later events of the stream that the same reader has: they must not be handled before this one, again."""
        stream = stream_of(given.item)
        after = self.out.take_back_if(reader, lambda each: each.turn > given.turn and stream_of(each.item) == stream)
        return [(reader, each) for each in after]

    def _return(self, back: Sequence[tuple[ReaderId, Given]]) -> None:
        for reader, (turn, item) in back:
            self._put(turn, item if item.redelivered else replace(item, redelivered=True))
            self.turns.settled(item, reader)

    def due_us(self, now_us: int) -> int | None:
        """When to ask `overdue` again; None: there is nothing to wait for."""
        due = [] if (out_us := self.out.due_us()) is None else [out_us]
        if self.order is not None and (wait_s := self.order.wait_s(now_us / 1e6)) is not None:
            due.append(now_us + round(wait_s * 1e6))
        return min(due, default=None)

    # -- the disk -----------------------------------------------------------------------------------------------

    @property
    def written(self) -> int:
        """The number of the last save that is on disk."""
        return self._next_save - 1 if self._saving is None else self._saving.number - 1

    def save(self, exactly: bool = False) -> Save | None:
        """What the disk has to know now; nothing while it is being told. `exactly`: no more than was handed out."""
        if self._saving is not None:
            return None
        acked, offered = self.position.acked, self._exactly(self.position.acked) if exactly else self._offer()
        moved = acked - self.on_disk.acked >= (1 if exactly else MOVED)
        news = self._acked_in == self._next_save or self._told != self.on_disk.told
        if not (news or moved or offered != self.on_disk.offered):
            return None
        beyond = tuple(self.position.beyond(self._handed))
        self._saving = Save(self._next_save, Progress(acked, beyond, offered, self._told), self.coverage.changes())
        self._next_save += 1
        if exactly:  # from now on the disk may know of no more than that
            self._offering = offered
            self.on_disk = self.on_disk._replace(offered=min(offered, self.on_disk.offered))
        return self._saving

    def _offer(self) -> int:
        """Up to where items may be handed out once this is saved."""
        if self._unoffered and len(self._waiting) - len(self._unoffered) < FEW:
            for _ in range(min(PAGE, len(self._unoffered))):
                self._offering = self._unoffered.popleft()
            if not self._unoffered:
                self._offering += PAGE
        return self._offering

    def _exactly(self, acked: int) -> int:
        """The last place that may have been handed out, of those that are not acknowledged."""
        return max(acked, self._before if acked < self._before else 0, *self._given)

    def saved(self) -> int:
        """The save is committed; the number of it."""
        assert self._saving is not None
        number, self.on_disk, self._saving = self._saving.number, self._saving.progress, None
        return number

    def not_saved(self) -> int:
        """The save failed: what it had goes with the next one. Its number: who waited for it is to be told."""
        assert self._saving is not None
        self.coverage.not_written(self._saving.streams)
        number, self._saving = self._saving.number, None
        self._acked_in = self._next_save
        return number
