"""A network of real processes on this machine: keys made, nodes started, killed, started again, and none left behind.

Every node is the `gossamer node` command in a process of its own, on a leash (see `leashed`).
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import Struct

from gossamer.cli.config import toml
from gossamer.cli.demo_plan import TOPIC, Part
from gossamer.core.errors import TransportDown
from gossamer.live.keys.network import Network

NAME = "demo"
START_S = 60.0
"How long a node may take to start: thirty Pythons on a busy machine are slow."
LEAVE_S = 20.0
ANSWER_S = 5.0


class Running(Struct):
    """One node's process. A node that is started again has another."""

    part: Part
    process: Process
    address: str
    metrics: str


class DemoNetwork:
    """Processes by node name. Leaving the block ends all of them, at once."""

    def __init__(self, folder: Path, loss: float = 0.0, seed: int = 0) -> None:
        self.folder = folder.resolve()
        self.loss, self.seed = loss, seed
        self.running: dict[str, Running] = {}
        self.seeds: tuple[str, ...] = ()
        self._processes: list[Process] = []

    async def __aenter__(self) -> "DemoNetwork":
        self._leash, self._hand = os.pipe()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._hand)  # the leash does the same, but whoever looks right after us should find nobody
        os.close(self._leash)
        for process in self._processes:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*map(gone, self._processes))

    # -- keys ---------------------------------------------------------------------------------------------------

    def make_keys(self, nodes: Iterable[Part], clients: Iterable[str]) -> None:
        """A new network: each node may read its topic, those at the bottom may publish there, and so may clients."""
        network = Network.init(self.folder / "keys", name=NAME)
        for part in nodes:
            network.grant(part.name, [TOPIC] if part.topic == TOPIC else [], [part.topic])
        for name in clients:
            network.grant(name, [TOPIC])

    def keys_of(self, name: str) -> Path:
        return self.folder / "keys" / "nodes" / name

    # -- processes ----------------------------------------------------------------------------------------------

    async def start(self, part: Part) -> None:
        """Starts a node, for the first time or again: same keys, same spool. Returns once it takes calls."""
        folder = self.folder / "nodes" / part.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "node.toml").write_text(self._settings(part, folder), encoding="utf-8")
        with (folder / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "gossamer.cli.leashed",
                    "node",
                    "--config",
                    str(folder / "node.toml"),
                    "--json",
                ),
                stdin=self._leash,
                stdout=PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: we decide what becomes of them
            )
        self._processes.append(process)
        ready = await first_line(process)
        if not ready:
            raise TransportDown(f"{part.name} did not start: {last_words(folder / 'log')}")
        told = json.loads(ready)
        self.running[part.name] = Running(part, process, told["address"], told["metrics"])

    def _settings(self, part: Part, folder: Path) -> str:
        lines = {
            "network": NAME,
            "bind": "127.0.0.1:0",
            "seeds": self.seeds,
            "keys": self.keys_of(part.name),
            "subscribe": (part.topic,),
            "spool.folder": folder / "spool",
            "trace.folder": self.folder / "traces",
            "trace.level": "full",
            "faults.loss": self.loss,
            "faults.seed": self.seed,
        }
        return "".join(f"{name} = {toml(value)}\n" for name, value in lines.items())

    async def start_all(self, parts: Sequence[Part], seeds: Sequence[Part], told: Callable[[], object]) -> None:
        """The seeds first, then the others, as many at a time as this machine has hands for."""
        for part in seeds:
            await self.start(part)
            self.seeds = tuple(each.address for each in self.running.values())
            told()
        hands = asyncio.Semaphore(2 * (os.cpu_count() or 1))

        async def start(part: Part) -> None:
            async with hands:
                await self.start(part)
            told()

        await together(start(part) for part in parts if part not in seeds)

    async def kill(self, parts: Iterable[Part]) -> None:
        """SIGKILL: no goodbye, nothing written down."""
        killed = [self.running.pop(part.name).process for part in parts]
        for process in killed:
            process.kill()
        await asyncio.gather(*map(gone, killed))

    async def leave(self, told: Callable[[int], object]) -> list[str]:
        """Everybody goes in good order; the names of those that had to be forced. `told` hears how many are gone."""
        for each in self.running.values():
            if each.process.returncode is None:
                each.process.send_signal(signal.SIGTERM)
        ends = [asyncio.ensure_future(gone(each.process)) for each in self.running.values()]
        for end in ends:
            end.add_done_callback(lambda _: told(sum(map(asyncio.Task.done, ends))))
        await asyncio.wait(ends, timeout=LEAVE_S)
        forced = [name for name, each in self.running.items() if each.process.returncode is None]
        for name in forced:
            self.running[name].process.kill()
        await asyncio.gather(*ends)
        return forced

    # -- questions ----------------------------------------------------------------------------------------------

    def check_alive(self) -> None:
        """Nobody ends by itself."""
        for name, each in self.running.items():
            if each.process.returncode is not None:
                raise TransportDown(f"{name} ended by itself: {last_words(self.folder / 'nodes' / name / 'log')}")

    async def health(self) -> dict[str, dict[str, Any]]:
        """What each node's /healthz says; nothing, where it does not answer."""
        self.check_alive()
        asked = list(self.running)
        pages = await asyncio.gather(*(fetch(each.metrics, "/healthz") for each in self.running.values()))
        return {name: json.loads(page or b"{}") for name, page in zip(asked, pages, strict=True)}

    async def deliveries(self) -> dict[str, int]:
        """How many each node that runs has made so far."""
        return await self.counted("gossamer_events_delivered_total")

    async def delivered(self) -> int:
        """Deliveries so far, at all nodes that run."""
        return sum((await self.deliveries()).values())

    async def total(self, name: str) -> int:
        """One number of /metrics, summed over all nodes that run."""
        return sum((await self.counted(name)).values())

    async def counted(self, name: str) -> dict[str, int]:
        """One number of /metrics, of each node that runs."""
        self.check_alive()
        asked = list(self.running)
        pages = await asyncio.gather(*(fetch(each.metrics, "/metrics") for each in self.running.values()))
        return {node: sample(page, name) for node, page in zip(asked, pages, strict=True)}


async def together(work: Iterable[Awaitable[None]]) -> None:
    """All of it at once. The first that fails ends the others and is raised as it is, not in a group."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def first_line(process: Process) -> bytes:
    """What a node says once it is up; nothing, if it ends first or takes for ever."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            return await process.stdout.readline()
    except TimeoutError:
        return b""


async def gone(process: Process) -> None:
    """Waits until a process has ended, and what it still says is read: its pipe would stay open otherwise."""
    assert process.stdout is not None
    await process.stdout.read()
    await process.wait()


def last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), f"see {log}")


async def fetch(page: str, path: str) -> bytes:
    """A page of a node's, at the address its /metrics has; empty if it does not answer."""
    host, _, port = page.removeprefix("http://").partition("/")[0].rpartition(":")
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                return (await reader.read()).partition(b"\r\n\r\n")[2]
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return b""


def sample(page: bytes, name: str) -> int:
    """One number of a page of metrics; 0 if it is not there."""
    lines = (line.split() for line in page.decode().splitlines() if line.startswith(f"{name} "))
    return next((int(value) for _, value in lines), 0)
