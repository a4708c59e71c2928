"""Frames: what travels on a link, and its limits.

A frame is a header (bytes that follow, version, kind) and a body. A batch lists the ids of the events it carries
first, each with its hash, so that whoever knows an event never looks at its bytes; events that were signed together
travel as a pack, which is known by one hash. Batches are put together from parts that were encoded once for all links.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Hops
from gossamer.core.ids import EventId, Peer
from gossamer.wire.proof import HASH_BYTES
from gossamer.wire.wording import wording

VERSION = 1
OLDEST = 1
"The versions spoken here: the highest both sides speak is used. A release raises VERSION and keeps the one before."

T = TypeVar("T")
Bytes: TypeAlias = bytes | memoryview

HELLO, BATCH, PART = 1, 2, 3
"Kinds of frame."

HEADER = struct.Struct(">IBB")
LENGTH = struct.Struct(">I")
FRAME_BYTES_MAX = 1 << 20
HELLO_BYTES_MAX = 16 << 10
PART_BYTES = 256 << 10
"Events above this size travel in parts of it."
EVENT_PARTS_MAX = (16 << 20) + (1 << 17)
"The longest thing that travels in parts: the largest event, or a message around it."
ITEMS_MAX = 20_000
ROUTE_MAX = 64
SAID_BYTES_MAX = 256
"What a message says beside its event."

Hash: TypeAlias = Annotated[bytes, Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
Tag: TypeAlias = Annotated[str, Meta(max_length=64)]
Route: TypeAlias = Annotated[tuple[Peer, ...], Meta(max_length=ROUTE_MAX)]
Said: TypeAlias = Annotated[bytes, Meta(max_length=SAID_BYTES_MAX)]


class Copy(Struct, frozen=True, array_like=True, gc=False):
    """A copy of an event, seen from outside: enough to know whether its bytes are news."""

    id: EventId
    leaf: Hash
    "Tells two bodies under one id apart."
    hops: Hops
    tag: Tag
    "Which message carries it."
    route: Route = ()
    said: Said = b""
    "What that message says beside the event, if anything."


class PackCopy(Struct, frozen=True, array_like=True, gc=False):
    """A copy of every event of a pack, seen from outside."""

    mark: Hash
    "The hash of all its events."
    hops: Hops
    tag: Tag
    content: memoryview
    route: Route = ()


class Batch(Struct, frozen=True, array_like=True):
    """New sections go last, with a default."""

    records: Annotated[list[bytes], Meta(max_length=ITEMS_MAX)]
    "Records of peers named further on that this link has not carried before."
    copies: Annotated[list[Copy], Meta(max_length=ITEMS_MAX)]
    bodies: Annotated[list[memoryview], Meta(max_length=ITEMS_MAX)]
    "The sealed event of each copy."
    messages: Annotated[list[Raw], Meta(max_length=ITEMS_MAX)]
    packs: Annotated[list[PackCopy], Meta(max_length=ITEMS_MAX)] = []


class Part(Struct, frozen=True, array_like=True):
    """A piece of what is too large for one frame. The first piece of an event names it, that of a message does not."""

    transfer: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    "Counts the large events of this link."
    start: Annotated[int, Meta(ge=0, lt=2**31)]
    total: Annotated[int, Meta(ge=1, lt=2**31)]
    piece: memoryview
    copy: Copy | None = None


class Hello(Struct, frozen=True, array_like=True):
    """The first frame of each side. New fields go last, with a default."""

    oldest: Annotated[int, Meta(ge=0, le=255)]
    newest: Annotated[int, Meta(ge=0, le=255)]
    network: Annotated[str, Meta(max_length=64)]
    role: Annotated[str, Meta(max_length=16)]
    "`node`, or `client`: no tables, no forwarding."
    record: bytes
    revocations: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    "The version of the list of revoked keys known here."
    spread: Annotated[str, Meta(max_length=512)] = ""
    "How events travel, for nodes: all of a network must say the same."


_encoder = msgspec.msgpack.Encoder()
_hellos = msgspec.msgpack.Decoder(Hello)
_batches = msgspec.msgpack.Decoder(Batch)
_parts = msgspec.msgpack.Decoder(Part)


def packed(item: object) -> bytes:
    """An item as it stands in a batch: a copy, a body, a record."""
    return _encoder.encode(_short(item) if type(item) is Copy else item)


def _short(copy: Copy) -> Copy | tuple[object, ...]:
    """Most say nothing beside their event: these stand as they did before any could."""
    return copy if copy.said else (copy.id, copy.leaf, copy.hops, copy.tag, copy.route)


def frame(kind: int, body: bytes, version: int = VERSION) -> bytes:
    return HEADER.pack(len(body) + 2, version, kind) + body


def hello_frame(hello: Hello) -> bytes:
    return frame(HELLO, packed(hello), hello.oldest)  # whoever speaks any common version can read it


def part_frames(transfer: int, body: bytes, copy: Copy | None, version: int = VERSION) -> Iterator[bytes]:
    """A large event, piece by piece."""
    for start in range(0, len(body), PART_BYTES):
        piece = memoryview(body)[start : start + PART_BYTES]
        named = None if start or copy is None else _short(copy)
        yield frame(PART, packed((transfer, start, len(body), piece, named)), version)  # as `Part` is encoded


def batch_frame(
    records: Iterable[bytes],
    copies: list[bytes],
    bodies: list[bytes],
    messages: list[bytes],
    version: int = VERSION,
    packs: Iterable[bytes] = (),
) -> bytes:
    """A batch from items already packed: nothing is encoded twice."""
    sections = [b"\x95"]
    for items in (list(records), copies, bodies, messages, list(packs)):
        sections.append(b"\xdd" + len(items).to_bytes(4))
        sections += items
    body = b"".join(sections)
    return HEADER.pack(len(body) + 2, version, BATCH) + body


def read_hello(body: Bytes) -> Hello:
    return _read(_hellos, body)


def read_batch(body: Bytes) -> Batch:
    batch = _read(_batches, body)
    if len(batch.copies) != len(batch.bodies):
        raise PeerFault("a batch with more copies than bodies, or fewer")
    return batch


def read_part(body: Bytes) -> Part:
    return _read(_parts, body)


def _read(decoder: "msgspec.msgpack.Decoder[T]", body: Bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise PeerFault(f"not a frame: {wording(wrong)}") from wrong


def agree(ours: tuple[int, int], theirs: tuple[int, int]) -> int:
    """The highest version both speak."""
    version = min(ours[1], theirs[1])
    if version < max(ours[0], theirs[0]):
        raise PeerFault(f"the peer speaks versions {theirs[0]} to {theirs[1]}, we speak {ours[0]} to {ours[1]}")
    return version


class FrameReader:
    """Cuts a stream into frames; holds at most one unfinished one."""

    def __init__(self) -> None:
        self.limit = HELLO_BYTES_MAX
        "Bytes a frame may have: few until the peer has said who it is."
        self._held = bytearray()
        self._wanted = LENGTH.size
        "Bytes from which on it is worth looking at what is held."

    @property
    def unfinished(self) -> bool:
        return len(self._held) > 0

    def feed(self, data: bytes) -> Iterator[tuple[int, int, memoryview]]:
        """(version, kind, body) of every frame these bytes complete. A length is judged as soon as it is there."""
        whole: bytes | bytearray = data
        if self._held:
            self._held += data
            if len(self._held) < self._wanted:
                return
            whole, self._held = self._held, bytearray()
        view, start, end = memoryview(whole), 0, len(whole)
        wanted = LENGTH.size
        while end - start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(view, start)
            if not 2 <= length <= self.limit:
                raise PeerFault(f"a frame of {length} bytes, and at most {self.limit} are allowed here")
            after = start + LENGTH.size + length
            if after > end:
                wanted = LENGTH.size + length
                break
            yield view[start + 4], view[start + 5], view[start + HEADER.size : after]
            start = after
        if start < end:
            self._held, self._wanted = bytearray(view[start:]), wanted
