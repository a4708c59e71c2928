"""What a system must be able to do to be compared."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from benchmarks.live.traffic import Reader


class Net(Struct, frozen=True):
    """What every process of a run is told. All of it is on this machine."""

    folder: str
    "For whatever a system writes; gone after the run."
    ports: list[int]
    "Free ones: the publisher's or the broker's, then one for each subscriber."
    subscribers: int

    @property
    def place(self) -> Path:
        return Path(self.folder)


class Broker(Struct, frozen=True):
    """A program between publisher and subscribers. Its CPU time counts."""

    command: list[str]
    ready: str
    "Stands in the line it writes once it can be reached."


class Publisher(Protocol):
    async def send(self, bodies: Sequence[bytes]) -> None:
        """Hands them over; returns when it is well to hand over more."""

    def counters(self) -> dict[str, int]:
        """What else the system counts: `copies` are event bodies received, wanted or not."""


class System:
    def prepare(self, net: Net) -> None:
        """Before any process starts: keys, files."""

    def broker(self, net: Net) -> Broker | None:
        return None

    def publisher(self, net: Net) -> AbstractAsyncContextManager[Publisher]:
        """Starts after the broker and before the subscribers, so that it may be whom they connect to."""
        raise NotImplementedError

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        """Subscribes, says `reader.ready()`, gives every body to `reader.take` and never returns."""
        raise NotImplementedError
