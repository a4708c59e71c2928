"""Messages that are not for the machine: acknowledgements, goodbyes, lists of revoked keys, and what clients ask."""

from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.live.arriving.revoking import Revoking
from gossamer.live.links.connections import Connections
from gossamer.live.links.control import CLIENT_CONTROL, Acked, Bye, How, Revoked
from gossamer.live.links.link import Link


class Acknowledged(Protocol):
    """Whoever waits for members to have what was published here."""

    def acked(self, peer: Peer, ranges: tuple[tuple[int, int, int], ...], how: How) -> None: ...


class Asked(Protocol):
    """Whoever serves clients."""

    def heard(self, link: Link, said: Sequence[bytes], take: Callable[[Link, bytes], None]) -> None:
        """A client said something, which `take` reads when it is that client's turn."""

    def asked(self, link: Link, message: Message) -> None: ...
    def unread(self, link: Link, data: bytes, why: str) -> None:
        """A client said what nobody can read, and why not."""


class ControlMessages:
    """Each goes to whom it is for."""

    def __init__(self, handover: Acknowledged, connections: Connections, revoking: Revoking, clients: Asked) -> None:
        self.handover, self.connections, self.revoking, self.clients = handover, connections, revoking, clients

    def take(self, link: Link, message: Message) -> bool:
        """False: it is for the machine."""
        match message:
            case Acked(spans, how):
                if link.role == "client" or link.peer is None:
                    link.strike("not for clients", "a client acknowledged what only members can")
                else:
                    self.handover.acked(link.peer, spans, how)
            case Bye():
                self.connections.said_bye(link)
            case Revoked(data):
                self.revoking.take(data, link)
            case _ if type(message) in CLIENT_CONTROL:
                if link.role == "client":
                    self.clients.asked(link, message)
                else:
                    link.strike("not for nodes", "a node sent what only clients say")
            case _:
                return False
        return True
