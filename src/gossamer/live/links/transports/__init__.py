"""How bytes get from one node to another: a channel is a stream with two ends, a transport opens and takes them."""

from collections.abc import Callable
from typing import Protocol, TypeAlias


class Channel(Protocol):
    """One end of an open stream."""

    certificate: bytes | None
    "What TLS has proved of the other end (DER); None without TLS."
    where: str
    "The other end's address, for people."

    def write(self, data: bytes) -> None:
        """Queues bytes; see `pending`."""

    def pending(self) -> int:
        """Bytes written that have not left."""

    def close(self) -> None:
        """Ends the stream once everything written has left."""

    def abort(self) -> None:
        """Ends it now."""

    def end_unless_taken(self, within_s: float) -> None:
        """From now on the stream is lost once bytes wait so long for the other end to take them."""

    def pause(self, paused: bool) -> None:
        """Stops reading for a while, or goes on: the other end's writes then back up."""


class Listener(Protocol):
    """Whoever uses a channel is told what happens on it."""

    def heard(self, data: bytes) -> None:
        """Bytes arrived."""

    def drained(self) -> None:
        """What was written has mostly left; write on."""

    def lost(self, why: str) -> None:
        """The stream has ended. Said once, whoever ended it."""


Answer: TypeAlias = Callable[[Channel], Listener]
"Makes the listener of a new channel."

TurnedAway: TypeAlias = Callable[[str, str, str], None]
"Told the reason, in a word or two, where the caller was, and what was wrong."

HANDSHAKE_S = 5.0
HIGH_WATER = 1 << 20
"Bytes written but not sent above which nothing more should be written; `drained` is said at a quarter of it."


class Transport(Protocol):
    """Opens and takes streams."""

    handshake_s: float
    "How long the other end may take to prove itself."

    async def listen(self, address: str, answer: Answer, turned_away: TurnedAway) -> str:
        """Takes calls at an address; the address really bound (port 0 asks for a free one). Callers that never get as
        far as a channel are told of too."""

    async def dial(self, address: str, answer: Answer) -> Channel:
        """Opens a stream, TransportDown if that cannot be done."""

    async def close(self) -> None:
        """Takes no more calls."""
