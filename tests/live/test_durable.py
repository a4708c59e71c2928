"""Durable subscriptions of a node: there before they are used, shared, never skipping, truthful about what came."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import Client, Delivery, Gap, Node
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.ids import EventId
from gossamer.live.config.tables import SpoolConfig
from gossamer.live.links.transports.memory import Memory
from gossamer.testing import Network
from live.watching import PATIENCE_S, until


async def numbered(node: Node, count: int, start: int = 0, topic: str = ".a", **about: Any) -> None:
    await asyncio.gather(*(node.publish(topic, b"%d" % i, **about) for i in range(start, start + count)))


async def take(inbox: Any, count: int) -> list[Delivery]:
    async with asyncio.timeout(PATIENCE_S):
        items = [await anext(inbox) for _ in range(count)]
    assert all(isinstance(item, Delivery) for item in items), items
    return items


def payloads(items: list[Delivery]) -> list[int]:
    return [int(item.payload) for item in items]


def lives(folder: Path, *acts: Callable[[Node], Awaitable[None]], **settings: Any) -> None:
    """One node, as many times as there are acts: each ends in good order."""

    async def life(act: Callable[[Node], Awaitable[None]]) -> None:
        async with Network() as network:
            node = await network.node(
                "a", spool=SpoolConfig(folder=folder, **settings), timeouts={"leave_s": 0.05, "handle_s": 30}
            )
            await act(node)

    for act in acts:
        asyncio.run(life(act))


# -- it exists ---------------------------------------------------------------------------------------------------


def test_a_subscription_opened_and_closed_before_the_first_event_gets_everything_published_meanwhile(
    tmp_path: Path,
) -> None:
    async def opened(node: Node) -> None:
        async with node.subscribe(".a", name="billing"):
            pass
        await numbered(node, 3)

    async def again(node: Node) -> None:
        await numbered(node, 2, start=3)
        async with node.subscribe(".a", name="billing") as inbox:
            items = await take(inbox, 5)
            assert payloads(items) == [0, 1, 2, 3, 4]
            assert not any(item.redelivered for item in items)

    lives(tmp_path, opened, again)


def test_what_was_not_acknowledged_comes_again_marked_and_nothing_else_is_marked(tmp_path: Path) -> None:
    async def first(node: Node) -> None:
        async with node.subscribe(".a", name="billing") as inbox:
            await numbered(node, 6)
            items = await take(inbox, 4)
            await inbox.ack(items[0])
            await inbox.ack(items[1], items[3])

    async def second(node: Node) -> None:
        async with node.subscribe(".a", name="billing") as inbox:
            items = await take(inbox, 3)
            assert payloads(items) == [2, 4, 5]
            assert [item.redelivered for item in items] == [True, False, False]
            await inbox.ack(*items)

    async def third(node: Node) -> None:
        async with node.subscribe(".a", name="billing") as inbox:
            await numbered(node, 1, start=6)
            assert payloads(await take(inbox, 1)) == [6]

    lives(tmp_path, first, second, third)


def test_after_a_crash_whatever_was_handed_out_is_marked_and_what_was_acknowledged_does_not_come(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            spool = SpoolConfig(folder=tmp_path / "a")
            node = await network.node("a", spool=spool)
            async with node.subscribe(".a", name="billing") as inbox:
                await numbered(node, 5)
                items = await take(inbox, 4)
                await inbox.ack(items[0], items[2])
                copy(tmp_path / "a", tmp_path / "crashed")
        async with Network() as network:
            crashed = await network.node("a", spool=SpoolConfig(folder=tmp_path / "crashed"))
            async with crashed.subscribe(".a", name="billing") as inbox:
                again = await take(inbox, 3)
                assert payloads(again) == [1, 3, 4]
                assert [item.redelivered for item in again[:2]] == [True, True]

    asyncio.run(scenario())


def copy(old: Path, new: Path) -> None:
    """What a crash at this moment would leave."""
    new.mkdir()
    for each in old.iterdir():
        if each.name.startswith("spool.sqlite"):
            (new / each.name).write_bytes(each.read_bytes())


def test_it_refuses_another_topic_or_filter_and_says_what_it_is() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a", name="billing", where="price > 1"):
                pass
            for topic, where in ((".a", ""), (".b", "price > 1"), (".a", "price > 2")):
                with pytest.raises(
                    Misuse, match=r"'billing' is to \.a where price > 1, not to .*: choose another name"
                ):
                    await node.subscribe(topic, name="billing", where=where).__aenter__()

    asyncio.run(scenario())


def test_it_is_listed_and_deleted_and_then_it_never_was() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a", name="billing", where="x > 0") as inbox:
                await numbered(node, 3, attributes={"x": 1})
                await inbox.ack(*await take(inbox, 1))
                [info] = await node.subscriptions()
                assert (info.name, info.owner, info.topic, info.filter) == ("billing", "a", ".a", "x > 0")
                assert (info.position, info.behind, info.readers) == (1, 2, 1)
                await node.delete_subscription("billing")
                with pytest.raises(Misuse, match="was deleted"):
                    await anext(inbox)
            assert await node.subscriptions() == []
            assert not node.station.readers.subscriptions.readers
            with pytest.raises(Misuse, match="there is no subscription 'billing' of a"):
                await node.delete_subscription("billing")
            async with node.subscribe(".b", name="billing"):
                pass

    asyncio.run(scenario())


def test_a_filter_moves_the_position_past_what_does_not_match(tmp_path: Path) -> None:
    async def first(node: Node) -> None:
        async with node.subscribe(".a", name="billing", where="x > 0") as inbox:
            await numbered(node, 5, attributes={"x": 1})
            await numbered(node, 5, start=5, attributes={"x": 0})
            await inbox.ack(*await take(inbox, 5))
            durables = node.station.readers.durables
            await until(lambda: durables.log.settled() == 10)

    async def second(node: Node) -> None:
        [info] = await node.subscriptions()
        assert (info.position, info.behind) == (10, 0)

    lives(tmp_path, first, second)


# -- several readers ---------------------------------------------------------------------------------------------


def test_readers_of_one_name_share_the_work_each_event_goes_to_one_of_them() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            got: dict[str, list[int]] = {"one": [], "two": []}

            async def work(who: str) -> None:
                async with node.subscribe(".a", name="billing") as inbox:
                    async for item in inbox:
                        assert isinstance(item, Delivery)
                        assert not item.redelivered
                        got[who].append(int(item.payload))
                        await inbox.ack(item)

            workers = [asyncio.create_task(work(who)) for who in got]
            await until(lambda: node.station.readers.durables and node.station.readers.durables.feeds)
            await until(lambda: len(next(iter(node.station.readers.durables.feeds.values())).sub.readers) == 2)
            await numbered(node, 40)
            await until(lambda: len(got["one"]) + len(got["two"]) == 40)
            assert sorted(got["one"] + got["two"]) == [*range(40)]
            assert min(map(len, got.values())) >= 10
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    asyncio.run(scenario())


def test_what_a_reader_had_goes_to_another_when_it_goes_or_is_silent_for_too_long() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", timeouts={"handle_s": 0.2})
            async with node.subscribe(".a", name="billing") as other:
                async with node.subscribe(".a", name="billing") as gone:
                    await numbered(node, 2)
                    had = payloads(await take(gone, 2))
                items = await take(other, 2)
                assert payloads(items) == had
                assert all(item.redelivered for item in items)
                async with node.subscribe(".a", name="billing") as third:  # the other acknowledges nothing
                    items = await take(third, 2)
                    assert payloads(items) == had
                    await third.ack(*items)
                    await other.ack(*items)  # too late, and no harm

    asyncio.run(scenario())


# -- clients -----------------------------------------------------------------------------------------------------


def client_of(network: Network, node: Node) -> Client:
    return Client(node.address, transport=Memory(network.memory))


def test_an_acknowledgement_of_a_client_means_the_same_as_one_of_the_node(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool=SpoolConfig(folder=tmp_path))
            async with client_of(network, node) as client:
                async with client.subscribe(".a", name="billing") as reader:
                    [info] = await client.subscriptions()
                    assert (info.name, info.owner, info.readers) == ("billing", "local", 1)
                    await numbered(node, 3)
                    items = await take(reader, 3)
                    await asyncio.gather(*(reader.ack(item) for item in items[:2]))
                    assert (await node.subscriptions())[0].position == 2
                    rows = await node.station.spool.subscriptions.all()
                    assert rows[0].progress.acked == 2
                async with client.subscribe(".a", name="billing") as reader:
                    [item] = await take(reader, 1)
                    assert (item.payload, item.redelivered) == (b"2", True)

    asyncio.run(scenario())


def test_a_node_and_its_clients_with_one_name_never_meet() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with client_of(network, node) as client, node.subscribe(".orders", name="billing") as ours:
                async with client.subscribe(".chat", name="billing") as theirs:
                    await numbered(node, 5, topic=".orders")
                    await node.publish(".chat", b"7")
                    await theirs.ack(*await take(theirs, 1))
                assert payloads(await take(ours, 5)) == [0, 1, 2, 3, 4]

    asyncio.run(scenario())


def test_two_clients_of_one_name_share_the_work() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with (
                client_of(network, node) as one,
                client_of(network, node) as two,
                one.subscribe(".a", name="x") as first,
                two.subscribe(".a", name="x") as second,
            ):
                await numbered(node, 20)
                await until(lambda: len(first.items) + len(second.items) == 20)
                assert min(len(first.items), len(second.items)) >= 5
                here, there = await take(first, len(first.items)), await take(second, len(second.items))
                assert sorted(payloads([*here, *there])) == [*range(20)]
                await first.ack(*here)
                await second.ack(*there)
                assert (await one.subscriptions())[0].behind == 0

    asyncio.run(scenario())


# -- bookmarks ---------------------------------------------------------------------------------------------------


def test_a_bookmark_opens_the_same_subscription_at_another_node() -> None:
    async def scenario() -> None:
        async with Network() as network:
            one, two = await network.node("one", subscribe=(".a",)), await network.node("two", subscribe=(".a",))
            await one.publish(".a", b"100")
            assert await one.joined(".a")
            await until(lambda: two.station.readers.last_place() >= 1)
            async with one.subscribe(".a", name="billing") as inbox:
                await numbered(one, 5)
                items = await take(inbox, 5)
                await inbox.ack(items[0], items[1], items[3])
                mark = await inbox.bookmark()
            await until(lambda: two.station.readers.last_place() >= 6)
            async with two.subscribe(".a", name="billing", bookmark=mark.text()) as inbox:
                items = await take(inbox, 2)
                assert payloads(items) == [2, 4], "what it covers does not come, nor what was published before"
                await inbox.ack(*items)
                back = await inbox.bookmark()
            async with one.subscribe(".a", name="billing", bookmark=back) as inbox:
                await numbered(one, 1, start=5)
                assert payloads(await take(inbox, 1)) == [5]

    asyncio.run(scenario())


@pytest.mark.parametrize("mark", ["", "gossamer-bookmark-1:", "gossamer-bookmark-1:!!", "gossamer-bookmark-1:AAAA", 5])
def test_a_bookmark_that_is_none_is_refused_in_a_sentence(mark: Any) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            with pytest.raises(Misuse, match="bookmark"):
                node.subscribe(".a", name="x", bookmark=mark)

    asyncio.run(scenario())


# -- misuse ------------------------------------------------------------------------------------------------------


def test_reading_without_async_with_is_refused_with_the_sentence_that_helps() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with client_of(network, node) as client:
                for name in ("", "billing"):
                    for somewhere in (node, client):
                        with pytest.raises(Misuse, match="inside `async with"):
                            async for _ in somewhere.subscribe(".a", name=name):
                                pass

    asyncio.run(scenario())


def test_what_is_no_item_cannot_be_acknowledged() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with client_of(network, node) as client:
                for somewhere in (node, client):
                    async with somewhere.subscribe(".a", name="billing") as inbox:
                        with pytest.raises(Misuse, match="not str"):
                            await inbox.ack("x")
                        await inbox.ack(Gap(1, "needs none"))
                        with pytest.raises(Misuse, match="never gave you"):
                            await inbox.ack(foreign())

    asyncio.run(scenario())


def foreign() -> Delivery:
    return Delivery(EventId(1, 1, 1), ".a", place=10**9)


def test_readers_are_told_when_their_node_closes() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a")
            async with node.subscribe(".a", name="billing") as inbox:
                reading = asyncio.create_task(anext(inbox))
                await asyncio.sleep(0)
                await node.close()
                with pytest.raises(TransportDown, match="closed"):
                    await reading

    asyncio.run(scenario())
