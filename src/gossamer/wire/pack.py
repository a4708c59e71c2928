"""A pack: all the events one signature stands for, as they travel together.

Where every leaf of the tree is at hand no path is needed, so that signature and hashes travel once for all of them. Any
of its events can be taken out and sealed alone, with a path of its own.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.wire.frame import PART_BYTES
from gossamer.wire.proof import BATCH_MAX, Levels, Stamp, leaf, levels, proofs
from gossamer.wire.sealed import HEAD_BYTES_MAX, SEAL_BYTES_MAX, Head, event_of, seal

PACK_BYTES_MAX = PART_BYTES
"Events that come to more travel alone."
OPENED = 16
"Packs that were taken apart lately."

FRAMING = 10
"Bytes that announce a head and a payload, at most."


class Content(Struct, frozen=True, array_like=True):
    """A pack as bytes. Heads stand there as they were signed."""

    stamp: Stamp | None
    heads: Annotated[list[Raw], Meta(min_length=1, max_length=BATCH_MAX)]
    payloads: Annotated[list[bytes], Meta(max_length=BATCH_MAX)]


class Heads(Struct, frozen=True, array_like=True):
    """The same bytes, with the heads read."""

    stamp: Raw
    heads: list[Head]


class Pack:
    """What a node keeps of a pack whose proof held."""

    __slots__ = ("content", "ids", "leaves", "mark", "publisher", "stamp")

    def __init__(
        self, content: bytes, ids: tuple[EventId, ...], leaves: Sequence[bytes], mark: bytes, stamp: Stamp | None
    ) -> None:
        self.content, self.ids, self.leaves, self.mark, self.stamp = content, ids, leaves, mark, stamp
        self.publisher: Peer = ids[0].publisher

    def __len__(self) -> int:
        return len(self.content)

    def alone(self, event_id: EventId) -> tuple[bytes, bytes]:
        """The leaf of one of its events, and that event sealed with a proof of its own."""
        return opened(self)[event_id]


@lru_cache(maxsize=OPENED)
def opened(pack: Pack) -> dict[EventId, tuple[bytes, bytes]]:
    """The leaf of every event of a pack, and that event sealed alone."""
    content = _contents.decode(pack.content)
    proved = proofs(levels(pack.leaves), pack.stamp)
    sealed = map(seal, map(bytes, content.heads), content.payloads, proved)
    return dict(zip(pack.ids, zip(pack.leaves, sealed, strict=True), strict=True))


def pack(heads: Sequence[bytes], events: Sequence[Event], tree: Levels, stamp: Stamp | None) -> Pack:
    """Events of one publisher, with the tree over them and the stamp under which all of them were signed."""
    content = _encoder.encode(Content(stamp, [Raw(head) for head in heads], [event.payload for event in events]))
    return Pack(content, tuple([event.id for event in events]), tree[0], tree[-1][0], stamp)


def unpack(content: bytes) -> tuple[Pack, list[Event]]:
    """A pack from outside, whose stamp is still to be checked; PeerFault for anything else."""
    try:
        read = _contents.decode(content)
        heads = _heads.decode(content).heads
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise PeerFault(f"not a pack: {wrong}") from wrong
    if len(read.payloads) != len(heads):
        raise PeerFault("a pack with more heads than payloads, or fewer")
    raw = [*map(bytes, read.heads)]
    if max(map(len, raw)) > HEAD_BYTES_MAX:
        raise PeerFault("an event with a head of more than 64 KiB")
    if len(content) > sum(map(len, raw)) + sum(map(len, read.payloads)) + FRAMING * len(raw) + SEAL_BYTES_MAX:
        raise PeerFault("a pack with much around it that its publisher did not sign")
    ids = tuple([head.id for head in heads])
    if len({*ids}) != len(ids):
        raise PeerFault("a pack with an event in it twice")
    if len({event_id.publisher for event_id in ids}) != 1:
        raise PeerFault("a pack of more than one publisher")
    leaves = [*map(leaf, raw, read.payloads)]
    events = [*map(event_of, heads, read.payloads)]
    return Pack(content, ids, leaves, levels(leaves)[-1][0], read.stamp), events


_encoder = msgspec.msgpack.Encoder()
_contents = msgspec.msgpack.Decoder(Content)
_heads = msgspec.msgpack.Decoder(Heads)
