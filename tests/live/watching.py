"""Looking at live nodes: waiting for what they come to, reading what they deliver, replaying what they did."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer import Delivery, Gap
from gossamer.live.reading.inbox import Inbox
from gossamer.sim.replay import find_lives, replay

PATIENCE_S = 60.0
"Only what never happens takes this long; the machine may be busy with others."


async def until(condition: Callable[[], object]) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


async def payloads(inbox: Inbox, count: int) -> list[bytes]:
    """So many, in the order in which they are delivered."""
    found: list[bytes] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            item = await anext(inbox)
            if isinstance(item, Delivery):
                found.append(item.payload)
            else:
                assert isinstance(item, Gap)
    return found


def assert_replayed(folder: Path, count: int, steps: int = 20) -> None:
    """So many lives left their journals here, of more than so many steps, and each comes out as it was."""
    lives, skipped = find_lives([folder])
    assert (len(lives), skipped) == (count, [])
    for life in lives:
        told = replay(life)
        assert (told.divergences, told.raised, told.skipped) == (0, 0, None)
        assert told.steps > steps


def lone_inbox(*given: Any, **settings: Any) -> Inbox:
    """An inbox without a node."""

    async def entered(inbox: Inbox) -> None: ...

    inbox = Inbox(*given, gave=lambda item: None, entered=entered, left=lambda inbox: None, **settings)
    inbox._open = True
    return inbox
