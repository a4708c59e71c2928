"""How long a test waits for what was promised."""

import asyncio
from collections.abc import Callable, Iterable

from gossamer import Delivery, Gap
from gossamer.live.reading.inbox import Inbox

PATIENCE_S = 60.0
"Only what never happens takes this long. What is owed (see conftest) is not waited for so long."
OWED_S = 0.5
SHOWN_S = 10.0
QUIET_S = 0.3
"Whoever gets something twice gets the second soon."


async def until(condition: Callable[[], object], promised: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not in time: {promised}"
        await asyncio.sleep(0.02)


async def read(inbox: Inbox, count: int) -> list[Delivery]:
    """So many events; what is told of gaps meanwhile is passed over."""
    items, gaps = await read_all(inbox, count, book=False)
    assert len(items) == count, f"{len(items)} of {count} came, and {gaps}"
    return items


async def book(inbox: Inbox, count: int) -> list[Delivery]:
    """The same, each acknowledged as it comes."""
    items, gaps = await read_all(inbox, count)
    assert len(items) == count, f"{len(items)} of {count} came, and {gaps}"
    return items


async def read_all(inbox: Inbox, count: int, book: bool = True) -> tuple[list[Delivery], list[Gap]]:
    """Events and gaps, until there are so many events, those that a gap says are gone for good included."""
    items: list[Delivery] = []
    gaps: list[Gap] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            while len(items) + gone(gaps) < count:
                match await anext(inbox):
                    case Delivery() as item:
                        items.append(item)
                        if book:
                            await inbox.ack(item)
                    case Gap() as gap:
                        gaps.append(gap)
    except TimeoutError:
        pass  # the caller says what is missing
    return items, gaps


async def nothing_more(inbox: Inbox) -> None:
    """No event comes: each came once."""
    try:
        async with asyncio.timeout(QUIET_S):
            while isinstance(item := await anext(inbox), Gap):
                pass
    except TimeoutError:
        return
    raise AssertionError(f"this came too: {item}")


def gone(gaps: Iterable[Gap]) -> int:
    """How many are lost for good: such a gap has no topic."""
    return sum(gap.lost for gap in gaps if not gap.topic)


def numbers(items: Iterable[Delivery]) -> list[int]:
    return sorted(int(item.payload) for item in items)
