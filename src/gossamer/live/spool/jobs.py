"""What the asyncio side asks of the thread."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gossamer.core.errors import GossamerError
from gossamer.core.ids import EventId
from gossamer.live.spool.items import Delivered, Kept, KeptPack, Outgoing
from gossamer.live.spool.store import Store
from gossamer.live.spool.streams import Stretch, stretches_of

if TYPE_CHECKING:
    from asyncio import Future

ROW_BYTES = 200
"What an event costs in memory and in the file beside its body, about."


class Accept(NamedTuple):
    """Publications, and who waits until they are committed."""

    publications: Sequence[Outgoing]
    size: int
    future: "Future[None]"


class Keep(NamedTuple):
    """Delivered events, and the place of the first."""

    first: int
    kept: Delivered
    size: int


def ids(job: Keep) -> list[EventId]:
    """Every event to be kept, place after place."""
    found: list[EventId] = []
    for each in job.kept:
        found += each.pack.ids if isinstance(each, KeptPack) else (each.id,)
    return found


def without_body(jobs: Sequence[Keep]) -> set[EventId]:
    """Those whose bytes were no longer at hand: they have a place, and nothing stands there."""
    return {each.id for job in jobs for each in job.kept if isinstance(each, Kept) and is_bare(each)}


def is_bare(each: Kept | KeptPack) -> bool:
    return type(each) is Kept and each.sealed == b""


class Change(NamedTuple):
    """Something to remember that nobody waits for; it only touches memory and cannot fail."""

    make: Callable[[Store], None]
    size: int = 0


class Note(NamedTuple):
    """Something to remember, and who waits until it is committed. It only touches memory; Misuse is told at once."""

    make: Callable[[Store], Any]
    future: "Future[Any]"
    size: int = 0


class Ask(NamedTuple):
    """A question, answered after everything asked before it is written."""

    answer: Callable[[Store], Any]
    future: "Future[Any]"
    size: int = 0


class Commit(NamedTuple):
    """What became of the log in one round of the thread: the loop is told once."""

    kept: Sequence[Keep]
    "These are committed."
    failed: Sequence[Keep] = ()
    "These could not be kept: their places stay empty."
    pruned: Sequence[Stretch] = ()
    "This was deleted, being too old or too much."

    def stretches(self) -> list[Stretch]:
        """What came into the log."""
        return stretches_of([each for job in self.kept for each in job.kept if not is_bare(each)])

    def unkept(self) -> list[Stretch]:
        """What did not, and should have."""
        bare = [each for job in self.kept for each in job.kept if is_bare(each)]
        return stretches_of([*bare, *(each for job in self.failed for each in job.kept)])


Job: TypeAlias = Accept | Keep | Change | Note | Ask
Outcome: TypeAlias = "tuple[Future[Any], Any, GossamerError | None]"
"Whom to tell, what it is told, or what went wrong."
