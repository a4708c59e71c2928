"""Nodes that live more than once, and what can happen to their disks."""

import asyncio
import resource
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.core.ids import EventId
from gossamer.live.node import Node
from gossamer.testing import Network

QUICK = {"ack_s": 0.2, "leave_s": 0.5}
"Nobody here is far away."
PRINTED_BYTES = 1024
"What a full disk still takes: pytest keeps what a test prints in a file."


def disk(folder: Path, **settings: Any) -> dict[str, Any]:
    """Settings of a node whose spool outlives it."""
    return {"spool": {"folder": str(folder), **settings}, "timeouts": QUICK}


MEMORY: dict[str, Any] = {"timeouts": QUICK}
"Settings of a node whose spool does not."


async def publish(node: Node, topic: str, wanted: Iterable[int]) -> list[EventId]:
    return list(await asyncio.gather(*(node.publish(topic, f"{number}") for number in wanted)))


async def leave(network: Network, name: str) -> None:
    await network.nodes.pop(name).close()


def killed(folder: Path, number: int = 0) -> Path:
    """What SIGKILL at this moment would leave of a spool: a copy of its files, as they are."""
    copy = folder.with_name(f"{folder.name}-killed-{number}")
    shutil.copytree(folder, copy)
    return copy


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows. Spools in memory have none."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED_BYTES, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
