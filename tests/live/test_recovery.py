"""Live nodes on links that lose: what is missing is told, looked for and found."""

import asyncio
from typing import Any

import pytest

from gossamer import Delivery, Gap
from gossamer.live.reading.inbox import Inbox
from gossamer.testing import Network
from live.watching import PATIENCE_S

EVENTS = 60
UNHURRIED: dict[str, Any] = {"ack_s": 1000.0}
"Publishers would spread again what nobody acknowledged, and so hide what recovery does."


async def everything(inbox: Inbox, count: int) -> tuple[list[int], list[Gap]]:
    """The numbers of the first `count` events, and what was said to be missing meanwhile."""
    numbers: list[int] = []
    gaps: list[Gap] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(numbers) < count:
            item = await anext(inbox)
            if isinstance(item, Delivery):
                numbers.append(int(item.payload))
            else:
                gaps.append(item)
    return numbers, gaps


LOGLESS: dict[str, Any] = {"spool": {"durability": "off"}}
"Who keeps a log catches up by and by, whether or not anything is recovered."


class Pair:
    """One publisher and one reader that misses a third of what it is told: nothing comes by another way."""

    def __init__(self, recover: bool = True, faults: dict[str, Any] | None = None, **settings: Any) -> None:
        self.recover, self.settings = recover, settings
        self.faults = faults or {"loss": 0.3, "seed": 7}

    async def run(self, events: int) -> tuple[list[int], list[Gap]]:
        """Numbers that were read, and what was said to be missing; without recovery, after everybody has gone."""
        async with Network() as network:
            self.publisher = await network.node("publisher", timeouts=UNHURRIED, **self.settings)
            self.reader = await network.node("reader", timeouts=UNHURRIED, faults=self.faults, **self.settings)
            async with self.publisher.subscribe(".a"), self.reader.subscribe(".a", recover=self.recover) as inbox:
                assert await self.reader.joined(".a", PATIENCE_S)
                assert await self.publisher.joined(".a", PATIENCE_S)
                await self.meet(inbox)
                for number in range(events):
                    await self.publisher.publish(".a", str(number))
                if self.recovers:
                    return await everything(inbox, events)
                return await self.leftovers(network, inbox)

    async def meet(self, inbox: Inbox) -> None:
        """One event arrives for sure: nobody misses what was published before the first it heard."""
        if (losing := self.reader.station.losing) is not None:
            losing.lost = lambda peer: False  # type: ignore[method-assign]
        await self.publisher.publish(".a", "-1")
        async with asyncio.timeout(PATIENCE_S):
            while not isinstance(await anext(inbox), Delivery):
                pass  # a gap may be told before what fills it
        if losing is not None:
            del losing.lost

    @property
    def recovers(self) -> bool:
        return self.recover and self.settings.get("recovery", {}).get("method") != "none"

    async def leftovers(self, network: Network, inbox: Inbox) -> tuple[list[int], list[Gap]]:
        inbox.close()
        items = [item async for item in inbox]
        numbers = [int(item.payload) for item in items if isinstance(item, Delivery)]
        return numbers, [item for item in items if isinstance(item, Gap)]


@pytest.mark.parametrize("method", ["combined", "push", "subscriber-pull", "publisher-pull"])
def test_every_method_finds_what_a_link_lost(method: str) -> None:
    pair = Pair(recovery={"method": method})
    numbers, gaps = asyncio.run(pair.run(EVENTS))
    assert sorted(numbers) == [*range(EVENTS)]
    assert pair.reader.metrics.recovered > 0
    assert gaps
    assert all(gap.topic == ".a" and gap.publisher == pair.publisher.station.me and gap.lost > 0 for gap in gaps)


def test_bursts_are_recovered_from_too() -> None:
    pair = Pair(faults={"loss": 0.3, "burst": 8.0, "seed": 3})
    numbers, gaps = asyncio.run(pair.run(EVENTS))
    assert sorted(numbers) == [*range(EVENTS)]
    assert max(gap.lost for gap in gaps) > 1


def test_what_left_the_cache_comes_from_the_spool() -> None:
    pair = Pair(recovery={"method": "subscriber-pull", "cache": 8})
    numbers, _ = asyncio.run(pair.run(EVENTS))
    assert sorted(numbers) == [*range(EVENTS)]


def test_without_a_spool_the_cache_is_all_there_is() -> None:
    pair = Pair(recovery={"method": "combined"}, **LOGLESS)
    numbers, _ = asyncio.run(pair.run(EVENTS))
    assert sorted(numbers) == [*range(EVENTS)]


def test_a_network_without_recovery_counts_nothing_and_looks_for_nothing() -> None:
    pair = Pair(recovery={"method": "none"}, **LOGLESS)
    numbers, gaps = asyncio.run(pair.run(EVENTS))
    assert 0 < len(numbers) < EVENTS
    assert gaps == []
    assert pair.reader.metrics.recovered == 0


def test_a_reader_may_do_without() -> None:
    pair = Pair(recover=False, **LOGLESS)
    numbers, _ = asyncio.run(pair.run(EVENTS))
    assert 0 < len(numbers) < EVENTS
    assert pair.reader.metrics.recovered == 0
