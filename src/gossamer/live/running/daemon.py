"""Nodes as a daemon: each with its page of numbers, run until a signal says stop, changed when another says reload."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from gossamer.core.errors import GossamerError, Misuse
from gossamer.live.config.config import Config
from gossamer.live.node import Node
from gossamer.live.running.reloading import reload_keys, take_over
from gossamer.live.watching.endpoint import Endpoint
from gossamer.live.watching.failures import noticed

log = logging.getLogger("gossamer.node")

T = TypeVar("T")


class Daemon:
    """One node, and the settings it is told again when they are reloaded."""

    def __init__(self, read: Callable[[], Config]) -> None:
        self.read = read
        self.node = Node(read())
        self.endpoint = Endpoint(self.node.config.metrics.bind, self.node, self.node.health)

    async def start(self) -> None:
        await self.endpoint.__aenter__()
        await self.node.start()

    async def close(self) -> None:
        await self.node.close()
        await self.endpoint.__aexit__()

    def reload(self) -> None:
        """What was wrong is said, and everything stays as it was."""
        try:
            reload_keys(self.node)
            take_over(self.node, self.read())
        except GossamerError as wrong:
            log.error("%s goes on as before: %s", self.node.trust.name, wrong)


async def serve(daemons: Sequence[Daemon], ready: Callable[[], None]) -> None:
    """Runs them until SIGTERM or SIGINT, then leaves in good order; a second such signal ends the process at once.

    SIGHUP: settings and keys are read again. `ready` is called once all of them are up."""
    stop = asyncio.Event()
    with _signals(stop, daemons), noticed([each.node.failures for each in daemons]):
        starting = asyncio.create_task(_start(daemons))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                ready()
                await stopping
        finally:
            starting.cancel()
            stopping.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)
            await asyncio.gather(*(each.close() for each in daemons))


async def _start(daemons: Sequence[Daemon]) -> None:
    """All at once: they may be one another's seeds. What goes wrong is told once none of them is half way."""
    for wrong in await asyncio.gather(*(each.start() for each in daemons), return_exceptions=True):
        if wrong is not None:
            raise wrong


@contextlib.contextmanager
def _signals(stop: asyncio.Event, daemons: Sequence[Daemon]) -> Iterator[None]:
    """Signals come in between two turns of the loop. Where there are none (Windows), Ctrl-C cancels whoever waits."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)  # the spool and the trace are made for that
        log.info("leaving; the same signal again ends it at once")
        stop.set()

    def reload() -> None:
        for each in daemons:
            if each.node.state == "up":
                each.reload()

    handlers: dict[int, Callable[[], None]] = {
        number: lambda number=number: end(number)  # type: ignore[misc]
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = reload
    with contextlib.suppress(NotImplementedError):
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in handlers:
                loop.remove_signal_handler(number)


def check_distinct(configs: Sequence[Config]) -> None:
    """Nodes of one process have nothing in common but the process."""
    names = [config.name or str(config.keys) for config in configs]
    for name in names:
        if names.count(name) > 1:
            raise Misuse(f"two of these nodes are {name}: give each a name of its own")


def calm_collector() -> None:
    """Lets the garbage collector look more rarely, and never at what is there already. A node makes many small objects
    that die by themselves and hardly any in circles; a program of its own decides for itself, a daemon may do this."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def run(main: Coroutine[Any, Any, T]) -> T:
    """On uvloop where it is installed, otherwise on asyncio's own loop."""
    calm_collector()
    try:
        from uvloop import new_event_loop
    except ImportError:
        with asyncio.Runner() as runner:
            return runner.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
