"""Between the log and the machine: what is in it, what others lack of it, and what nobody has any more."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence

from gossamer.core.errors import GossamerError, PeerFault
from gossamer.core.ids import Peer
from gossamer.core.machine import FromLog, GivenUp, Logged, Pruned, ReadLog, Run, Settled
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.records import Records
from gossamer.live.links.address_book import AddressBook
from gossamer.live.reading.readers import Readers
from gossamer.live.running.driver import Driver
from gossamer.live.spool import Commit, Spool, Stretch
from gossamer.wire.sealed import unseal

log = logging.getLogger("gossamer.catchup")

ANSWER_BYTES = 256 << 10
"Read for one answer, and one event at least; what is left is asked for again."
PROVED_MAX = 1000
"Publishers whose records are known to be kept; beyond, they are written once more."
TOLD_AT_ONCE = 1000
"Runs of a former life that the machine is told of in one step."


class LogReading:
    """From `ReadLog` to `FromLog`, and from commits to `Logged` and `Pruned`."""

    def __init__(
        self, driver: Driver, bodies: Bodies, spool: Spool | None, readers: Readers, book: AddressBook
    ) -> None:
        self.driver, self.bodies, self.spool, self.readers, self.book = driver, bodies, spool, readers, book
        self.tasks: set[asyncio.Task[None]] = set()
        self.proved: dict[Peer, bytes] = {}
        "Publishers of events in the log whose records are kept with them: without, nobody could check these events."
        if spool is not None:
            spool.hear(self.heard)

    # -- what is there ------------------------------------------------------------------------------------------

    async def former(self, records: Records) -> list[Logged | Pruned]:
        """What former lives kept, what they no longer had, and what they gave up: for a machine that begins."""
        if self.spool is None:
            return []
        held, gone = await self.spool.held(), await self.spool.stream_floors()
        publishers = {each.publisher for each in held}
        for peer, data in await self.spool.remembered():
            if peer in publishers and peer not in self.book:
                with contextlib.suppress(PeerFault):
                    records.admit(data)
        return [*map(Pruned, pages(gone)), *(Logged(some, former=True) for some in pages(held))]

    def heard(self, commit: Commit) -> None:
        if self.driver.closed:
            return
        if came := commit.stretches():
            for each in came:
                self._prove(each.publisher)
            self.driver.feed(Logged(tuple(Run(*each) for each in came)))
        if commit.pruned:
            self.driver.feed(Pruned(tuple(Run(*each) for each in commit.pruned)))

    def _prove(self, publisher: Peer) -> None:
        entry = self.book.get(publisher)
        if self.spool is None or entry is None or self.proved.get(publisher) == entry.data:
            return
        if len(self.proved) >= PROVED_MAX:
            self.proved.clear()
        self.proved[publisher] = entry.data
        self.spool.remember(publisher, entry.data)

    # -- what others lack ---------------------------------------------------------------------------------------

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self.driver.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def read(self, wanted: ReadLog) -> None:
        if self.spool is not None:  # how many there are at once, the machine bounds
            self._begin(self._read(self.spool, wanted))

    async def _read(self, spool: Spool, wanted: ReadLog) -> None:
        room, left = ANSWER_BYTES, [*wanted.runs]
        while left and room > 0:
            run = left.pop(0)
            try:
                found = await spool.read_stream(*Stretch(*stretch_of(run)), limit_bytes=room)
            except GossamerError as wrong:
                log.debug("the spool could not be asked for what others lack: %s", wrong)
                return
            room -= sum(map(len, found))
            last = max(run.first, self._give(wanted, found))
            if found and last < run.last:  # there may be more, for which there was no room
                left.insert(0, Run(run.topic, run.publisher, run.incarnation, last + 1, run.last))
        self.driver.feed(FromLog(wanted.peer, wanted.number, (), left=tuple(left)))

    def _give(self, wanted: ReadLog, found: Sequence[bytes]) -> int:
        """One by one: the bytes of each may give way to those of the next. The last ordinal."""
        last = 0
        for sealed in found:
            try:
                event, leaf, _ = unseal(sealed)
            except PeerFault as wrong:
                log.warning("an event of the spool cannot be read: %s", wrong)
                continue
            if self.bodies.get(event.id) is None:
                self.bodies.add(event.id, leaf, sealed)
            self.driver.feed(FromLog(wanted.peer, wanted.number, (event,), over=False))
            last = event.ordinal
        return last

    # -- what nobody has ----------------------------------------------------------------------------------------

    def give_up(self, lost: GivenUp) -> None:
        run = lost.run
        log.warning(
            "%s%d events of %s from one publisher are gone: no member has them any more",
            *("at most " if lost.at_most else "", run.last + 1 - run.first, run.topic),
        )
        if self.spool is not None:
            self._begin(self._give_up(self.spool, run))
        self.readers.given_up(lost)

    async def _give_up(self, spool: Spool, run: Run) -> None:
        try:
            gone = await spool.give_up(Stretch(*stretch_of(run)))
        except GossamerError as wrong:
            log.debug("the spool could not be told what is gone: %s", wrong)
            return
        if self.readers.durables is not None:
            self.readers.durables.lose(gone)

    def settle(self, settled: Settled) -> None:
        if self.spool is not None:
            self.spool.settle([Stretch(*stretch_of(run)) for run in settled.runs])


def stretch_of(run: Run) -> tuple[str, int, int, int, int]:
    return run.topic, run.publisher, run.incarnation, run.first, run.last


def pages(stretches: Sequence[Stretch]) -> list[tuple[Run, ...]]:
    runs = [Run(*each) for each in stretches]
    return [tuple(runs[first : first + TOLD_AT_ONCE]) for first in range(0, len(runs), TOLD_AT_ONCE)]
