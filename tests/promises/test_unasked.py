"""Nobody receives an event it did not ask for."""

import asyncio
import contextlib
from pathlib import Path

from gossamer.core.ids import Peer, peer_of
from gossamer.live.keys.trust import OpenTrust
from gossamer.testing import Network
from promises.nodes import disk, publish
from promises.waiting import nothing_more, numbers, read


def test_events_go_to_those_who_asked_for_them_and_to_nobody_else(tmp_path: Path) -> None:
    topics = {"anna": ".a", "bert": ".a.b", "cleo": ".c"}

    async def scenario() -> None:
        async with Network() as network:
            nodes = {name: await network.node(name, **disk(tmp_path / name)) for name in topics}
            async with (
                nodes["anna"].subscribe(".a") as of_anna,
                nodes["bert"].subscribe(".a.b") as of_bert,
                nodes["cleo"].subscribe(".c") as of_cleo,
            ):
                for name, topic in topics.items():
                    assert await nodes[name].joined(topic)
                await publish(nodes["bert"], ".a.b", range(10))
                await publish(nodes["anna"], ".a", range(10, 20))
                assert numbers(await read(of_anna, 20)) == list(range(20))
                assert numbers(await read(of_bert, 10)) == list(range(10))
                for inbox in (of_anna, of_bert, of_cleo):
                    await nothing_more(inbox)
            for node in nodes.values():
                assert b"\ngossamer_parasites_total 0\n" in node.page()

    asyncio.run(scenario())


def test_who_comes_back_after_a_crash_is_sent_nothing_before_it_asks_again(tmp_path: Path) -> None:
    """What a process asked for ends with the process: others know it for a new one by its record."""

    async def scenario() -> None:
        async with Network() as network:
            nodes = {name: await network.node(name, **disk(tmp_path / name)) for name in ("anna", "bert", "cleo")}
            async with contextlib.AsyncExitStack() as readers:
                inboxes = {
                    name: await readers.enter_async_context(node.subscribe(".a")) for name, node in nodes.items()
                }
                for node in nodes.values():
                    assert await node.joined(".a")
                await publish(nodes["anna"], ".a", range(5))
                assert numbers(await read(inboxes["cleo"], 5)) == [*range(5)]
                await network.crash("cleo")
                back = await network.node("cleo", **disk(tmp_path / "cleo"))
                await publish(nodes["anna"], ".a", range(5, 30))
                assert numbers(await read(inboxes["bert"], 30)) == [*range(30)]
                async with back.subscribe(".z") as behind:  # whatever was sent to it before this came before this
                    await publish(nodes["anna"], ".z", [1])
                    await publish(nodes["bert"], ".z", [2])
                    assert numbers(await read(behind, 2)) == [1, 2]
                assert b"\ngossamer_parasites_total 0\n" in back.page()
                async with back.subscribe(".a") as again:
                    assert await back.joined(".a")
                    await publish(nodes["anna"], ".a", [30])
                    came = [0]
                    while came[-1] != 30:  # what is offered until enough have it may come too, now that it is asked for
                        came += numbers(await read(again, 1))
                    assert len({*came}) == len(came)

    asyncio.run(scenario())


def test_a_new_life_is_known_by_who_shows_up_though_a_wrong_clock_made_its_record_count_less() -> None:
    async def scenario() -> None:
        async with Network() as network:
            records, down = (await network.node("anna")).station.records, list[Peer]()
            records.driver.peer_down = down.append  # type: ignore[method-assign]
            bert, peer = OpenTrust("bert"), peer_of("bert")
            records.admit(bert.record(["memory:9"], 1000, 1))
            records.met(bert.record(["memory:9"], 1001, 1))
            assert down == []
            records.met(bert.record(["memory:9"], 1, 2))
            assert down == [peer]
            records.met(bert.record(["memory:9"], 1, 2))
            assert down == [peer]

    asyncio.run(scenario())
