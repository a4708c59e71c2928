"""Tells publishers what became of their events here, and the machine of those that could not be kept."""

from collections.abc import Sequence

from gossamer.core.ids import EventId
from gossamer.core.machine import Run, Unkept
from gossamer.live.arriving.acks import AckQueue
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.links.outgoing import Outgoing
from gossamer.live.running.driver import Driver
from gossamer.live.spool import Commit, Spool
from gossamer.live.spool.jobs import ids, without_body


class Receipts:
    """Between what arrives, the spool, and the links."""

    def __init__(
        self,
        spool: Spool | None,
        bodies: Bodies,
        driver: Driver,
        links: Outgoing,
    ) -> None:
        self.spool, self.bodies, self.driver, self.links = spool, bodies, driver, links
        self.queue = AckQueue("disk" if spool is not None and spool.on_disk else "memory", driver.machine.was_kept)
        self.loop = driver.loop
        self._deciding = False
        if spool is not None:
            spool.hear(self.heard)

    def arrived(self, events: Sequence[EventId]) -> None:
        """Events came straight from their publishers, for the first time or again."""
        self.queue.arrived(events)
        if not self._deciding:
            self._deciding = True
            self.loop.call_soon(self._decide)

    def _decide(self) -> None:
        self._deciding = False
        self.driver.tick()  # whatever is to be kept of what came is given to the spool
        self.queue.decide()
        self._tell()

    def keeping(self, events: list[EventId]) -> None:
        """The spool was given these; where there is none, readers have them, and that is all."""
        self.queue.keeping(events)
        if self.spool is None:
            self.loop.call_soon(self._committed, events)

    def heard(self, commit: Commit) -> None:
        """The spool has done a part of its work."""
        empty = without_body(commit.kept)
        for job in commit.kept:
            self.queue.committed(ids(job), empty)
        failed = [*empty]
        for job in commit.failed:
            failed += ids(job)
            self.queue.failed(ids(job))
        if failed:
            self.bodies.forget(failed)
            self.driver.feed(Unkept(tuple(failed), tuple(Run(*each) for each in commit.unkept())))
        self._tell()

    def _committed(self, events: Sequence[EventId]) -> None:
        self.queue.committed(events)
        self._tell()

    def _tell(self) -> None:
        for how, events in self.queue.take().items():
            self.links.acknowledge(how, events)
