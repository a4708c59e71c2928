"""A node that crashes while a reader has not acknowledged everything, and comes back: its traces, as it writes them."""

import asyncio
from pathlib import Path
from typing import Any

from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.inbox import Inbox
from gossamer.testing import Network
from gossamer.wire.segment import SegmentReader
from pipeline.stories import Told

RUN = "returned"
GIVEN, ACKNOWLEDGED = 4, 1


def live_twice(folder: Path, spool: Path) -> None:
    """Of four events that its reader was given in the first life, three are given to it again in the second."""

    async def scenario() -> None:
        settings: dict[str, Any] = {"network": RUN, "trace": {"folder": folder}}
        async with Network() as network:
            publisher = await network.node("p", **settings)
            kept = settings | {"spool": {"folder": spool}}
            async with (await network.node("a", **kept)).subscribe(".x", name="billing") as inbox:
                for _ in range(GIVEN):
                    await publisher.publish(".x", b"order")
                given = await take(inbox, GIVEN)
                for item in given[:ACKNOWLEDGED]:
                    await inbox.ack(item)
                await network.crash("a")
            async with (await network.node("a", **kept)).subscribe(".x", name="billing") as inbox:
                again = await take(inbox, GIVEN - ACKNOWLEDGED)
                assert all(item.redelivered for item in again)
                await publisher.publish(".x", b"another")
                assert not (await take(inbox, 1))[0].redelivered

    asyncio.run(scenario())


async def take(inbox: Inbox, count: int) -> list[Delivery]:
    """So many deliveries; that one is late, which a slow machine may make it, is passed over."""
    taken: list[Delivery] = []
    async with asyncio.timeout(60):
        while len(taken) < count:
            if isinstance(item := await anext(inbox), Delivery):
                taken.append(item)
    return taken


def told(folder: Path) -> list[Told]:
    """The traces as lines of a story; lives are numbered by their order."""
    readers = [SegmentReader(path) for path in folder.iterdir()]
    rows = [(reader, [row for record in reader for row in record]) for reader in readers]
    names = ("peer", "topic", "publisher", "incarnation", "sequence", "hops", "bytes", "detail")
    return [
        Told(reader.head.name, reader.head.incarnation, row.at_us, row.kind,
             {name: value for name in names if (value := getattr(row, name)) is not None})
        for reader, some in rows for row in some
    ]  # fmt: skip
