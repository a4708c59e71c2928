"""Links that nobody needs are closed in good order, and made again when somebody does."""

import asyncio

from gossamer.live.node import Node
from gossamer.testing import Network
from live.watching import payloads, until

IDLE_S = 10_000.0
"So long that no sweep of the running nodes ends a link: these tests say what time it is."


def is_linked(node: Node, other: Node) -> bool:
    line = node.station.connections.lines.get(other.station.me)
    return line is not None and line.link is not None


async def two(network: Network) -> tuple[Node, Node]:
    """Nodes with a link and no community in common: they have nothing to say to each other."""
    a, b = [await network.node(name, timeouts={"idle_s": IDLE_S}) for name in ("a", "b")]
    await until(lambda: is_linked(a, b) and is_linked(b, a))
    return a, b


def test_a_link_that_was_not_used_for_idle_s_is_closed_and_none_before() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await two(network)
            connections = a.station.connections
            now_s = connections.loop.time()
            connections.sweep(now_s)
            connections.sweep(now_s + 0.9 * IDLE_S)
            assert is_linked(a, b)
            connections.outgoing.say([b.station.me], b"\xc0")
            connections.outgoing.flush()
            for later_s in (1.0, 1.9):  # the first notes that it was used
                connections.sweep(now_s + later_s * IDLE_S)
                assert is_linked(a, b)
            connections.sweep(now_s + 2.1 * IDLE_S)
            assert not is_linked(a, b)
            await until(lambda: not a.station.connections.links and not b.station.connections.links)
            assert not connections.calls._tasks  # it is not called again

    asyncio.run(scenario())


def test_a_link_made_again_and_never_used_is_closed_too() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await two(network)
            connections = a.station.connections
            now_s = connections.loop.time()
            connections.sweep(now_s)
            (first,) = connections.links
            first.channel.abort()
            await until(lambda: is_linked(a, b) and first not in connections.links)
            connections.sweep(now_s + IDLE_S)
            assert is_linked(a, b)
            connections.sweep(now_s + 2.1 * IDLE_S)
            assert not is_linked(a, b)

    asyncio.run(scenario())


def test_after_a_link_was_closed_for_idleness_events_still_arrive() -> None:
    async def scenario() -> None:
        async with Network() as network:
            a, b = await two(network)
            connections = a.station.connections
            connections.sweep(connections.loop.time())
            connections.sweep(connections.loop.time() + 1.1 * IDLE_S)
            await until(lambda: not a.station.connections.links and not b.station.connections.links)
            async with a.subscribe(".x") as inbox:
                await b.publish(".x", b"found again")
                assert await payloads(inbox, 1) == [b"found again"]

    asyncio.run(scenario())
