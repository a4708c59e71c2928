"""What the asyncio side asks of the thread."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gossamer.core.errors import GossamerError
from gossamer.live.spool.items import Delivered, Outgoing
from gossamer.live.spool.store import Store

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


class Change(NamedTuple):
    """Something to remember that nobody waits for; it only touches memory and cannot fail."""

    make: Callable[[Store], None]
    size: int = 0


class Ask(NamedTuple):
    """A question, answered after everything asked before it is written."""

    answer: Callable[[Store], Any]
    future: "Future[Any]"
    size: int = 0


Job: TypeAlias = Accept | Keep | Change | Ask
Outcome: TypeAlias = "tuple[Future[Any], Any, GossamerError | None]"
"Whom to tell, what it is told, or what went wrong."
