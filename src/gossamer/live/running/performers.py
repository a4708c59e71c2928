"""Those who do what a machine asks for, as the driver sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Fetch, GivenUp, Missing, ReadLog, Relayed, Settled
from gossamer.live.arriving.bodies import Body
from gossamer.live.links.bundle import Bundle
from gossamer.wire.frame import Copy


class Sends(Protocol):
    """`Send`: messages and copies of events, each to a queue per peer."""

    def say(self, peers: tuple[Peer, ...], message: bytes, mentions: tuple[Peer, ...]) -> None: ...
    def bundle(self, peers: tuple[Peer, ...], publisher: Peer, besides: Peer) -> Bundle: ...
    def spread_large(self, peers: tuple[Peer, ...], copy: Copy, body: bytes, besides: Peer) -> int: ...


class Delivers(Protocol):
    """`Deliver` and `Relayed`, everything of one turn of the loop, and `Missing`."""

    def deliver(self, deliveries: list[Deliver | Relayed], now_us: int) -> None: ...
    def missing(self, missing: Missing) -> None: ...


class HandsOver(Protocol):
    """Hears what becomes of events of this node's own."""

    def told(self, events: Sequence[EventId], peers: tuple[Peer, ...], again: bool) -> None:
        """They left for these peers; `again`: only because they missed them."""

    def dropped(self, event_id: EventId) -> None:
        """There was no room for one."""

    def restored(self, event_id: EventId) -> Body | None:
        """The body of one that waited for long."""


class Fetches(Protocol):
    """`Fetch`: events that are no longer at hand."""

    def fetch(self, wanted: Fetch) -> None: ...


class ReadsLog(Protocol):
    """`ReadLog`, `GivenUp` and `Settled`: what others lack, what nobody has any more, what need not be asked for."""

    def read(self, wanted: ReadLog) -> None: ...
    def give_up(self, lost: GivenUp) -> None: ...
    def settle(self, settled: Settled) -> None: ...


@dataclass(frozen=True)
class Performers:
    """All of them: whoever is forgotten is a TypeError."""

    links: Sends
    readers: Delivers
    handover: HandsOver
    retrieval: Fetches
    log: ReadsLog
