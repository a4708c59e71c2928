"""Nobody waits without need, and whoever returns is found: a publisher below a super-topic and its only reader."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.inbox import Inbox
from gossamer.testing import Network

PATIENCE_S = 10.0
"Far more than it takes, for a machine that is busy; benchmarks/live/finding.py measures how long it does."


async def comes(inbox: Inbox, payload: bytes) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            item = await anext(inbox)
            if isinstance(item, Delivery) and item.payload == payload:
                return


async def comes_again(node: Node, topic: str, inbox: Inbox) -> None:
    """Some event published from now on is delivered: each is published once, and nothing is recovered."""
    async with asyncio.timeout(PATIENCE_S):
        waiting = asyncio.create_task(anext(inbox))
        number = 0
        while not waiting.done():
            number += 1
            await node.publish(topic, b"again %d" % number)
            await asyncio.wait([waiting], timeout=0.1)


@asynccontextmanager
async def town() -> AsyncIterator[tuple[Network, Node]]:
    """A publisher of `.a.b`, and two nodes that have nothing to do with it."""
    async with Network() as network:
        for name in ("one", "two"):
            await network.node(name)
        yield network, await network.node("publisher", recovery={"method": "none"}, publish=[".a.b"])


async def reader(network: Network) -> tuple[Node, Inbox]:
    node = await network.node("reader", recovery={"method": "none"})
    inbox = node.subscribe(".a")
    await inbox.__aenter__()
    assert await node.joined(".a", PATIENCE_S)
    return node, inbox


def test_the_only_reader_of_a_super_topic_that_crashes_and_returns_under_its_name_gets_events_again() -> None:
    async def scenario() -> None:
        async with town() as (network, publisher):
            _, inbox = await reader(network)
            await comes_again(publisher, ".a.b", inbox)
            await network.crash("reader")
            _, inbox = await reader(network)
            await comes_again(publisher, ".a.b", inbox)

    asyncio.run(scenario())


def test_the_only_reader_of_a_super_topic_that_leaves_and_returns_under_its_name_gets_events_again() -> None:
    async def scenario() -> None:
        async with town() as (network, publisher):
            node, inbox = await reader(network)
            await comes_again(publisher, ".a.b", inbox)
            await inbox.__aexit__(None, None, None)
            await node.close()
            del network.nodes["reader"]
            _, inbox = await reader(network)
            await comes_again(publisher, ".a.b", inbox)

    asyncio.run(scenario())


def test_the_first_event_on_a_new_topic_reaches_a_reader_above_it_that_is_linked() -> None:
    async def scenario() -> None:
        async with town() as (network, publisher):
            _, inbox = await reader(network)
            await comes_again(publisher, ".a.b", inbox)
            for number in range(5):
                payload = b"first %d" % number
                await publisher.publish(f".a.orders{number}", payload)
                await comes(inbox, payload)

    asyncio.run(scenario())


def test_the_first_event_on_a_new_topic_reaches_a_reader_on_the_same_node_at_once() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("alone")
            async with node.subscribe(".a") as inbox:
                await node.publish(".a.new", b"first")
                await comes(inbox, b"first")

    asyncio.run(scenario())


def test_a_topic_whose_events_nobody_takes_stays_left_and_they_reach_who_comes_later() -> None:
    async def scenario() -> None:
        async with Network() as network:
            publisher = await network.node("publisher", timeouts={"ack_s": 0.05})
            machine, offered = publisher.station.machine, publisher.station.handover.unacked
            event = await publisher.publish(".a.b", b"kept")
            publisher.stop_publishing(".a.b")
            async with asyncio.timeout(PATIENCE_S):
                while machine.interest.mine():
                    await asyncio.sleep(0.01)
                tries = offered[event].tries
                while offered[event].tries < tries + 2:
                    assert not machine.interest.mine()
                    await asyncio.sleep(0.01)
            _, inbox = await reader(network)
            await comes(inbox, b"kept")
            assert await publisher.handed_over(PATIENCE_S)
            assert not machine.interest.mine()

    asyncio.run(scenario())
