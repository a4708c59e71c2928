"""All clients of a node: who is attached, who gives its place up. What one asks its session serves."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gossamer.core.machine import Message
from gossamer.live.clients.identities import Identities
from gossamer.live.clients.session import ClientSession
from gossamer.live.clients.turns import Turns
from gossamer.live.links.control import Bye, refusal_of
from gossamer.live.links.link import UNDER_WAY_BYTES, Link
from gossamer.live.running.clock import monotonic_us
from gossamer.wire.frame import batch_frame

if TYPE_CHECKING:
    from gossamer.live.node import Node

PLACES_SHARED = 4
"One identity has at most a part of the places for clients: this many have to share them before they are all taken."


class ClientSessions:
    """All clients of one node."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.sessions: dict[Link, ClientSession] = {}
        self.identities = Identities()
        self.turns = Turns()

    def attached(self, link: Link) -> None:
        limits = self.node.config.limits
        identity = self.identities.get(link.name, limits, monotonic_us())
        share = max(1, limits.clients_max // PLACES_SHARED) if self.node.trust.contexts() is not None else 0
        if len(self.sessions) >= limits.clients_max:
            self.turn_away(link, "too many clients", f"the node has its {limits.clients_max} clients: come again later")
        elif share and identity.sessions >= share:
            sentence = f"{link.name} has {share} connections, and may have no more: close some, or share one"
            self.turn_away(link, "too many clients", sentence)
        else:
            self.sessions[link] = ClientSession(self.node, link, identity, self.turns)
            identity.sessions += 1
            self.node.metrics.clients += 1

    def turn_away(self, link: Link, reason: str, sentence: str) -> None:
        link.write(batch_frame([], [], [], [self.node.station.codec.encode(Bye(sentence))], link.version))
        link.refuse(reason, sentence)

    def detached(self, link: Link) -> None:
        if (session := self.sessions.pop(link, None)) is not None:
            session.close()
            session.identity.sessions -= 1
            self.node.metrics.clients -= 1

    def heard(self, link: Link, said: Sequence[bytes], take: Callable[[Link, bytes], None]) -> None:
        """A client said something: that is read when it is its turn."""
        if (session := self.sessions.get(link)) is not None:
            session.heard(said, take)

    def asked(self, link: Link, message: Message) -> None:
        if (session := self.sessions.get(link)) is not None:
            session.asked(message)

    def unread(self, link: Link, data: bytes, why: str) -> None:
        """A request that cannot be read is answered all the same: somebody may be waiting."""
        if (session := self.sessions.get(link)) is not None and (refusal := refusal_of(data, why)) is not None:
            session.say(refusal)

    def drained(self, link: Link) -> None:
        """A client has read what it was sent."""
        if (session := self.sessions.get(link)) is not None:
            session.drained()

    def sweep(self) -> None:
        """Once a second: whoever does not answer, does not read, or holds too much gives its place up."""
        patience_s = self.node.config.timeouts.silent_s
        held: dict[str, int] = {}
        for link, session in tuple(self.sessions.items()):
            held[link.name] = held.get(link.name, 0) + sum(len(each.body) for each in link.pieces.values())
            if session.unread_s >= patience_s:
                self.turn_away(link, "replies unread", f"it did not read what it was told for {patience_s:g} s")
            elif session.silent_s >= patience_s:
                self.turn_away(link, "silent client", f"it said nothing for {patience_s:g} s, though it was asked")
            elif held[link.name] > UNDER_WAY_BYTES:
                self.turn_away(link, "bad frame", "its large events come in too many pieces at once")
            else:
                session.swept()

    def end_ungranted(self, now_s: float) -> None:
        """Ends readers whose client's grant ran out, or covers their topic no longer."""
        for session in self.sessions.values():
            session.readers.end_ungranted(now_s)
