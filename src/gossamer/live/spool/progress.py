"""What the disk knows of a durable subscription, and what it is told."""

from typing import NamedTuple

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic


class Progress(NamedTuple):
    """How far a subscription has come."""

    acked: int
    "Everything up to this place is acknowledged, or not wanted."
    beyond: tuple[tuple[int, int], ...] = ()
    "And so are these places, from a first to a last."
    offered: int = 0
    "No place after this one was ever handed out."
    told: int = 0
    "So many of the events that retention took from it were told of."


class StreamRanges(NamedTuple):
    """Ordinals of one stream that a subscription is done with, as ranges; none: to be forgotten."""

    publisher: Peer
    incarnation: int
    topic: Topic
    ranges: tuple[tuple[int, int], ...]


class Save(NamedTuple):
    """Please: write this down, in one commit."""

    number: int
    "An acknowledgement with this number, or a lower one, is in it."
    progress: Progress
    streams: tuple[StreamRanges, ...] = ()
    "Streams of which more is done with than before."
