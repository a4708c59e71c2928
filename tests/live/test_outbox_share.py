"""One identity has at most half of the outbox, and what is remembered of it is what waits there."""

import asyncio
from typing import Any

from gossamer.core.ids import EventId
from gossamer.live.clients.client import Client
from gossamer.live.clients.outbox_share import LOOKED_AT, OutboxShare
from gossamer.live.links.transports.memory import Memory
from gossamer.live.spool.jobs import ROW_BYTES
from gossamer.testing import Network
from live.watching import PATIENCE_S, until


def event(number: int) -> EventId:
    return EventId(7, 1, number)


def kept(share: OutboxShare, numbers: range, over: set[int]) -> None:
    for number in numbers:
        share.keep(event(number), share.reserve(bytes(100)), lambda each: each.sequence in over)


def test_what_left_the_outbox_is_forgotten_while_more_comes() -> None:
    share, over = OutboxShare(), set(range(0, 100_000, 2))
    kept(share, range(1_000), over)
    left = {each.sequence for each in share.events}
    assert left >= set(range(1, 1_000, 2))
    assert len(left) < 800  # what is stuck is looked at, too
    over |= set(range(100_000))
    kept(share, range(1_000, 2_000), over)
    assert len(share.events) <= 2
    assert share.bytes == len(share.events) * (100 + ROW_BYTES)


def test_without_room_some_are_looked_at_each_time_and_all_in_the_end() -> None:
    share, most = OutboxShare(), 2 * 3_000 * (100 + ROW_BYTES)
    kept(share, range(4_000), set())
    looked_at: list[int] = []

    def is_over(each: EventId) -> bool:
        looked_at.append(each.sequence)
        return each.sequence >= 2_900

    assert not share.has_room(most, is_over)
    assert len(looked_at) == LOOKED_AT
    while not share.has_room(most, is_over):
        assert len(looked_at) < 5_000
    assert len(share.events) < 3_000


def test_what_was_not_published_or_was_there_already_takes_nothing() -> None:
    share = OutboxShare()
    share.release(share.reserve(bytes(50)))
    assert share.bytes == 0
    for _ in range(3):
        kept(share, range(1), set())
    assert (share.bytes, len(share.events)) == (100 + ROW_BYTES, 1)


def test_who_waits_for_room_goes_on_in_its_order_once_somebody_takes_what_it_published() -> None:
    async def scenario() -> None:
        small: dict[str, Any] = {"spool": {"outbox_bytes": 200_000}, "timeouts": {"ack_s": 0.05}}
        async with Network() as network:
            node = await network.node("a", **small)
            async with Client(node.address, transport=Memory(network.memory)) as client, asyncio.timeout(PATIENCE_S):
                sent = [asyncio.ensure_future(client.publish(".t", bytes(5_000))) for _ in range(60)]
                await until(lambda: next(iter(node.clients.identities.known.values())).outbox.in_turn.locked())
                assert not all(each.done() for each in sent)
                await node.publish(".t", "the node itself has room")
                reader = await network.node("b", subscribe=[".t"])
                await asyncio.gather(*sent)
                await until(lambda: reader.metrics.events_delivered == 61)
                events = [each.result() for each in sent]
                assert events == sorted(events)

    asyncio.run(scenario())
