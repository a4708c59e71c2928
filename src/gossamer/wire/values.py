"""Attributes of events in traces: with them an audit knows whom an event was for, where nodes ask for a part only.

As msgpack, padded, so that a sealed row tells of its length only how many times 32 bytes it has. What seals and opens
them is elsewhere: here is how they are written, and what it takes to read them away from their file.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.trace import Head, Row, Values

STEP = 32
"Bytes: attributes come to a whole number of these."
LENGTH = 4

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(dict[str, str | int | float | bool])


class Sealer(Protocol):
    """Seals the rows of one file."""

    sealed_to: bytes
    sealed_by: bytes

    def seal(self, seq: int, event: EventId, data: bytes) -> bytes: ...


class Opener(Protocol):
    """Opens what somebody sealed."""

    @property
    def opens(self) -> frozenset[bytes]:
        """What the keys it has are known by."""

    def fits(self, kept: "KeptValues") -> bool:
        """Whether it is sealed to a key this has."""

    def open(self, kept: "KeptValues", event: EventId) -> bytes | None:
        """None: it was damaged."""


class KeptValues(Struct, frozen=True, array_like=True):
    """A row's attributes, with what its file's head says of them."""

    values: Values
    data: bytes
    seq: int = 0
    sealed_to: bytes = b""
    sealed_by: bytes = b""


_kept = msgspec.msgpack.Decoder(KeptValues)


def encoded(attributes: Mapping[str, Attribute]) -> bytes | None:
    """None: they cannot be written, such as half a letter."""
    try:
        data = _encoder.encode(attributes)
    except (ValueError, OverflowError):
        return None
    whole = len(data).to_bytes(LENGTH, "little") + data
    return whole + bytes(-len(whole) % STEP)


def decoded(data: bytes) -> dict[str, Attribute] | None:
    """None: these are no attributes."""
    length = int.from_bytes(data[:LENGTH], "little")
    try:
        return _decoder.decode(data[LENGTH : LENGTH + length])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def kept(head: Head, row: Row) -> bytes | None:
    """A row's attributes as they are kept away from their file; nothing, if it has none."""
    if row.attributes is None or head.values in (None, "off"):
        return None
    return _encoder.encode(KeptValues(head.values, row.attributes, row.seq, head.sealed_to, head.sealed_by))


def read_kept(data: bytes) -> KeptValues:
    """What `kept` gave."""
    return _kept.decode(data)
