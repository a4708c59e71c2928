"""Calls to other nodes: whoever greets and hangs up is left alone for a while."""

import asyncio
import math

from gossamer.core.ids import Peer, peer_of
from gossamer.core.machine import PeerDown
from gossamer.live.node import Node
from gossamer.live.transports import Channel
from gossamer.live.trust import OpenTrust
from gossamer.testing import Network
from gossamer.wire.frame import Hello, hello_frame

WHERE = "memory:brusque"
BRUSQUE: Peer = peer_of("brusque")


class Brusque:
    """Says hello, as a node does that finds a caller's key revoked only then, and hangs up."""

    def __init__(self) -> None:
        self.calls = 0

    def answer(self, channel: Channel) -> "Brusque":
        self.calls += 1
        record = OpenTrust("brusque").record([WHERE], 1)
        channel.write(hello_frame(Hello(1, 1, "default", "node", record, spread="camcast")))
        channel.close()
        return self

    def heard(self, data: bytes) -> None: ...

    def drained(self) -> None: ...

    def lost(self, why: str) -> None: ...


async def is_given_up(node: Node) -> None:
    """Until the machine is told that the peer is down."""
    told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    feed = node.station.driver.feed
    node.station.driver.feed = lambda given: (  # type: ignore[method-assign, assignment]
        told.set_result(None) if given == PeerDown(BRUSQUE) and not told.done() else None,
        feed(given),
    )
    await told


def test_whoever_greets_and_hangs_up_is_not_called_again_at_once() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node, brusque = await network.node("a"), Brusque()
            network.memory.listening[WHERE] = brusque.answer
            node.station.hearing.admit(OpenTrust("brusque").record([WHERE], 1))
            board = node.station.board
            waiting = asyncio.ensure_future(is_given_up(node))
            await asyncio.sleep(0)
            board.say([BRUSQUE], b"\xc0")
            await asyncio.wait_for(waiting, 60)
            board.say([BRUSQUE], b"\xc0")
            assert (brusque.calls, board.lines[BRUSQUE].dialing) == (1, False)

    asyncio.run(scenario())


def test_whoever_was_given_up_is_called_again_soon_after_it_renews_its_record() -> None:
    """However often it failed: a node that comes back under its name may know nobody that gave it up."""

    async def scenario() -> None:
        async with Network() as network:
            node, brusque = await network.node("a"), Brusque()
            network.memory.listening[WHERE] = brusque.answer
            node.station.hearing.admit(OpenTrust("brusque").record([WHERE], 1))
            board = node.station.board
            waiting = asyncio.ensure_future(is_given_up(node))
            await asyncio.sleep(0)
            board.say([BRUSQUE], b"\xc0")
            await asyncio.wait_for(waiting, 60)
            line = board.lines[BRUSQUE]
            line.blocked_until_s, line.failed_s = math.inf, -math.inf
            board.say([BRUSQUE], b"\xc0")
            assert not line.dialing
            node.station.hearing.admit(OpenTrust("brusque").record([WHERE], 2))
            board.say([BRUSQUE], b"\xc0")
            assert line.dialing

    asyncio.run(scenario())
