"""One run: the honest client alone, then among attackers."""

import asyncio
import time
from pathlib import Path

from msgspec import Struct

from benchmarks.hostile.attacks import FOREIGN
from benchmarks.hostile.stage import Victim, grant, mob, victim
from gossamer import Client, Delivery

EVERY_S = 0.002
"Between two publications of the honest client."
QUIET_S = 5.0
SETTLE_S = 10.0
"How long the attack has gone on when memory is looked at first: tables and buffers are as full by then as they get."
LOOK_S = 0.5


class Use(Struct, frozen=True):
    """What the honest client saw."""

    published: int
    read: int
    p50_ms: float
    p99_ms: float
    max_ms: float


class Result(Struct, frozen=True):
    attacks: list[str]
    seconds: float
    quiet: Use
    attacked: Use
    before_mib: float
    "Memory of the node before anybody attacks,"
    settled_mib: float
    "after some seconds of it,"
    most_mib: float
    "the most from then on,"
    after_mib: float
    "and at the end."
    refused: dict[str, int]

    @property
    def slower(self) -> float:
        return self.attacked.p99_ms / self.quiet.p99_ms

    @property
    def grown_mib(self) -> float:
        return max(self.most_mib, self.after_mib) - self.settled_mib


def run(attacks: list[str], seconds: float, folder: Path, quiet_s: float = QUIET_S) -> Result:
    keys = grant(folder)
    with victim(keys, folder) as node:
        return asyncio.run(measure(node, keys, attacks, seconds, quiet_s))


async def measure(node: Victim, keys: Path, attacks: list[str], seconds: float, quiet_s: float) -> Result:
    async with Client(node.address, keys=keys / "honest", node="node", patience_s=30.0) as client:
        await use(client, 1.0)  # whatever is loaded and joined at first
        quiet = await use(client, quiet_s)
        before_mib = node.resident_mib()
        with mob(node.address, keys, attacks):
            seen_mib: list[float] = []
            looking = asyncio.create_task(look(node, min(SETTLE_S, seconds / 2), seen_mib))
            attacked = await use(client, seconds)
            looking.cancel()
            refused = await asyncio.to_thread(node.refused)
    return Result(attacks, seconds, quiet, attacked, before_mib, seen_mib[0], max(seen_mib), seen_mib[-1], refused)


async def look(node: Victim, settle_s: float, seen_mib: list[float]) -> None:
    await asyncio.sleep(settle_s)
    while True:
        seen_mib.append(node.resident_mib())
        await asyncio.sleep(LOOK_S)


async def use(client: Client, seconds: float) -> Use:
    """Publishes and reads all of it, as an honest client would."""
    took: list[float] = []
    read = 0

    async def drain() -> None:
        nonlocal read
        async for item in reader:
            read += isinstance(item, Delivery)

    async with client.subscribe(FOREIGN) as reader:
        reading = asyncio.create_task(drain())
        until_s = time.monotonic() + seconds
        while (begun_s := time.monotonic()) < until_s:
            await client.publish(FOREIGN, b"x" * 64)
            took.append(time.monotonic() - begun_s)
            await asyncio.sleep(EVERY_S)
        async with asyncio.timeout(30):
            while read < len(took) - 1 and not reading.done():  # the first may come before the reader is open
                await asyncio.sleep(0.01)
        reading.cancel()
    took.sort()
    at = [took[min(len(took) - 1, int(share * len(took)))] * 1000 for share in (0.5, 0.99)]
    return Use(len(took), read, at[0], at[1], took[-1] * 1000)
