"""The processes of one run: started, struck, started again, and none left behind."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec.structs import replace

from benchmarks.faults import ledger as words
from benchmarks.faults import machine
from benchmarks.faults.ledger import Following
from benchmarks.faults.parts import TOPIC, Part
from benchmarks.faults.plan import Plan
from benchmarks.live.turn import free_ports
from gossamer.live.keys.network import Network as Authority

ROOT = str(Path(__file__).parents[2])
NETWORK = "faults"
POLL_S = 0.005
LEAVE_S = 10.0


class Failed(Exception):
    """A run cannot go on; why, in one sentence."""


class Stage:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.parts = {part.name: part for part in plan.parts}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.begun = False
        self.returned_s = time.monotonic()
        "When somebody last came back, was let go on, or could hear others again."
        self.halves = machine.Halves() if plan.apart else None
        self.disk = machine.SmallDisk(folder / "small") if plan.small else None
        clocks = self.parts if plan.needs == "faketime" else ()
        self.clocks = {name: machine.Clock(folder / f"{name}.clock") for name in clocks}
        self._ledgers = {name: Following(folder / f"{name}.ledger") for name in self.parts}
        self.addresses = self._addresses()
        if self.halves:
            self._grant()

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
            assert process.stdin
            process.stdin.close()
        for thing in (self.halves, self.disk):
            if thing:
                thing.close()

    # What a process is told

    def _addresses(self) -> dict[str, str]:
        nodes = [name for name, part in self.parts.items() if not part.attach]
        return {name: f"{self._host(name)}:{port}" for name, port in zip(nodes, free_ports(len(nodes)))}

    def _side(self, name: str) -> int:
        return next((number for number, side in enumerate(self.plan.apart) if name in side), 0)

    def _host(self, name: str) -> str:
        return machine.Halves.host(self._side(name)) if self.halves else "127.0.0.1"

    def _grant(self) -> None:
        authority = Authority.init(self.folder / "net", name=NETWORK)
        for name in self.parts:
            authority.grant(name, [TOPIC], [TOPIC])

    def part(self, name: str) -> Part:
        part = self.parts[name]
        keys = {"keys": str(self.folder / "net" / "nodes" / name), "network": NETWORK} if self.halves else {}
        ledger = str(self.folder / f"{name}.ledger")
        if part.attach:
            return replace(part, attach=self.addresses[part.attach], settings=keys, ledger=ledger)
        return replace(part, settings={**self._settings(part), **keys}, ledger=ledger, go=self.begun)

    def _settings(self, part: Part) -> dict[str, Any]:
        place = self.disk.folder if self.disk and part.name == self.plan.small else self.folder
        seeds = [address for name, address in self.addresses.items() if name != part.name][:2]
        return {
            "name": part.name,
            "bind": self.addresses[part.name],
            "seeds": seeds,
            "spread": self.plan.spread,
            "subscribe": [part.reading.topic] if part.reading and not part.reading.where else [],
            "publish": [part.publishing.topic] if part.publishing else [],
            "spool": {"folder": str(place / f"{part.name}.spool"), "durability": "disk"},
            "timeouts": {"ack_s": 0.5, "leave_s": 1.0},
            "scamp": {"patience_us": 300_000},
        }

    # What is done to it

    def start(self, name: str, ahead_s: int = 0) -> None:
        if name in self.running and self.running[name].poll() is None:
            return
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))}
        if clock := self.clocks.get(name):
            clock.set(ahead_s)
            environ |= clock.environment()
        inside = self.halves.prefix(self._side(name)) if self.halves else ()
        told = msgspec.json.encode(self.part(name)).decode()
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [*inside, sys.executable, "-m", "benchmarks.faults.actor", told],
                env=environ, stdin=subprocess.PIPE, stdout=log, stderr=log,
            )  # fmt: skip
        self.returned_s = time.monotonic()

    def tell(self, word: str) -> None:
        for process in self.running.values():
            if process.poll() is None and process.stdin:
                process.stdin.write(word.encode() + b"\n")
                process.stdin.flush()

    def send(self, name: str, number: int) -> None:
        if self.running[name].poll() is None:
            self.running[name].send_signal(number)

    def kill(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.send(name, signal.SIGKILL)  # all of them before any is waited for: a loss of power
        for name in names:
            self._gone(name)

    def _gone(self, name: str) -> None:
        process = self.running[name]
        process.wait()
        assert process.stdin
        process.stdin.close()

    def leave(self, name: str) -> None:
        self.send(name, signal.SIGTERM)
        try:
            self.running[name].wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"{name} did not leave in {LEAVE_S:g} s") from None
        self._gone(name)

    def squeeze(self, name: str, enough: bool) -> None:
        """As many descriptors as are open, and no more; or as many as it likes."""
        pid = self.running[name].pid
        open_now = len(os.listdir(f"/proc/{pid}/fd"))
        _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(most, 1024) if enough else open_now, most))

    # What they wrote down

    def ledgers(self) -> dict[str, list[list[Any]]]:
        return {name: ledger.lines() for name, ledger in self._ledgers.items()}

    def until(self, happened: Callable[[Mapping[str, list[list[Any]]]], bool], within_s: float, poll_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while not happened(self.ledgers()):
            self.look_after()
            if time.monotonic() > deadline:
                return False
            time.sleep(poll_s)
        return True

    def look_after(self) -> None:
        """Whoever ended by himself is a finding."""
        for name, process in self.running.items():
            if process.poll() not in (None, -signal.SIGKILL, 0):
                raise Failed(f"{name} ended with {process.poll()}: {self.last_words(name)}")

    def last_words(self, name: str) -> str:
        said = (self.folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return said[-1].strip() if said else "it said nothing"

    def ready(self, ledgers: Mapping[str, list[list[Any]]]) -> bool:
        return all(
            any(line[0] == (words.OPEN if self.parts[name].reading else words.UP) for line in lines)
            for name, lines in ledgers.items()
        )
