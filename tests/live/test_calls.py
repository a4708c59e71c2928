"""Calls to other nodes: whoever greets and hangs up is left alone for a while."""

import asyncio
import math

import pytest

from gossamer.core.errors import GossamerError, Misuse, PeerFault, TransportDown
from gossamer.core.ids import Peer, peer_of
from gossamer.core.machine import PeerDown
from gossamer.live.keys.trust import OpenTrust
from gossamer.live.links.transports import Channel, tcp
from gossamer.live.node import Node
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
            node.station.records.admit(OpenTrust("brusque").record([WHERE], 1))
            connections = node.station.connections
            waiting = asyncio.ensure_future(is_given_up(node))
            await asyncio.sleep(0)
            connections.outgoing.say([BRUSQUE], b"\xc0")
            await asyncio.wait_for(waiting, 60)
            connections.outgoing.say([BRUSQUE], b"\xc0")
            assert (brusque.calls, connections.lines[BRUSQUE].dialing) == (1, False)

    asyncio.run(scenario())


def test_whoever_was_given_up_is_called_again_soon_after_it_renews_its_record() -> None:
    """However often it failed: a node that comes back under its name may know nobody that gave it up."""

    async def scenario() -> None:
        async with Network() as network:
            node, brusque = await network.node("a"), Brusque()
            network.memory.listening[WHERE] = brusque.answer
            node.station.records.admit(OpenTrust("brusque").record([WHERE], 1))
            connections = node.station.connections
            waiting = asyncio.ensure_future(is_given_up(node))
            await asyncio.sleep(0)
            connections.outgoing.say([BRUSQUE], b"\xc0")
            await asyncio.wait_for(waiting, 60)
            line = connections.lines[BRUSQUE]
            line.blocked_until_s, line.failed_s = math.inf, -math.inf
            connections.outgoing.say([BRUSQUE], b"\xc0")
            assert not line.dialing
            node.station.records.admit(OpenTrust("brusque").record([WHERE], 2))
            connections.outgoing.say([BRUSQUE], b"\xc0")
            assert line.dialing

    asyncio.run(scenario())


@pytest.mark.parametrize("wrong", [Misuse("not an address"), TransportDown("nobody there"), PeerFault("not a node")])
def test_whatever_is_wrong_with_an_address_its_peer_is_given_up(wrong: GossamerError) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            node.station.records.admit(OpenTrust("brusque").record([WHERE], 1))

            async def dial(*_: object) -> Channel:
                raise wrong

            node.station.transport.dial = dial  # type: ignore[method-assign]
            waiting = asyncio.ensure_future(is_given_up(node))
            await asyncio.sleep(0)
            node.station.connections.outgoing.say([BRUSQUE], b"\xc0")
            await asyncio.wait_for(waiting, 60)
            assert not node.station.connections.lines[BRUSQUE].dialing

    asyncio.run(scenario())


@pytest.mark.parametrize("host", ["x" * 80, "a..b", "a\0b"])
def test_a_name_that_no_resolver_takes_is_a_call_that_did_not_get_through(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "split_address", lambda address: (host, 1))

    async def scenario() -> None:
        with pytest.raises(TransportDown, match="cannot be reached"):
            await tcp.Tcp(OpenTrust("a"), 5.0).dial("anywhere:1", lambda channel: Brusque())

    asyncio.run(scenario())
