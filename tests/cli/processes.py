"""Commands as processes of their own, over loopback: started, read line by line, told by signals."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from click.testing import CliRunner

from gossamer.cli import main

PATIENCE_S = 60.0
HERE = "127.0.0.1:0"
NOBODY = "127.0.0.1:1"
"An address where nobody listens."
QUICK = ("--set", "timeouts.leave_s=0.3", "--set", "timeouts.ack_s=0.5", "--set", "scamp.patience_us=100000")
"Daemons of tests do not wait long: for an event that nobody takes, for members of a community of their own."


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str


def gossamer(*arguments: object) -> Ran:
    """A command that ends by itself, in this process: most of what a process costs is its start."""
    unset = {name: None for name in os.environ if name.startswith("GOSSAMER_")}
    ran = CliRunner().invoke(main, list(map(str, arguments)), env=unset, catch_exceptions=False)
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


def fed(stdin: bytes, *arguments: object) -> Ran:
    """The same in a process of its own, with a stdin."""
    ran = subprocess.run(command(*arguments), input=stdin, capture_output=True, env=environment(), timeout=PATIENCE_S)
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


class Running:
    """A command that goes on."""

    def __init__(self, *arguments: object, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=cwd, text=True
        )
        self.out: queue.Queue[str] = queue.Queue()
        self.err: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=each)
            for each in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: IO[str], lines: "queue.Queue[str]") -> None:
        for line in stream:
            lines.put(line)
        lines.put("")

    def line(self) -> str:
        """The next line of stdout; empty: there are no more."""
        return self.out.get(timeout=PATIENCE_S)

    def object(self) -> Any:
        return json.loads(self.line())

    def complaint(self, about: str) -> str:
        """The next line of stderr that has these words."""
        while about not in (line := self.err.get(timeout=PATIENCE_S)):
            assert line, f"it ended without a word on {about!r}: {self.said}"
            self.said.append(line)
        return line

    def tell(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.tell(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._close()
        return code

    def _close(self) -> None:
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._close()


class Daemon(Running):
    """A node, once it is up."""

    def __init__(self, *arguments: object, cwd: Path | None = None) -> None:
        super().__init__("node", *QUICK, "--json", *arguments, cwd=cwd)
        ready = self.line()
        if not ready:
            self.kill()
            raise AssertionError(f"it did not start: {''.join(self.err.queue)}")
        self.ready = json.loads(ready)
        self.address: str = self.ready["address"]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def page(self, path: str) -> tuple[int, str]:
        where = self.ready["metrics"].removesuffix("/metrics") + path
        try:
            with urlopen(where, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()

    def events(self, topic: str, count: int, *arguments: object) -> list[Any]:
        """What its spool has of a topic, once there are so many."""
        read = gossamer("subscribe", topic, "--node", self.address, "--from-start", "--json", "--count", count,
                        "--timeout", PATIENCE_S - 5, *arguments)  # fmt: skip
        assert (read.code, read.stderr) == (0, ""), f"{read.code}: {read.stderr}"
        return [json.loads(line) for line in read.stdout.splitlines()]

    def payloads(self, topic: str, count: int, *arguments: object) -> list[str]:
        return [each["payload"] for each in self.events(topic, count, *arguments)]

    def publish(self, topic: str, payload: str, *arguments: object) -> None:
        ran = gossamer("publish", topic, payload, "--node", self.address, *arguments)
        assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")


class Stage:
    """Everything a test has started; nothing is left behind."""

    def __init__(self) -> None:
        self.started: list[Running] = []

    def daemon(self, *arguments: object, cwd: Path | None = None) -> Daemon:
        return self._add(Daemon(*arguments, cwd=cwd))

    def run(self, *arguments: object, cwd: Path | None = None) -> Running:
        return self._add(Running(*arguments, cwd=cwd))

    def _add(self, running: Any) -> Any:
        self.started.append(running)
        return running


@contextmanager
def staged() -> Iterator[Stage]:
    stage = Stage()
    try:
        yield stage
    finally:
        for each in stage.started:
            each.kill()
