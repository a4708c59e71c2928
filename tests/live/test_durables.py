"""All durable subscriptions of a node: kept in bounds, counted, forgotten when nobody wants them, and in order."""

import asyncio
import logging
from pathlib import Path

import pytest

from gossamer import Delivery, Gap
from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.reading.bookmarks import STRETCHES_MAX, Bookmark, Coverage, StreamRead, bookmark_of
from gossamer.live.spool.items import Kept
from gossamer.live.spool.jobs import Commit, Keep
from gossamer.testing import Network
from live.test_durable import client_of, lives, numbered, payloads, take
from live.watching import until


def test_what_waited_beyond_the_budget_is_a_gap_that_says_how_many_and_is_told_once() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool={"keep_bytes": 100_000, "durable_bytes": 30_000})
            async with node.subscribe(".a", name="billing"):
                pass
            for _ in range(100):
                await node.publish(".a", bytes(1000))
            durables = node.station.readers.durables
            await until(lambda: durables.log.settled() == 100)
            await node.station.spool.tidy()
            async with node.subscribe(".a", name="billing") as inbox:
                gap = await anext(inbox)
                assert isinstance(gap, Gap)
                assert 0 < gap.lost < 100
                await inbox.ack(*await take(inbox, 100 - gap.lost))
            assert (await node.subscriptions())[0].lost == gap.lost
            async with node.subscribe(".a", name="billing") as inbox:
                await node.publish(".a", b"1")
                assert payloads(await take(inbox, 1)) == [1]

    asyncio.run(scenario())


def test_one_that_nobody_reads_is_forgotten_after_a_warning_and_time_is_counted_while_the_node_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "gossamer.readers")

    async def scenario(idle_s: float) -> list[str]:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path, forget_s=1000))
            if not await node.subscriptions():
                async with node.subscribe(".a", name="billing"):
                    pass
            durables = node.station.readers.durables
            async with node.subscribe(".a", name="read"):
                durables._looked_s -= idle_s  # as if so much time had passed
                durables._look()
                await asyncio.gather(*durables._counting)
            return [info.name for info in await node.subscriptions()]

    assert asyncio.run(scenario(850)) == ["billing", "read"]
    assert caplog.messages == []
    assert asyncio.run(scenario(100)) == ["billing", "read"], "what another life waited counts too"
    assert "the subscription 'billing' of a to .a will be forgotten" in caplog.messages[-1]
    assert asyncio.run(scenario(100)) == ["read"]
    assert "the subscription 'billing' of a to .a is forgotten: nobody read it" in caplog.messages[-1]


def test_how_far_each_is_behind_is_in_the_metrics() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a", name="billing") as inbox:
                await numbered(node, 5)
                await inbox.ack(*await take(inbox, 2))
                assert b'gossamer_subscription_behind{subscription="a/billing"} 3\n' in node.page()
            await numbered(node, 4, start=5)
            await until(lambda: b'{subscription="a/billing"} 7\n' in node.page())

    asyncio.run(scenario())


def test_after_a_restart_what_waits_is_counted_again(tmp_path: Path) -> None:
    async def fills(node) -> None:
        async with node.subscribe(".a", name="billing") as inbox:
            await numbered(node, 5)
            await inbox.ack(*(await take(inbox, 4))[1:3])

    async def counts(node) -> None:
        durables = node.station.readers.durables
        await until(lambda: durables.listed()[0].behind == 3)

    lives(tmp_path, fills, counts)


def test_shared_and_ordered_no_later_event_goes_to_another_reader_while_an_earlier_one_is_out() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with (
                node.subscribe(".a", name="x", ordered=True) as one,
                node.subscribe(".a", name="x", ordered=True) as two,
            ):
                await numbered(node, 4)
                first = await take(one, 1)
                waiting = asyncio.create_task(take(two, 1))
                assert payloads(await take(one, 1)) == [1]
                await asyncio.sleep(0.01)
                assert not waiting.done()
                await node.publish(".b", b"0")
                await node.publish(".a.b", b"9")  # another stream
                assert payloads(await waiting) == [9]
                waiting = asyncio.create_task(take(two, 1))
                await one.ack(*first)
                await one.__aexit__(None, None, None)
                items = [*await waiting, *await take(two, 2)]
                assert [(int(item.payload), item.redelivered) for item in items] == [(1, True), (2, False), (3, False)]
                with pytest.raises(Misuse, match="others read 'x' with other options"):
                    await node.subscribe(".a", name="x").__aenter__()

    asyncio.run(scenario())


