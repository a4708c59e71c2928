"""What following remembers between batches, and where: a folder in which each batch leaves its own things, so that one
that was killed half way is done again, from what the batch before it left, and nothing counts twice.

    new/            the rows of the batch at work
    heads/N.json    heads of segments that batch N was the first to see
    state/N/        after batch N: rows of events that are still open, who wants what, rows summed up, totals
    state/N/memory.json   the rest of it; there once all of N is
    slices/N/       the events that batch N closed: their rows, and what the audit's tables say of them
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.core.trace import Head

Life = tuple[str, int, int]
"Run, node, incarnation."
Span = tuple[int, int]
"First and last row, by their numbers."


class LifeRead(Struct):
    """What was read of a life."""

    run: str
    node: int
    incarnation: int
    host: str = ""
    offset_us: int | None = None
    spans: list[Span] = []
    "Which rows."
    starts: list[int] = []
    "Those of them that tell of a start."
    last_us: int = 0
    "By its own clock."
    more: bool = False
    "Whether there was more to read."

    @property
    def life(self) -> Life:
        return self.run, self.node, self.incarnation

    def head(self) -> Head:
        return Head(self.run, self.node, incarnation=self.incarnation, host=self.host, offset_us=self.offset_us)


class Trouble(Struct, frozen=True, order=True):
    """A node one had better look at."""

    run: str
    name: str
    since_us: int


class Memory(Struct):
    """After a batch."""

    batch: int = -1
    lives: list[LifeRead] = []
    closed_until: dict[str, int] = {}
    "By run: what happened before is judged; what comes of it later opens the events again that it is about."
    tops: list[tuple[str, int, int, int]] = []
    "The highest number of an event that was closed, for each run, publisher and incarnation."
    unpromised: list[tuple[str, int]] = []
    "Publishers of events that the network does not owe, unless they come back."
    asked: list[str] = []
    "Topics that filters ask for: only of their events it is told whether attributes are known."
    retired: list[int] = []
    "Slices that were opened again: the next batch need not find them."
    open_rows: int = 0
    open_events: int = 0
    going_on: int = 0
    "Lives that have not ended, and are not given up."
    silent: list[Trouble] = []
    behind: list[Trouble] = []
    quiet: list[str] = []
    "Runs of which nobody says anything any more."
    problems: list[str] = []
    odd_filters: int = 0


class About(Struct, frozen=True):
    """Which events a slice holds."""

    last_us: dict[str, int]
    "By run: when the last thing happened to any of them."
    ranges: list[tuple[str, int, int, int, int]]
    "Run, publisher, incarnation, lowest and highest number."
    unpromised: list[tuple[str, int]]

    def holds(self, run: str, publisher: int, incarnation: int, sequence: int) -> bool:
        return any((run, publisher, incarnation) == each[:3] and each[3] <= sequence <= each[4] for each in self.ranges)


class Store:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def new(self) -> Path:
        return self.folder / "new"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def state(self, batch: int) -> Path:
        return self.folder / "state" / str(batch)

    def slice(self, batch: int) -> Path:
        return self.folder / "slices" / str(batch)

    def batches(self, what: str) -> list[int]:
        return sorted(int(path.name.split(".")[0]) for path in (self.folder / what).glob("*") if path.name[0] != ".")

    def memory(self, batch: int) -> Memory | None:
        try:
            return msgspec.json.decode((self.state(batch) / "memory.json").read_bytes(), type=Memory)
        except (OSError, msgspec.DecodeError):
            return None

    def latest(self) -> Memory:
        """After the last batch that is done."""
        told = (self.memory(batch) for batch in reversed(self.batches("state")))
        return next((memory for memory in told if memory), Memory())

    def keep(self, memory: Memory) -> None:
        """From now on the batch is done."""
        write(self.state(memory.batch) / "memory.json", msgspec.json.encode(memory))

    def clear(self, done: Memory) -> None:
        """Leaves what batches that are done have left, and no more of them than the next needs."""
        for batch in self.batches("state"):
            if batch != done.batch:
                shutil.rmtree(self.state(batch))
        for batch in self.batches("slices"):
            if batch > done.batch or batch in done.retired:
                shutil.rmtree(self.slice(batch))
        shutil.rmtree(self.new, ignore_errors=True)
        shutil.rmtree(self.work, ignore_errors=True)

    def keep_heads(self, batch: int, heads: list[Head]) -> None:
        if heads:
            (self.folder / "heads").mkdir(parents=True, exist_ok=True)
            write(self.folder / "heads" / f"{batch}.json", msgspec.json.encode(heads))

    def heads(self, before: int) -> list[Head]:
        files = [self.folder / "heads" / f"{batch}.json" for batch in self.batches("heads") if batch < before]
        return [head for file in files for head in msgspec.json.decode(file.read_bytes(), type=list[Head])]

    def keep_about(self, batch: int, about: About) -> None:
        write(self.slice(batch) / "about.json", msgspec.json.encode(about))

    def slices(self, until: int) -> Iterator[tuple[int, About]]:
        """Those of batches up to this one; opened again ones are cleared away."""
        for batch in self.batches("slices"):
            if batch <= until:
                yield batch, msgspec.json.decode((self.slice(batch) / "about.json").read_bytes(), type=About)


def write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_bytes(data)
    draft.replace(path)
