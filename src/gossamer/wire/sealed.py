"""An event as bytes: encoded once by its publisher, forwarded as it is.

The head (everything but the payload) is a string of its own, so that topic and attributes can be read without
touching the payload, and so that what was signed is exactly what is read.
"""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Attribute, Chance, Event
from gossamer.core.ids import EventId, Ordinal
from gossamer.core.patterns import Tag
from gossamer.core.topics import Topic, remember
from gossamer.parts.tagging import fits
from gossamer.wire.proof import Proof, leaf
from gossamer.wire.wording import wording

EVENT_BYTES_MAX = 16 << 20
"The largest event, sealed. Larger ones belong in a store of their own, with an event that says where."
HEAD_BYTES_MAX = 64 << 10
SEAL_BYTES_MAX = 1 << 10
"What may stand around head and payload: a proof, and what later versions add. Nobody signed it, so a relay could."

ATTRIBUTES_MAX = 64
ATTRIBUTE_NAME_MAX = 128

Key: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ATTRIBUTE_NAME_MAX)]
Attributes: TypeAlias = Annotated[dict[Key, Attribute], Meta(max_length=ATTRIBUTES_MAX)]


class Head(Struct, frozen=True, array_like=True, gc=False):
    """An event without its payload. New fields go last, with a default."""

    id: EventId
    topic: str
    "A `Topic`, looked at in `unseal`: once for each that is met, not for every event."
    attributes: Attributes
    climb: Chance | None
    published_us: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    ordinal: Ordinal
    tags: tuple[Tag, ...] = ()


class TooDeep(PeerFault):
    """Nested deeper than the stack has room for just here. Whoever passed it on had more: nobody but its publisher is
    to blame."""


class Sealed(Struct, frozen=True, array_like=True, gc=False):
    head: bytes
    payload: bytes
    proof: Proof | None = None


_encoder = msgspec.msgpack.Encoder()
_sealed = msgspec.msgpack.Decoder(Sealed)
_heads = msgspec.msgpack.Decoder(Head)
_topics: dict[Topic, None] = {}
"Names found to be topics."


def head_of(event: Event) -> bytes:
    """The head as it travels and is signed."""
    e = event
    return _encoder.encode(Head(e.id, e.topic, e.attributes, e.climb, e.published_us, e.ordinal, e.tags))


def seal(head: bytes, payload: bytes, proof: Proof | None) -> bytes:
    return _encoder.encode(Sealed(head, payload, proof))


def unseal(body: bytes | memoryview) -> tuple[Event, bytes, Proof | None]:
    """The event, the leaf its publisher signed, and the proof; PeerFault for anything else."""
    try:
        sealed = _sealed.decode(body)
        if len(sealed.head) > HEAD_BYTES_MAX:
            raise PeerFault("an event with a head of more than 64 KiB")
        if len(body) > len(sealed.head) + len(sealed.payload) + SEAL_BYTES_MAX:
            raise PeerFault("an event with much around it that its publisher did not sign")
        head = _heads.decode(sealed.head)
    except RecursionError as wrong:
        raise TooDeep("an event that is nested too deeply") from wrong
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise PeerFault(f"not an event: {wording(wrong)}") from wrong
    return event_of(head, sealed.payload), leaf(sealed.head, sealed.payload), sealed.proof


def event_of(head: Head, payload: bytes) -> Event:
    if head.topic not in _topics:
        _check(head.topic)
    if not fits(head.tags):
        raise PeerFault("an event with more than 8 KiB of tags")
    return Event(head.id, head.topic, payload, head.attributes, head.climb, head.published_us, head.ordinal, head.tags)


def _check(name: str) -> None:
    try:
        remember(_topics, msgspec.convert(name, Topic), None)
    except msgspec.ValidationError as wrong:
        raise PeerFault(f"not an event: {wording(wrong)}") from wrong