def test_places_settle_in_their_order_though_what_had_no_room_is_told_first() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            durables = node.station.readers.durables
            async with node.subscribe(".a", name="x") as inbox:
                items = [Delivery(EventId(7, 1, place), ".a", b"%d" % place, place=place) for place in range(1, 6)]
                jobs = [Keep(place, (Kept(EventId(7, 1, place), ".a", b"x"),), 1) for place in range(1, 6)]
                for item in items:
                    durables.log.delivered(".a", [item], item.place)
                durables.log.heard(Commit((), [jobs[2]]))  # it was not even queued
                assert durables.log.settled() == 0
                durables.log.heard(Commit(jobs[:2], ()))
                assert durables.log.settled() == 3
                durables.log.heard(Commit([jobs[4]], [jobs[3]]))
                assert durables.log.settled() == 5
                assert payloads(await take(inbox, 3)) == [1, 2, 5]

    asyncio.run(scenario())


def test_a_client_opens_at_another_node_what_its_bookmark_covers_no_more() -> None:
    async def scenario() -> None:
        async with Network() as network:
            one, two = await network.node("one", subscribe=(".a",)), await network.node("two", subscribe=(".a",))
            async with client_of(network, one) as here, client_of(network, two) as there:
                async with here.subscribe(".a", name="x") as reader:
                    await numbered(one, 3)
                    items = await take(reader, 3)
                    await reader.ack(items[0], items[1])
                    mark = await reader.bookmark()
                await until(lambda: two.station.readers.durables.log.settled() >= 3)
                async with there.subscribe(".a", name="x", bookmark=mark) as reader:
                    assert payloads(await take(reader, 1)) == [2]

    asyncio.run(scenario())


def test_a_client_is_told_why_it_cannot_acknowledge_any_more() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("one", subscribe=(".a",))
            async with client_of(network, node) as client:
                async with client.subscribe(".a", name="deleted") as reader:
                    await numbered(node, 1)
                    items = await take(reader, 1)
                    await client.delete_subscription("deleted")
                    await until(lambda: reader.problem is not None)
                    with pytest.raises(Misuse, match="was deleted: open it anew"):
                        await reader.ack(*items)
                async with client.subscribe(".a", name="left", from_start=True) as reader:
                    items = await take(reader, 1)
                with pytest.raises(Misuse, match="acknowledge inside `async with`"):
                    await reader.ack(*items)
            with pytest.raises(Misuse, match="attached inside `async with"):
                client_of(network, node).publish(".a")

    asyncio.run(scenario())


# -- bookmarks ---------------------------------------------------------------------------------------------------


def event(ordinal: int, publisher: int = 1) -> Delivery:
    return Delivery(EventId(publisher, 1, ordinal), ".a", ordinal=ordinal)


def test_a_bookmark_is_the_same_in_words() -> None:
    mark = Bookmark(".a", "", 5, (StreamRead(2**63 - 1, 7, ".a.ü", ((1, 9), (11, 11))),))
    assert bookmark_of(mark.text()) == bookmark_of(mark) == mark
    assert str(mark) == mark.text()


def test_coverage_never_says_more_than_was_read_however_little_it_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = Coverage()
    for ordinal in range(2, 4 * STRETCHES_MAX, 2):
        coverage.add(event(ordinal))
    coverage.add(event(0))
    remembered = [ordinal for ordinal in range(4 * STRETCHES_MAX) if event(ordinal) in coverage]
    assert remembered == [*range(2 * STRETCHES_MAX, 4 * STRETCHES_MAX, 2)]
    monkeypatch.setattr("gossamer.live.reading.bookmarks.STREAMS_MAX", 2)
    coverage.add(event(1, publisher=2))
    coverage.changes()
    coverage.add(event(1, publisher=3))
    assert [(each.publisher, each.ranges) for each in coverage.changes()] == [(3, ((1, 1),)), (1, ())]
    assert [each.publisher for each in coverage.read()] == [2, 3]
