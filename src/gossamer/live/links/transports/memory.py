"""Nodes in one process, without sockets: the same frames, handed over through the loop.

For tests, ours and our users': a `MemoryNetwork` can cut pairs apart and heal them, and loses nothing else.
"""

import asyncio
from itertools import count

from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.links.transports import HANDSHAKE_S, Answer, Channel, Listener, TurnedAway

PREFIX = "memory:"


class MemoryNetwork:
    """What the in-process transports of one test share: who listens where, and who is cut off from whom."""

    def __init__(self) -> None:
        self.listening: dict[str, Answer] = {}
        self.channels: list[MemoryChannel] = []
        self.islands: dict[str, int] = {}
        self._ports = count(1)

    def split(self, *islands: list[str]) -> None:
        """Cuts the addresses of each island off from the others; streams between them break."""
        self.islands = {address: i for i, island in enumerate(islands) for address in island}
        for channel in tuple(self.channels):
            if not self.joined(channel.here, channel.where):
                channel.abort()

    def heal(self) -> None:
        self.islands = {}

    def joined(self, one: str, other: str) -> bool:
        return self.islands.get(one) == self.islands.get(other)

    def free_address(self) -> str:
        return f"{PREFIX}{next(self._ports)}"


class MemoryChannel:
    """One end. Bytes reach the other end in a later turn of the loop, in order."""

    certificate: bytes | None = None
    listener: Listener | None = None
    other: "MemoryChannel"

    def __init__(self, network: MemoryNetwork, here: str, where: str) -> None:
        self.network, self.here, self.where = network, here, where
        self.open = True
        self.paused: list[bytes] | None = None
        self.loop = asyncio.get_running_loop()
        network.channels.append(self)

    def write(self, data: bytes) -> None:
        if self.open:
            self.loop.call_soon(self.other._arrives, data)

    def _arrives(self, data: bytes) -> None:
        if self.paused is not None:
            self.paused.append(data)
        elif self.open:
            assert self.listener is not None
            self.listener.heard(data)

    def pending(self) -> int:
        return sum(map(len, self.other.paused or ()))

    def end_unless_taken(self, within_s: float) -> None:
        """Nothing is ever under way for long here."""

    def pause(self, paused: bool) -> None:
        if paused and self.paused is None:
            self.paused = []
        elif not paused and self.paused is not None:
            held, self.paused = self.paused, None
            for data in held:
                self._arrives(data)
            if self.other.listener is not None:
                self.loop.call_soon(self.other.listener.drained)

    def close(self) -> None:
        if self.open:
            self.loop.call_soon(self.other._ends, "closed")
            self._ends("closed")

    def abort(self) -> None:
        self.close()

    def _ends(self, why: str) -> None:
        if self.open:
            self.open = False
            self.network.channels.remove(self)
            if self.listener is not None:
                self.listener.lost(why)


class Memory:
    """The transport: an address is a name in the network."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.network = network
        self.here = ""
        self.handshake_s = HANDSHAKE_S

    async def listen(self, address: str, answer: Answer, turned_away: TurnedAway) -> str:
        self.here = self.network.free_address() if not address or address.endswith(":0") else address
        if self.here in self.network.listening:
            raise Misuse(f"{self.here} is taken by another node of this process: choose another")
        self.network.listening[self.here] = answer
        return self.here

    async def dial(self, address: str, answer: Answer) -> Channel:
        taker = self.network.listening.get(address)
        if taker is None or not self.network.joined(self.here, address):
            raise TransportDown(f"{address} cannot be reached: nobody listens there")
        ours, theirs = (
            MemoryChannel(self.network, self.here, address),
            MemoryChannel(self.network, address, self.here),
        )
        ours.other, theirs.other = theirs, ours
        ours.listener = answer(ours)
        theirs.listener = taker(theirs)
        return ours

    async def close(self) -> None:
        self.network.listening.pop(self.here, None)
