"""Between the event loop and the thread: gathers what one turn of the loop asks for, and hands it over together."""

import asyncio
from asyncio import Future, TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from gossamer.core.errors import GossamerError, Misuse
from gossamer.live.spool.items import Delivered, KeptPack, Outgoing, places, topics
from gossamer.live.spool.jobs import ROW_BYTES, Accept, Ask, Change, Commit, Job, Keep, Note, Outcome
from gossamer.live.spool.losses import Losses
from gossamer.live.spool.store import Store
from gossamer.live.spool.writer import Writer
from gossamer.live.watching.watched_loop import WatchedLoop

T = TypeVar("T")

LINGER_S = 0.025
"Under load, events to be kept wait this long for one another; whatever somebody waits for takes them along at once."


class Courier:
    """Used on the event loop only. Cancelling whoever waits undoes nothing: work once asked for is done, once."""

    def __init__(self, open_store: Callable[[], Store], queue_bytes: int, loop: WatchedLoop) -> None:
        self._loop = loop
        self._ready: Future[Store] = self._loop.create_future()
        self._ended: Future[None] = self._loop.create_future()
        self.writer = Writer(open_store, self._loop, self._settle, self._ready, self._ended)
        self.queue_bytes = queue_bytes
        self.hearers: list[Callable[[Commit], None]] = []
        "Told of everything that was kept, or not, or deleted."
        self.dropped = 0
        "Deliveries there was no room for."
        self._tick: list[Job] = []
        "What this turn of the loop has asked for."
        self._patient: deque[Accept | Ask] = deque()
        "Publications that wait for room, and questions that must come after them."
        self._missed = Losses()
        "Deliveries there was no room for, gathered until somebody could meet their places."
        self._accepting = 0
        self._keeping = 0
        self._scheduled = self._closing = False
        self._lingering: TimerHandle | None = None
        self._handed_over_s = 0.0

    async def start(self) -> Store:
        """The thread's own, open; the loop may read plain numbers from it and nothing else."""
        self.writer.start()
        try:
            return await self._ready
        except asyncio.CancelledError:
            self.writer.queue.put(None)
            raise
        except GossamerError:
            self.writer.join()  # telling was the last it did
            raise

    def accept(self, publications: Sequence[Outgoing]) -> "Future[None]":
        """Done once they are committed."""
        self._check_open()
        future: Future[None] = self._loop.create_future()
        self._patient.append(Accept(tuple(publications), size_of(publications), future))
        self._hand_over_soon()
        return future

    def keep(self, first: int, deliveries: Delivered) -> None:
        """They are written soon, or, while too much is queued already, noted as lost."""
        self._check_open()
        size, queued = size_of(deliveries), self._keeping - self.writer.kept_bytes
        if queued and queued + size > self.queue_bytes:
            self._missed.add(first, topics(deliveries))
            self.dropped += places(deliveries)
            self._loop.call_soon(self._tell, Commit((), [Keep(first, deliveries, size)]))
            return
        self._tell_missed()
        self._keeping += size
        self._tick.append(Keep(first, tuple(deliveries), size))
        self._hand_over_later()

    def ask(self, answer: Callable[[Store], T]) -> "Future[T]":
        """Answered once everything asked before is written, but for publications that still wait for room."""
        self._check_open()
        self._tell_missed()
        future: Future[T] = self._loop.create_future()
        self._tick.append(Ask(answer, future))
        self._hand_over_soon()
        return future

    def ask_in_turn(self, answer: Callable[[Store], T]) -> "Future[T]":
        """Answered after publications that wait for room, too."""
        self._check_open()
        future: Future[T] = self._loop.create_future()
        self._patient.append(Ask(answer, future))
        self._hand_over_soon()
        return future

    def note(self, make: Callable[[Store], T]) -> "Future[T]":
        """Done once it is committed, together with everything else this turn of the loop asks for."""
        self._check_open()
        future: Future[T] = self._loop.create_future()
        self._tick.append(Note(make, future))
        self._hand_over_soon()
        return future

    def change(self, make: Callable[[Store], None]) -> None:
        """Nobody waits for it."""
        self._check_open()
        self._tick.append(Change(make))
        self._hand_over_soon()

    async def close(self) -> None:
        """Everything asked for is written when this returns. May be called again."""
        if not self._closing:
            self._tell_missed()
            self._closing = True
            self._hand_over()
            self.writer.queue.put(None)
        await asyncio.shield(self._ended)
        self.writer.join()  # telling was the last it did

    def _check_open(self) -> None:
        if self._closing:
            raise Misuse("the spool is closed: open it again")

    def _tell_missed(self) -> None:
        if self._missed:
            missed, self._missed = self._missed.ranges(), Losses()
            self.change(lambda store: store.lose(missed))

    def _hand_over_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    def _hand_over_later(self) -> None:
        """A commit costs as much as many events: the first goes at once, those that follow it go together."""
        if self._scheduled or self._lingering is not None:
            return
        wait_s = self._handed_over_s + LINGER_S - self._loop.time()
        if wait_s > 0:
            self._lingering = self._loop.call_later(wait_s, self._hand_over)
        else:
            self._hand_over_soon()

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        while self._patient and (self._closing or self._has_room(self._patient[0].size)):
            job = self._patient.popleft()
            self._accepting += job.size
            self._tick.append(job)
        if self._tick:
            self.writer.queue.put(self._tick)
            self._tick = []
            self._handed_over_s = self._loop.time()

    def _has_room(self, size: int) -> bool:
        return not self._accepting or self._accepting + size <= self.queue_bytes

    def _settle(self, outcomes: list[Outcome], accepted: int, commit: Commit | None) -> None:
        """Called by the thread: what became of a round, and again when questions are answered."""
        self._accepting -= accepted
        for future, result, fault in outcomes:
            if future.done():
                continue  # whoever waited was cancelled
            if fault is None:
                future.set_result(result)
            else:
                future.set_exception(fault)
        if self._patient:
            self._hand_over()
        if commit is not None:
            self._tell(commit)

    def _tell(self, commit: Commit) -> None:
        for hear in self.hearers:
            hear(commit)


def size_of(events: Sequence[Outgoing] | Delivered) -> int:
    bodies = [each.pack if isinstance(each, KeptPack) else each.sealed for each in events]
    shared = {id(body): len(body) for body in bodies}  # those of a pack share theirs
    return sum(shared.values()) + ROW_BYTES * len(bodies)
