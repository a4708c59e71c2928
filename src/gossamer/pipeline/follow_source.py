"""Traces as they grow, as a stream of Spark: every row once, in whichever pieces the nodes come to write them.

An offset says how far each segment was read. A segment is one file, whether it is still written or sealed already: it
is known by its name without the ending. Only whole records are read; what is torn may still become whole. Beside the
rows of traces there are rows about traces (SIGNS): each segment's head, whether there is more of it than was read at
once, and what cannot be read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from gossamer.core.errors import GossamerError
from gossamer.core.trace import Head, Row
from gossamer.pipeline.traces import SCHEMA, TASK_BYTES, find_segments, read_to_end, table_of
from gossamer.wire.segment import OPEN, SEALED, PieceReader, Place

HEAD, MORE, PROBLEM = "head", "more", "problem"
SIGNS = (HEAD, MORE, PROBLEM)
"""Kinds of rows about traces: `detail` is the head as JSON; `bytes` is 1 where more is to be read and 0 where not; and
`detail` says what was left out, and of which file."""
BATCH_BYTES = 32 * 2**20
"Of segments, in one batch, shared out among those that have grown."
SHARE_BYTES = 64 * 2**10
"Of each at least."
ROWS = 10_000
"In one batch of Arrow's."
Offset = dict[str, Any]


class Piece(Struct, frozen=True):
    """A part of a segment to read."""

    stem: str
    at: int
    damaged: int
    end: int
    more: bool


class Pieces(InputPartition):
    """Those of one task."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(msgspec.json.encode(pieces).decode())


class FollowedTraces(DataSource):
    """`traces` is the folder, `out` where results go, `bytes` how much a batch may hold, and `beat_s` after how many
    seconds without anything new there is an empty batch: that nothing comes is news too."""

    @classmethod
    def name(cls) -> str:
        return "gossamer.follow"

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def streamReader(self, schema: StructType) -> "TraceStream":
        return TraceStream(self.options)


class TraceStream(DataSourceStreamReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.traces, self.out = Path(options["traces"]), Path(options["out"])
        self.most, self.beat_s = int(options.get("bytes", BATCH_BYTES)), float(options.get("beat_s", "5"))
        self.moved_at = monotonic()

    def initialOffset(self) -> Offset:
        return {"beat": 0, "read": {}}

    def latestOffset(self, start: Offset, limit: object = None) -> Offset:
        """What is there now, as far as a batch has room for it: as much of each segment as of any other. Segments that
        are gone are forgotten."""
        found, _ = find_segments(self.traces, self.out)
        places = {stem_of(source.file): place_of(start["read"].get(stem_of(source.file))) for source in found}
        grown = [stem_of(source.file) for source in found if source.size > places[stem_of(source.file)].at]
        share = max(SHARE_BYTES, self.most // max(1, len(grown)))
        for stem in grown:
            places[stem] = self.skim(stem, places[stem], share)
        read = {stem: text_of(place) for stem, place in places.items()}
        if read != {stem: text for stem, text in start["read"].items() if stem in read}:
            self.moved_at = monotonic()
            return {"beat": start["beat"], "read": read}
        if monotonic() - self.moved_at >= self.beat_s:
            self.moved_at = monotonic()
            return {"beat": start["beat"] + 1, "read": read}
        return start

    def skim(self, stem: str, place: Place, share: int) -> Place:
        """What is no segment at all counts as read: `read` says so once."""
        try:
            return PieceReader(self.path(stem), place, place.at + share).skim()
        except OSError:
            return place
        except GossamerError:
            return place if place.at else Place(1)

    def path(self, stem: str) -> Path:
        sealed = self.traces / f"{stem}{SEALED}"
        return sealed if sealed.exists() else self.traces / f"{stem}{OPEN}"

    def partitions(self, start: Offset, end: Offset) -> list[Pieces]:
        tasks: list[list[Piece]] = []
        room = 0
        for stem, text in sorted(end["read"].items()):
            before, after = place_of(start["read"].get(stem)), place_of(text)
            if after.at > before.at:
                room -= after.at - before.at
                if room < 0:
                    tasks.append([])
                    room = TASK_BYTES
                tasks[-1].append(Piece(stem, before.at, before.damaged, after.at, after.more))
        return [Pieces(pieces) for pieces in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for piece in msgspec.json.decode(partition.value, type=list[Piece]):
            yield from self.rows(piece)

    def rows(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        reader = PieceReader(self.path(piece.stem), Place(piece.at, piece.damaged), piece.end)
        try:
            head, table, problem = read_to_end(reader)
        except (GossamerError, OSError) as wrong:
            yield from signs(Head("", 0), (PROBLEM, f"{piece.stem}: {wrong}", None))
            return
        yield from table.to_batches(ROWS)
        if not piece.at:
            yield from signs(head, (HEAD, msgspec.json.encode(head).decode(), None))
        yield from signs(head, (MORE, None, int(piece.more)))
        if problem:
            yield from signs(head, (PROBLEM, f"{piece.stem}: {problem}", None))


def signs(head: Head, *told: tuple[str, str | None, int | None]) -> Iterator[pa.RecordBatch]:
    rows = [Row(-1, 0, kind, detail=detail, bytes=number) for kind, detail, number in told]  # type: ignore[arg-type]
    table = table_of(head, rows)
    assert table is not None
    yield from table.to_batches()


def stem_of(file: str) -> str:
    return file.removesuffix(OPEN).removesuffix(SEALED)


def text_of(place: Place) -> str:
    """As short as can be: offsets are written down for every batch."""
    return f"{place.at} {place.damaged} {int(place.more)}" if place.damaged or place.more else str(place.at)


def place_of(text: str | None) -> Place:
    at, damaged, more = [*map(int, (text or "0").split()), 0, 0][:3]
    return Place(at, damaged, bool(more))
