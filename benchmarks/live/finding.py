"""How long until events arrive where nobody has looked yet, over real sockets on this machine.

    python -m benchmarks.live.finding --rounds 5

first   the first event on a new topic, to a reader of the topic above whom the publisher is linked to
late    an event published one second after a reader of the topic above joined
back    the only such reader crashed, or left, and returns under its name: until an event comes again
"""

import argparse
import asyncio
import statistics
from collections.abc import Awaitable, Callable

from gossamer import Node
from gossamer.live.config.config import load
from gossamer.live.reading.inbox import Inbox

QUIET = {"method": "none"}


async def node(name: str, seeds: list[str], spread: str) -> Node:
    given = {"name": name, "bind": "127.0.0.1:0", "seeds": seeds, "recovery": QUIET, "spread": spread}
    made = Node(load(environ={}, overrides=given))
    await made.start()
    return made


async def first_delivery_ms(inbox: Inbox, payload: bytes, since_s: float) -> float:
    async with asyncio.timeout(60):
        while getattr(await anext(inbox), "payload", None) != payload:
            pass
    return (asyncio.get_running_loop().time() - since_s) * 1e3


async def until_any_ms(publisher: Node, topic: str, inbox: Inbox, since_s: float) -> float:
    """Publishes ten events a second until one arrives."""
    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(anext(inbox))
    while not waiting.done():
        await publisher.publish(topic, b"again")
        await asyncio.wait([waiting], timeout=0.1)
    return (loop.time() - since_s) * 1e3


async def opened(reader: Node, joined: bool = True) -> Inbox:
    inbox = reader.subscribe(".a")
    await inbox.__aenter__()
    assert not joined or await reader.joined(".a", 30)
    return inbox


async def first(spread: str) -> list[float]:
    hub, publisher, reader = await town(spread)
    inbox = await opened(reader)
    await until_any_ms(publisher, ".a.warm", inbox, 0.0)
    took = []
    for number in range(5):
        since_s = asyncio.get_running_loop().time()
        await publisher.publish(f".a.n{number}", b"%d" % number)
        took.append(await first_delivery_ms(inbox, b"%d" % number, since_s))
    await asyncio.gather(*(each.close() for each in (hub, publisher, reader)))
    return took


async def late(spread: str) -> list[float]:
    hub, publisher, reader = await town(spread)
    await publisher.publish(".a.b", b"nobody is there")
    await publisher.joined(".a.b", 30)
    await asyncio.sleep(10)  # the search for somebody above has slowed down by now
    inbox = await opened(reader)
    await asyncio.sleep(1)
    since_s = asyncio.get_running_loop().time()
    await publisher.publish(".a.b", b"late")
    took = await first_delivery_ms(inbox, b"late", since_s)
    await asyncio.gather(*(each.close() for each in (hub, publisher, reader)))
    return [took]


async def back(spread: str) -> list[float]:
    hub, publisher, reader = await town(spread)
    inbox = await opened(reader)
    await until_any_ms(publisher, ".a.b", inbox, 0.0)
    took = []
    for _ in range(2):
        await reader.close()
        await asyncio.sleep(5)
        since_s = asyncio.get_running_loop().time()
        reader = await node("reader", [hub.address], spread)
        took.append(await until_any_ms(publisher, ".a.b", await opened(reader, joined=False), since_s))
    await asyncio.gather(*(each.close() for each in (hub, publisher, reader)))
    return took


async def town(spread: str) -> tuple[Node, Node, Node]:
    hub = await node("hub", [], spread)
    return hub, await node("publisher", [hub.address], spread), await node("reader", [hub.address], spread)


CASES: dict[str, Callable[[str], Awaitable[list[float]]]] = {"first": first, "late": late, "back": back}
BARS_MS = {"first": 100.0, "late": 1000.0, "back": 2000.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spreads", default="camcast,spidercast")
    chosen = parser.parse_args()
    missed = False
    for name, case in CASES.items():
        for spread in chosen.spreads.split(","):
            took = [each for _ in range(chosen.rounds) for each in asyncio.run(case(spread))]
            verdict = ""
            if spread == "camcast":
                met = max(took) <= BARS_MS[name]
                missed |= not met
                verdict = f"bar {BARS_MS[name]:g} ms: {'met' if met else 'NOT met'}"
            print(f"{name:6} {spread:11} median {statistics.median(took):8.1f} ms, at most {max(took):8.1f}  {verdict}")
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
