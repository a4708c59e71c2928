"""Nodes that run beside a test, in a thread with a loop of its own: Spark's workers call them over real sockets."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gossamer import Node
from gossamer.live.clients.arguments import Publication
from gossamer.live.config.tables import SpoolConfig

T = TypeVar("T")
QUICK = {"patience_us": 50_000}
PATIENCE_S = 120


class Nodes:
    """Some of them, of one network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.nodes: dict[str, Node] = {}

    def do(self, act: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(act, self.loop).result(PATIENCE_S)

    def start(self, name: str, **settings: Any) -> Node:
        seeds = [each.address for each in self.nodes.values()]
        spool = SpoolConfig(folder=self.folder / name, durability="process")
        given: dict[str, Any] = {
            "spool": spool,
            "seeds": seeds,
            "scamp": QUICK,
            "timeouts": {"leave_s": 0.1},
            **settings,
        }
        node = Node(name=name, bind="127.0.0.1:0", **given)
        self.do(node.start())
        self.nodes[name] = node
        return node

    def publish(self, name: str, events: Sequence[Publication]) -> list[str]:
        """Publishes them; their ids, as rows have them."""

        async def all_of_them() -> list[str]:
            node, found = self.nodes[name], []
            for at in range(0, len(events), 500):
                found += await asyncio.gather(*[node.offer(each) for each in events[at : at + 500]])
            return [f"{each.publisher}-{each.incarnation}-{each.sequence}" for each in found]

        return self.do(all_of_them())

    def wait(self, condition: Callable[[], bool]) -> None:
        async def until() -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.005)

        self.do(until())

    def places(self, name: str) -> int:
        """How far its log is committed."""
        durables = self.nodes[name].station.readers.durables
        assert durables is not None
        return durables.log.settled()


@contextmanager
def nodes(folder: Path) -> Iterator[Nodes]:
    made = Nodes(folder)
    thread = threading.Thread(target=made.loop.run_forever)
    thread.start()
    try:
        yield made
    finally:
        for node in made.nodes.values():
            made.do(node.close())
        made.loop.call_soon_threadsafe(made.loop.stop)
        thread.join()
        made.loop.close()


def publication(number: int, topic: str = ".stocks", /, **attributes: Any) -> Publication:
    return Publication(topic, b"%d" % number, attributes, None)
