"""A pack: all the events one signature stands for, as they travel together.

It is proved as a whole, by one hash: signature and path travel once for all of them. Any of its events can be taken out
and sealed alone, with a path of its own; only then, or when one of them comes alone, are they hashed one by one. A
publisher may have signed another tree than the one over the events of its pack: readers of this node get such events,
but none is passed on alone, since nobody would believe it.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.wire.frame import PART_BYTES
from gossamer.wire.proof import BATCH_MAX, HASH_BYTES, Levels, Proof, Stamp, leaf, levels, proof_of_pack, proofs, whole
from gossamer.wire.sealed import HEAD_BYTES_MAX, SEAL_BYTES_MAX, Head, TooDeep, event_of, seal
from gossamer.wire.wording import wording

PACK_BYTES_MAX = PART_BYTES
"Events that come to more travel alone."
FRAMING = 8
"What stands around each of them in a pack."
OPENED = 32
"Packs that were taken apart lately."


class Content(Struct, frozen=True, array_like=True):
    """A pack as bytes."""

    proof: Proof | None
    events: bytes


class Signed(Struct, frozen=True, array_like=True):
    """The events in it. Heads stand there as they were signed."""

    heads: list[Raw]
    payloads: list[bytes]


class Events(Struct, frozen=True, array_like=True):
    """The same bytes, with the heads read."""

    heads: Annotated[list[Head], Meta(min_length=1, max_length=BATCH_MAX)]
    payloads: Annotated[list[bytes], Meta(max_length=BATCH_MAX)]


class Pack:
    """What a node keeps of a pack whose proof held."""

    __slots__ = ("_leaves", "content", "ids", "mark", "proof", "publisher")

    def __init__(self, content: bytes, ids: tuple[EventId, ...], mark: bytes, proof: Proof | None) -> None:
        self.content, self.ids, self.mark, self.proof = content, ids, mark, proof
        self.publisher: Peer = ids[0].publisher
        self._leaves = b""

    def __len__(self) -> int:
        return len(self.content)

    def leaf(self, event_id: EventId) -> bytes:
        """What tells one of its events from others under that id. All are hashed once, however often one is asked for:
        a few bytes from outside ask."""
        if not self._leaves:
            self._leaves = b"".join([leaf(head, payload) for head, payload in inside(self)])
        at = HASH_BYTES * self.ids.index(event_id)
        return self._leaves[at : at + HASH_BYTES]

    def alone(self, event_id: EventId) -> tuple[bytes, bytes] | None:
        """The leaf of one of its events, and that event sealed with a proof of its own; None: it has none."""
        return opened(self).get(event_id)


@lru_cache(maxsize=OPENED)
def opened(pack: Pack) -> dict[EventId, tuple[bytes, bytes]]:
    """The leaf of every event of a pack, and that event sealed alone. Nothing, if the publisher signed another tree."""
    events, proof = inside(pack), pack.proof
    if not events:
        return {}
    tree = levels([leaf(head, payload) for head, payload in events])
    if proof is not None and proof.path != tree[-1][0]:
        return {}
    proved = proofs(tree, pack.mark, None if proof is None else Stamp(proof.key, proof.signature))
    sealed = [seal(head, payload, its) for (head, payload), its in zip(events, proved, strict=True)]
    return dict(zip(pack.ids, zip(tree[0], sealed, strict=True), strict=True))


def unproved(pack: Pack) -> dict[EventId, bytes]:
    """Every event of a pack sealed alone, for readers of this node: they check no proofs."""
    return {each: seal(*event, None) for each, event in zip(pack.ids, inside(pack))}


def inside(pack: Pack) -> list[tuple[bytes, bytes]]:
    """Head and payload of every event, as they were signed. Nothing, if they are nested deeper than can be read here,
    where the stack may be higher than it was when they came."""
    try:
        signed = _signed.decode(_contents.decode(pack.content).events)
    except RecursionError:
        return []
    return [*zip(map(bytes, signed.heads), signed.payloads, strict=True)]


def pack(
    heads: Sequence[bytes], events: Sequence[Event], tree: Levels, stamp: Callable[[Levels, bytes], Stamp | None]
) -> Pack:
    """Events of one publisher, with the tree over them; `stamp` signs that tree and the pack."""
    signed = _encoder.encode(Signed([Raw(head) for head in heads], [event.payload for event in events]))
    mark = whole(signed)
    proof = proof_of_pack(tree, stamp(tree, mark))
    return Pack(_encoder.encode(Content(proof, signed)), tuple([event.id for event in events]), mark, proof)


def unpack(content: bytes) -> tuple[Pack, list[Event]]:
    """A pack from outside, whose proof is still to be checked; PeerFault for anything else."""
    try:
        read = _contents.decode(content)
        events = _events.decode(read.events)
        longest = longest_head(read.events) if len(read.events) > HEAD_BYTES_MAX else 0
    except RecursionError as wrong:
        raise TooDeep("a pack that is nested too deeply") from wrong
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise PeerFault(f"not a pack: {wording(wrong)}") from wrong
    heads, payloads, proof = events.heads, events.payloads, read.proof
    if len(payloads) != len(heads):
        raise PeerFault("a pack with more heads than payloads, or fewer")
    if proof is not None and not proof.index == proof.count == len(heads):
        raise PeerFault("a pack with the proof of something else")
    if longest > HEAD_BYTES_MAX:
        raise PeerFault("an event with a head of more than 64 KiB")
    if len(read.events) > PACK_BYTES_MAX + FRAMING * BATCH_MAX:
        raise PeerFault("a pack of more than 256 KiB: frames it is passed on in would be too large")
    if len(content) > len(read.events) + SEAL_BYTES_MAX:
        raise PeerFault("a pack with much around it that its publisher did not sign")
    ids = tuple([head.id for head in heads])
    if len({*ids}) != len(ids):
        raise PeerFault("a pack with an event in it twice")
    if len({event_id.publisher for event_id in ids}) != 1:
        raise PeerFault("a pack of more than one publisher")
    return Pack(content, ids, whole(read.events), proof), [*map(event_of, heads, payloads)]


def longest_head(events: bytes) -> int:
    return max([len(bytes(head)) for head in _signed.decode(events).heads])


_encoder = msgspec.msgpack.Encoder()
_contents = msgspec.msgpack.Decoder(Content)
_signed = msgspec.msgpack.Decoder(Signed)
_events = msgspec.msgpack.Decoder(Events)
