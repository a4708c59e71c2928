"""Trace segments on disk: a magic word, a head, then one record per tick of the node that wrote them.

A record is its length, its CRC and a msgpack list of rows. Whoever is killed while writing leaves a torn tail, and a
bad disk a flipped bit: a reader takes every record that is whole, and says what it had to leave out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct as Layout
from typing import Any, BinaryIO, TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct

from gossamer.core.errors import SpecError
from gossamer.core.trace import VERSION, Head, Row

MAGIC = b"GOSSAMER"
OPEN, SEALED = ".open", ".segment"
"How the name of a file ends that is being written, and of one that is finished."
RECORD_BYTES_MAX = 64 * 2**20
"A length above this is damage, not a record."
HOPELESS = 2
"Damaged records in a row: nothing tells where the next would begin."
ROWS_MAX = 20_000
"Rows of one record: a tick that has more writes several, so that none comes near the limit of a record."

T = TypeVar("T")

_PREFIX = Layout("<II")
_rows = msgspec.msgpack.Decoder(list[Row])
_head = msgspec.msgpack.Decoder(Head)
_encoder = msgspec.msgpack.Encoder()


def seal(content: bytes) -> bytes:
    """Content as one record."""
    return _PREFIX.pack(len(content), crc32(content)) + content


def opening(head: Head) -> bytes:
    """What a segment begins with."""
    return MAGIC + seal(_encoder.encode(head))


def records(rows: Sequence[Any]) -> bytes:
    """Rows, or tuples of their columns, as records: one, unless they are very many."""
    if len(rows) <= ROWS_MAX:
        return seal(_encoder.encode(rows))
    return b"".join(seal(_encoder.encode(rows[at : at + ROWS_MAX])) for at in range(0, len(rows), ROWS_MAX))


class RecordReader:
    """The whole records of a file; afterwards `problem` says what was left out, if anything was."""

    magic = MAGIC
    what = "trace segment"
    "What such a file is called when it turns out to be none."

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        self.bytes_read = 0
        self.whole = 0
        "Where the last whole record ends."
        self.damaged = 0
        "Damaged records in a row; from the second on, the rest of the file is left out."
        self.end: int | None = None
        "Records that begin there or later are somebody else's."

    def _contents(self, file: BinaryIO) -> Iterator[bytes]:
        """Contents of the whole records, the head's first. SpecError if it is no such file at all."""
        if file.read(len(self.magic)) != self.magic:
            raise SpecError(f"{self.path.name} is not a {self.what}")
        yield from self._records(file)

    def _records(self, file: BinaryIO) -> Iterator[bytes]:
        """Contents of the whole records from here on. One damaged record is passed over; after a second in a row, or a
        length that cannot be, nothing tells where the next would begin."""
        while self.damaged < HOPELESS and (self.end is None or file.tell() < self.end):
            prefix = file.read(_PREFIX.size)
            if not prefix:
                return
            at = file.tell() - len(prefix)
            if len(prefix) < _PREFIX.size:
                self.problem = f"torn: {len(prefix)} bytes after the last whole record are left out"
                return
            length, crc = _PREFIX.unpack(prefix)
            if not 0 < length <= RECORD_BYTES_MAX:
                self.problem = f"damaged at byte {at}: the rest is left out"
                self.damaged = HOPELESS
                return
            content = file.read(length)
            self.bytes_read = file.tell()
            if len(content) < length:
                left = len(prefix) + len(content)
                self.problem = f"torn: {left} bytes after the last whole record are left out"
                return
            self.whole = self.bytes_read
            if crc32(content) != crc:
                self.damaged += 1
                left_out = "a record is" if self.damaged < HOPELESS else "the rest is"
                self.problem = f"damaged at byte {at}: {left_out} left out"
                continue
            self.damaged = 0
            yield content

    def _read_head(self, contents: Iterator[bytes], decoder: "msgspec.msgpack.Decoder[T]") -> T:
        try:
            return decoder.decode(next(contents))
        except (StopIteration, msgspec.DecodeError, UnicodeDecodeError):
            raise SpecError(f"{self.path.name} is a {self.what} without a head") from None


class SegmentReader(RecordReader):
    """Rows of one segment, record by record."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.head = Head("", 0)

    def __iter__(self) -> Iterator[list[Row]]:
        """Raises SpecError if this is no segment at all."""
        with self.path.open("rb") as file:
            contents = self._contents(file)
            self._begin(contents)
            yield from self._rows(contents)

    def _begin(self, contents: Iterator[bytes]) -> None:
        self.head = self._read_head(contents, _head)
        if self.head.version > VERSION:
            raise SpecError(
                f"{self.path.name} was written by a newer version (traces {self.head.version}): upgrade to read it"
            )

    def _rows(self, contents: Iterator[bytes]) -> Iterator[list[Row]]:
        for content in contents:
            try:
                yield _rows.decode(content)
            except (msgspec.DecodeError, UnicodeDecodeError) as wrong:  # its CRC is right: written so
                self.problem = f"a record holds no rows ({wrong}) and is left out"


class Place(Struct, frozen=True):
    """How far a segment was read that still grows."""

    at: int = 0
    "Where the next record begins; 0: not even the head was there."
    damaged: int = 0
    "Damaged records just before."
    more: bool = False
    "Whether there was more to read, and no room for it."


class PieceReader(SegmentReader):
    """Rows of a part of a segment: the records that are whole and begin at one place or behind it, and before `end`."""

    def __init__(self, path: Path, begin: Place, end: int) -> None:
        super().__init__(path)
        self._place, self._stop = begin, end

    def __iter__(self) -> Iterator[list[Row]]:
        with self.path.open("rb") as file:
            yield from self._rows(self._part(file))

    def skim(self) -> Place:
        """Where the next part begins."""
        with self.path.open("rb") as file:
            if not self._place.at and not self._has_head(file):
                return Place()
            for _ in self._part(file):
                pass
            more = self.damaged < HOPELESS and self._stop <= self.whole < self.path.stat().st_size
            return Place(self.whole, self.damaged, more)

    def _part(self, file: BinaryIO) -> Iterator[bytes]:
        contents = self._contents(file)
        self._begin(contents)
        if self._place.at > self.whole:
            file.seek(self._place.at)
            self.whole, self.damaged = self._place.at, self._place.damaged
        self.end = self._stop
        yield from contents

    def _has_head(self, file: BinaryIO) -> bool:
        """Whether its writer came so far."""
        begun = file.read(len(self.magic) + _PREFIX.size)
        file.seek(0)
        if len(begun) < len(self.magic) + _PREFIX.size:
            return False
        length, _ = _PREFIX.unpack(begun[-_PREFIX.size :])
        return len(begun) + int(length) <= self.path.stat().st_size or length > RECORD_BYTES_MAX
