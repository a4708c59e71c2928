"""The thread that owns the file: takes whatever has queued up, writes it in one transaction, tells all at once."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from gossamer.core.errors import GossamerError, Misuse
from gossamer.live.spool.faults import explained
from gossamer.live.spool.items import places, topics
from gossamer.live.spool.jobs import Accept, Ask, Change, Commit, Job, Keep, Note, Outcome
from gossamer.live.spool.losses import Losses
from gossamer.live.spool.store import Store
from gossamer.live.watching.watched_loop import WatchedLoop

if TYPE_CHECKING:
    from asyncio import Future

log = logging.getLogger("gossamer.spool")

ROUND_BYTES = 4 << 20
"One transaction holds this much, and one job: neither a commit nor the log grows without bound."
AGAIN_S = 1.0
"How soon what could not be written is tried again when there is nothing else to do."


class Writer(Thread):
    """Its plain attributes are written by the thread alone, and may be read by anyone."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        loop: WatchedLoop,
        settle: Callable[[list[Outcome], int, Commit | None], None],
        ready: "Future[Store]",
        ended: "Future[None]",
    ) -> None:
        super().__init__(name="gossamer-spool", daemon=True)  # cut off at exit it loses no more than SIGKILL would
        self.queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        "What each turn of the loop hands over; None: finish."
        self.kept_bytes = 0
        "Of events to be kept: how much was dealt with so far."
        self.lost = 0
        "Events that could not be kept."
        self.trouble: GossamerError | None = None
        "Why the last attempt to write failed; None: it did not."
        self._open_store, self._loop, self._settle, self._ready, self._ended = open_store, loop, settle, ready, ended
        self._backlog: deque[Job] = deque()
        self._finishing = False

    def run(self) -> None:
        try:
            store = self._open_store()
        except Exception as fault:
            self._tell([(self._ready, None, explained(fault, "of this node"))])
            return
        self._tell([(self._ready, store, None)])
        try:
            while not self._finishing or self._backlog:
                again = self.trouble is not None and store.pending()
                patience_s = AGAIN_S if again else store.retention.patience_s()
                self._round(store, list(self._gather(patience_s)))
            self._attempt(store, [], [])  # what the last round lost is noted
        except Exception as wrong:
            self._say(self._loop.failed, f"the thread {self.name} has ended", wrong, True)
        finally:
            try:
                store.close()
            finally:
                self._tell([(self._ended, None, None)])

    def _gather(self, patience_s: float) -> Iterator[Job]:
        """What this round takes up; waits only if there is nothing to do."""
        wait = not self._backlog
        with suppress(Empty):
            while not self._finishing:
                batch = self.queue.get(wait, patience_s)
                wait = False
                if batch is None:
                    self._finishing = True
                else:
                    self._backlog += batch
        size = 0
        while self._backlog and size < ROUND_BYTES:
            job = self._backlog.popleft()
            size += job.size
            yield job

    def _round(self, store: Store, jobs: list[Job]) -> None:
        accepts = [job for job in jobs if type(job) is Accept]
        keeps = [job for job in jobs if type(job) is Keep]
        for job in jobs:
            if type(job) is Change:
                job.make(store)
        notes = [self._made(store, job) for job in jobs if type(job) is Note]
        outcomes, failed, fault = self._write(store, accepts, keeps)
        outcomes += [(future, result, wrong or fault) for future, result, wrong in notes]
        self.kept_bytes += sum(job.size for job in keeps)
        empty = {job.first for job in failed}
        commit = self._commit(store, [job for job in keeps if job.first not in empty], failed)
        if outcomes or commit:  # a long answer to somebody's question is not theirs to wait for
            self._tell(outcomes, sum(job.size for job in accepts), commit)
        answers = [self._answer(store, job) for job in jobs if type(job) is Ask]
        commit = self._commit(store, [], [])
        if answers or commit:
            self._tell(answers, 0, commit)

    def _commit(self, store: Store, kept: list[Keep], failed: list[Keep]) -> Commit | None:
        """What the log has become since this was last told; None: the same."""
        pruned, store.pruned = store.pruned, []
        return Commit(kept, failed, pruned) if kept or failed or pruned else None

    def _write(
        self, store: Store, accepts: list[Accept], keeps: list[Keep]
    ) -> tuple[list[Outcome], list[Keep], GossamerError | None]:
        """What whoever waits is told, which of the events could not be kept, and why not even what was noted."""
        work = accepts or keeps or store.pending()
        fault = self._attempt(store, accepts, keeps)
        if fault is None:
            if work:
                self._note(None)
            return [(job.future, None, None) for job in accepts], [], None
        # One job may be to blame, or there is room for some of them: each gets a transaction of its own.
        unwritten = self._attempt(store, [], [])
        outcomes: list[Outcome] = [(job.future, None, self._attempt(store, [job], [])) for job in accepts]
        missed = Losses()
        failed = [job for job in keeps if self._attempt(store, [], [job]) is not None]
        for job in failed:
            missed.add(job.first, topics(job.kept))
            self.lost += places(job.kept)
        if missed:
            store.lose(missed.ranges())
        if unwritten is not None or not isinstance(fault, Misuse):  # or a caller made a mistake, and was told
            self._note(unwritten or fault)
        return outcomes, failed, unwritten

    def _attempt(self, store: Store, accepts: list[Accept], keeps: list[Keep]) -> GossamerError | None:
        try:
            store.write([job.publications for job in accepts], [(job.first, job.kept) for job in keeps])
        except Exception as fault:
            return explained(fault, store.name)
        return None

    def _made(self, store: Store, job: Note) -> Outcome:
        try:
            return job.future, job.make(store), None
        except GossamerError as fault:
            return job.future, None, fault

    def _answer(self, store: Store, job: Ask) -> Outcome:
        try:
            return job.future, job.answer(store), None
        except Exception as fault:
            return job.future, None, explained(fault, store.name)

    def _note(self, trouble: GossamerError | None) -> None:
        if trouble is not None and self.trouble is None:
            log.warning("%s", trouble)
        elif trouble is None and self.trouble is not None:
            log.info("the spool can be written again")
        self.trouble = trouble

    def _tell(self, outcomes: list[Outcome], size: int = 0, commit: Commit | None = None) -> None:
        self._say(self._settle, outcomes, size, commit)

    def _say(self, hear: Callable[..., None], *what: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(hear, *what)
