"""A node asked from a place that has no loop of its own: a task of Spark, or the process beside its driver."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from gossamer.core.errors import Full, TransportDown
from gossamer.live.clients.client import Client
from gossamer.pipeline.source_options import Attached

T = TypeVar("T")
AGAIN_S = 0.25
"How soon a node that is away is tried again."
log = logging.getLogger("gossamer.spark")


class Line:
    """A client of one node, which attaches again where the link broke: what is asked here may be asked twice."""

    def __init__(self, attached: Attached, address: str) -> None:
        self.attached, self.address = attached, address
        self._runner = asyncio.Runner()
        self._client: Client | None = None

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, act: Callable[[Client], Awaitable[T]]) -> T:
        """What the node says. One that is away is waited for, and so is one that is full."""
        until_s = time.monotonic() + self.attached.patience_s
        while True:
            try:
                return self._runner.run(self._asked(act))
            except TransportDown as wrong:
                if not isinstance(wrong, Full):
                    self._drop()
                if time.monotonic() >= until_s:
                    raise
                log.info("%s: %s; trying again", self.address, wrong)
                time.sleep(AGAIN_S)

    async def _asked(self, act: Callable[[Client], Awaitable[T]]) -> T:
        if self._client is None or not self._client.is_attached:
            keys = Path(self.attached.keys) if self.attached.keys else None
            client = Client(self.address, keys=keys, network=self.attached.network)
            self._client = await client.__aenter__()
        return await act(self._client)

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None and client.is_attached:
            self._runner.run(client.__aexit__(None, None, None))

    def close(self) -> None:
        try:
            self._drop()
        finally:
            self._runner.close()
