"""The processes of one run: started, talked to by lines, their CPU time read, and none left behind."""

import asyncio
import ctypes
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from benchmarks.live.lines import line, parsed
from benchmarks.live.systems.system import Broker, Net

ROOT = str(Path(__file__).parents[2])
LINE_BYTES = 1 << 22
"The longest line: what a subscriber tells holds its latencies."
ENDED = "ended"
PR_SET_PDEATHSIG = 1
"From Linux's <sys/prctl.h>: the signal sent when the parent is gone, however it went."


class Failed(Exception):
    """A run cannot go on; why, in one sentence."""


class Silence(Failed):
    """Nobody said anything for too long."""


class Member:
    def __init__(self, name: str, process: Process, log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log

    def tell(self, word: str, value: Any = None) -> None:
        assert self.process.stdin
        self.process.stdin.write(line(word, value))

    def kill(self) -> None:
        """Not by `process.kill`, which may collect what asyncio waits for."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    def cpu_ns(self) -> int:
        """Of all its threads, those that ended too."""
        return cpu_ns(self.process.pid)

    def last_words(self) -> str:
        """The last line that speaks of an error, or the last."""
        said = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        spoken = [text.strip() for text in said if text.strip()]
        errors = [text for text in spoken if "rror" in text]
        return (errors or spoken or ["it said nothing"])[-1]


def cpu_ns(pid: int) -> int:
    """Linux has a CPU clock for every process: /proc/PID/stat says the same in steps of 10 ms."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def end_with_parent() -> None:
    """Runs in a broker's process before the broker: our peers end when their input does, a broker would stay."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Crew:
    def __init__(self, system: str, net: Net, patience_s: float) -> None:
        self.system = system
        self.net = net
        self.patience_s = patience_s
        self.members: list[Member] = []
        self.heard: asyncio.Queue[tuple[Member, str, Any]] = asyncio.Queue()
        self.listeners: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Crew":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.members:
            member.kill()
        for member in self.members:
            if member.process.stdin:
                member.process.stdin.close()
            await member.process.wait()
        await asyncio.gather(*self.listeners)

    async def start(self, role: str, name: str) -> Member:
        path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
        told = msgspec.json.encode(self.net).decode()
        log = self.net.place / f"{name}.log"
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "benchmarks.live.peer", self.system, role, told),
                env={**os.environ, "PYTHONPATH": path},
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                limit=LINE_BYTES,
            )
        return self._added(Member(name, process, log), parsed)

    async def start_broker(self, broker: Broker) -> Member:
        """Its lines are its own; the one that says it can be reached is taken for `ready`."""
        process = await asyncio.create_subprocess_exec(
            *broker.command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, preexec_fn=end_with_parent
        )
        member = Member("broker", process, self.net.place / "broker.log")

        def ready(text: bytes) -> tuple[str, Any]:
            with member.log.open("ab") as log:
                log.write(text)
            return ("ready" if broker.ready.encode() in text else "log"), None

        return self._added(member, ready)

    def _added(self, member: Member, read: Callable[[bytes], tuple[str, Any] | None]) -> Member:
        self.members.append(member)
        self.listeners.append(asyncio.create_task(self._listen(member, read)))
        return member

    async def _listen(self, member: Member, read: Callable[[bytes], tuple[str, Any] | None]) -> None:
        assert member.process.stdout
        async for text in member.process.stdout:
            if said := read(text):
                self.heard.put_nowait((member, *said))
        self.heard.put_nowait((member, ENDED, None))

    async def next(self, within_s: float) -> tuple[Member, str, Any]:
        async with asyncio.timeout(within_s):
            member, word, value = await self.heard.get()
        if word == ENDED:
            raise Failed(f"{member.name} ended early: {member.last_words()}")
        return member, word, value

    async def all_say(
        self,
        word: str,
        members: Iterable[Member],
        meanwhile: Mapping[str, Callable[[Member, Any], None]] | None = None,
        more_s: float = 0.0,
    ) -> dict[str, Any]:
        """Waits until each has said the word, and returns by name what came with it."""
        said: dict[str, Any] = {}
        waiting = {member.name for member in members}
        patience_s = self.patience_s + more_s
        while waiting:
            try:
                member, heard, value = await self.next(patience_s)
            except TimeoutError:
                late = ", ".join(sorted(waiting)[:3])
                raise Silence(f"no “{word}” from {late} ({len(waiting)} in all) in {patience_s:g} s") from None
            if heard == word and member.name in waiting:
                waiting.discard(member.name)
                said[member.name] = value
            elif meanwhile and heard in meanwhile:
                meanwhile[heard](member, value)
        return said
