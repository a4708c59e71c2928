"""Nobody receives an event it did not ask for."""

import asyncio
from pathlib import Path

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
