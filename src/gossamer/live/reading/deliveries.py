"""What a reader gets: events, and word of events that are lost to it."""

from typing import NamedTuple

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.wire.sealed import unseal

WHY_GONE = (
    "they waited for too long, and the spool had no room for more: give spool.durable_bytes, or read faster; "
    "or they were published while the node was away, and no member has them any more"
)
"Of a gap: what a durable subscription has lost for good."


class Delivery(Event, frozen=True, kw_only=True, gc=False):
    """An event as a reader gets it."""

    place: int = 0
    "Where it stands in this node's spool: counts every event delivered at this node."
    hops: int = 0
    "How many times it was passed on before it came here."
    redelivered: bool = False
    "It had been given to this named subscription before, and was not acknowledged: it may have been handled."


class Gap(Struct, frozen=True):
    """Events were lost to this reader: it was too slow, or away for too long, or they never came."""

    lost: int
    "How many, as far as that is known."
    why: str
    topic: Topic = ""
    "Where events are missing that may still be found: they come later, as any other. Empty: lost for good."
    publisher: Peer = 0
    "Whose."


class LogPage(NamedTuple):
    """A piece of the log, of one topic and filter."""

    items: list[Delivery]
    examined: int
    "Read on after this place."
    lost: int
    "Events that had places here and are gone; at least so many."
    settled: int
    "How far the log is committed: every place up to here has its event, or will never have one."


def delivery(event: Event, place: int, hops: int, redelivered: bool = False) -> Delivery:
    e = event
    return Delivery(
        e.id,
        e.topic,
        e.payload,
        e.attributes,
        e.climb,
        e.published_us,
        e.ordinal,
        e.tags,
        place=place,
        hops=hops,
        redelivered=redelivered,
    )


def read_delivery(sealed: bytes, place: int, hops: int, redelivered: bool) -> Delivery:
    """A delivery from bytes that were checked when they arrived."""
    return delivery(unseal(sealed)[0], place, hops, redelivered)
