"""Events up to 16 MiB: they travel in parts; what is larger is refused before it is accepted."""

import asyncio
from typing import Any

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.config.config import Config
from gossamer.live.config.tables import EVENT_BYTES_MAX, Limits, SpoolConfig, Timeouts
from gossamer.live.links.transports.memory import Memory, MemoryNetwork
from gossamer.live.node import Node
from gossamer.live.reading.deliveries import Delivery
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.testing import QUICK
from gossamer.wire.frame import PART_BYTES
from gossamer.wire.sealed import head_of
from live.watching import PATIENCE_S

TOPIC = ".soccer"


class Pair:
    """Two nodes; the second reads."""

    def __init__(self, transport: str, **settings: Any) -> None:
        memory = MemoryNetwork()
        self.bind = "memory:0" if transport == "memory" else "127.0.0.1:0"
        self.given: dict[str, Any] = (
            {"transport": lambda trust, handshake_s: Memory(memory)} if transport == "memory" else {}
        )
        self.settings = {"spool": SpoolConfig(durability="off"), "scamp": QUICK, **settings}

    async def __aenter__(self) -> "Pair":
        self.a = await self.node("a")
        self.b = await self.node("b", seeds=(self.a.address,))
        self.inbox = self.b.subscribe(TOPIC)
        await self.inbox.__aenter__()
        assert await self.b.joined(TOPIC, PATIENCE_S)
        return self

    async def node(self, name: str, **more: Any) -> Node:
        node = Node(Config(name=name, bind=self.bind, **self.settings, **more), **self.given)
        await node.start()
        return node

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self.a.close(), self.b.close())

    async def carries(self, *payloads: bytes) -> Delivery:
        """Publishes all at once; the last one that came."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(self.a.publish(TOPIC, each) for each in payloads))
            items: list[Delivery] = []
            while len(items) < len(payloads):
                item = await anext(self.inbox)
                if isinstance(item, Delivery):  # a gap only tells that something is late
                    items.append(item)
        assert {item.payload for item in items} == {*payloads}
        return items[-1]


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_an_event_just_at_the_limit_goes_through_and_one_above_it_is_refused(transport: str) -> None:
    async def scenario() -> None:
        async with Pair(transport) as pair:
            for size in (PART_BYTES - 200, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES):
                last = await pair.carries(bytes(size))
            largest = EVENT_BYTES_MAX - len(head_of(last))
            with pytest.raises(Misuse, match=f"an event of {EVENT_BYTES_MAX + 1} bytes is too large"):
                await pair.a.publish(TOPIC, bytes(largest + 1))
            await pair.carries(bytes(largest))
            await pair.carries(b"and on it goes")
            assert not any(pair.b.metrics.refusals.values())

    asyncio.run(scenario())


def test_many_large_events_at_once_all_arrive_the_first_time() -> None:
    async def scenario() -> None:
        patient = Timeouts(ack_s=60)  # nothing is sent a second time because the machine was busy
        async with Pair("tcp", timeouts=patient, recovery=Recovery(method="none")) as pair:
            await pair.carries(b"the first")
            payloads = [bytes([number]) * (5 << 20) for number in range(10)]
            await pair.carries(*payloads, *(b"small %d" % number for number in range(100)))
            assert pair.a.metrics.copies_dropped == 0
            assert pair.b.metrics.copies_known == 0
            assert not any(pair.b.metrics.refusals.values())

    asyncio.run(scenario())


def test_large_events_that_waited_for_a_place_in_the_community_arrive_too() -> None:
    """By then their bytes have given way to those of others."""

    async def scenario() -> None:
        async with Pair("memory", timeouts=Timeouts(ack_s=0.2)) as pair:
            await pair.carries(*(bytes([number]) * (5 << 20) for number in range(10)))

    asyncio.run(scenario())


def test_a_node_may_set_itself_a_lower_limit() -> None:
    async def scenario() -> None:
        async with Pair("memory", limits=Limits(event_bytes_max=1000)) as pair:
            with pytest.raises(Misuse, match="at most 1000"):
                await pair.a.publish(TOPIC, bytes(1000))
            await pair.carries(bytes(900))

    asyncio.run(scenario())


BAD_ATTRIBUTES: list[tuple[Any, str]] = [
    ({"x": "y" * 66_000}, "64 KiB of attributes"),
    ({str(number): number for number in range(65)}, "at most 64 attributes"),
    ({"x" * 129: 1}, "1 to 128 letters"),
    ({"": 1}, "1 to 128 letters"),
    ({"x": 2**63}, "does not fit 64 bits"),
    ({"x": [1]}, "use str, int, float or bool"),
    ({"x": "\ud800"}, "letters that UTF-8 cannot write"),
    ({"\ud800": 1}, "letters that UTF-8 cannot write"),
    ([1], "a dictionary like"),
]


def test_attributes_that_could_not_travel_are_refused_before_they_are_accepted() -> None:
    async def scenario() -> None:
        async with Pair("memory") as pair:
            for attributes, why in BAD_ATTRIBUTES:
                with pytest.raises(Misuse, match=why):
                    await pair.a.publish(TOPIC, b"", attributes=attributes)
            await pair.carries(b"and on it goes")

    asyncio.run(scenario())
