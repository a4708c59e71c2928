"""What one process of a run has to do. It goes there as JSON, and names public settings only."""

from pathlib import Path
from typing import Any

from msgspec import Struct, field

TOPIC = ".orders"


class Publishing(Struct, frozen=True):
    count: int = 240
    per_s: float = 120.0
    burst: int = 8
    "Publications under way at once: they share a signature and a commit."
    topic: str = TOPIC
    body: int = 0
    "Bytes that fill the event up."


class Reading(Struct, frozen=True):
    name: str
    topic: str = TOPIC
    where: str = ""
    lag: int = 4
    "How many events it has in hand before it acknowledges the oldest."


class Part(Struct, frozen=True):
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    "Of its node; none: it is a client."
    attach: str = ""
    "The address of the node whose client it is."
    publishing: Publishing | None = None
    reading: Reading | None = None
    ledger: str = ""
    go: bool = False
    "Whether it may publish at once: it lives for the second time."

    @property
    def spool(self) -> Path:
        return Path(self.settings["spool"]["folder"])
