"""What a client can do to its node with nothing but requests that are as they should be. Each goes on until its
connection is cut; then it begins again."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

from benchmarks.hostile.wires import Wire
from gossamer.core.ids import EventId
from gossamer.live.links.control import (
    AWAITED_MAX,
    PLACES_MAX,
    Await,
    Delete,
    Enough,
    Handled,
    ListThem,
    Mark,
    Offer,
    Read,
    Taken,
)
from gossamer.wire.frame import VERSION, batch_frame, part_frames

OWN, FOREIGN = ".mob", ".orders"
"What attackers may publish and read, and what they may not."
AT_ONCE = 100
HELD = 20

_numbers = count(1)


def number() -> int:
    return next(_numbers) % 2**31


async def unread_refusals(wire: Wire) -> None:
    """Publications it may not make, and never a look at the answers."""
    await wire.open(listens=False)
    while True:
        wire.say(*[Offer(number(), FOREIGN, b"") for _ in range(AT_ONCE)])
        await wire.drain()


async def refusals(wire: Wire) -> None:
    """The same by somebody who reads them."""
    await wire.open()
    while True:
        wire.say(*[Offer(number(), FOREIGN, b"") for _ in range(AT_ONCE)])
        await wire.drain()


async def long_filters(wire: Wire) -> None:
    """A hundred filters of 8 KiB in a frame."""
    await wire.open()
    tail = " or ".join(f"a{1000 + at} > 1" for at in range(600))[:8100].rpartition(" or ")[0]
    while True:
        wire.say(*[Read(number(), OWN, where=f"x == {number()} or {tail}") for _ in range(AT_ONCE)])
        await wire.drain()


async def topics(wire: Wire) -> None:
    """Every publication on a topic of its own."""
    await wire.open()
    while True:
        wire.say(*[Offer(number(), f"{OWN}.t{number()}", b"x") for _ in range(AT_ONCE)])
        await wire.drain()


async def readers(wire: Wire) -> None:
    """Readers of ever new topics, opened and closed."""
    await wire.open()
    while True:
        mine = [number() for _ in range(AT_ONCE)]
        wire.say(*[Read(each, f"{OWN}.r{each}", from_start=True) for each in mine], *[Enough(each) for each in mine])
        await wire.drain()


async def names(wire: Wire) -> None:
    """Durable subscriptions without end, and some of them deleted again."""
    await wire.open()
    while True:
        mine = [number() for _ in range(AT_ONCE)]
        wire.say(*[Read(each, OWN, name=f"n{each}") for each in mine], *[Enough(each) for each in mine])
        wire.say(*[Delete(number(), f"n{each}") for each in mine[::2]])
        await wire.drain()


async def reconnecting(wire: Wire) -> None:
    """Attaches and goes, as fast as it can."""
    while True:
        await wire.open()
        wire.say(Offer(number(), FOREIGN, b""))
        await asyncio.sleep(0)
        wire.close()


async def holding(wire: Wire) -> None:
    """As many places as it gets, in silence, each with a reader that takes nothing."""
    held: list[Wire] = []
    try:
        while True:
            held = [each for each in held if not each.writer.is_closing()]
            while len(held) < HELD:
                held.append(await Wire(wire.address, wire.keys).open(listens=False))
                held[-1].say(Read(number(), OWN, from_start=True))
            await asyncio.sleep(0.2)
    finally:
        for each in held:
            each.close()


async def half_open(wire: Wire) -> None:
    """Opens readers, half a large event and half a frame, and is never heard of again."""
    await wire.open(listens=False)
    wire.say(*[Read(number(), OWN) for _ in range(HELD)])
    wire.writer.write(next(iter(part_frames(1, bytes(10 << 20), None, VERSION))))
    wire.writer.write(batch_frame([], [], [], [bytes(100_000)], VERSION)[:50_000])
    while True:
        await wire.drain()
        await asyncio.sleep(0.2)


async def made_up(wire: Wire) -> None:
    """Acknowledges, awaits, marks, lists, takes and deletes what never was."""
    await wire.open()
    wire.say(Read(1, OWN, name="mine"))
    never = tuple(range(10**9, 10**9 + PLACES_MAX))
    events = tuple(EventId(7, 7, each) for each in range(AWAITED_MAX))
    while True:
        wire.say(*[Handled(number(), 1, never) for _ in range(10)])
        wire.say(Await(number(), events, 3600.0))
        wire.say(*[Mark(number(), 1) for _ in range(AT_ONCE)], *[ListThem(number()) for _ in range(AT_ONCE)])
        wire.say(*[Delete(number(), "nobody's") for _ in range(AT_ONCE)], *[Taken(1, 2**31 - 1)] * AT_ONCE)
        await wire.drain()


ATTACKS: dict[str, Callable[[Wire], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        *(unread_refusals, refusals, long_filters, topics, readers),
        *(names, reconnecting, holding, half_open, made_up),
    )
}
IDENTITIES = {name: f"mob{at % 7}" for at, name in enumerate(ATTACKS)}
"Three of them share theirs with another."
