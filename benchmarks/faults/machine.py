"""What the machine is asked for: small disks, networks that can be cut, clocks that can be set, files that are torn."""

import glob
import itertools
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

DISK_BYTES = 16 << 20
NUMBERS = itertools.count()


def lacking(needs: str) -> str:
    """Why this machine cannot do it, in a sentence; empty: it can."""
    if needs in ("root", "nft") and os.geteuid() != 0:
        return "it mounts a disk or makes network namespaces, which only root may"
    if needs in ("root", "nft") and not shutil.which("ip"):
        return "there is no command `ip` to make network namespaces with"
    if needs == "nft" and not shutil.which("nft"):
        return "there is no command `nft` to reset connections with (on Debian: apt-get install nftables)"
    if needs == "faketime" and not faketime():
        return "libfaketime is not installed (on Debian: apt-get install faketime), and no clock is set without it"
    return ""


def faketime() -> str:
    return next(iter(sorted(glob.glob("/usr/lib/*/faketime/libfaketime.so.1"))), "")


def call(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


class Clock:
    """The wall clock of one process, in a file that libfaketime reads each time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set(0)

    def set(self, ahead_s: int) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(f"{ahead_s:+d}\n")
        fresh.replace(self.path)

    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": faketime(),
            "FAKETIME_TIMESTAMP_FILE": str(self.path),
            "FAKETIME_CACHE_DURATION": "1",  # seconds until the file is looked at again; each look costs CPU
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }


class SmallDisk:
    """A disk of its own for one spool, with a ballast that fills it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        call("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder)

    def fill(self) -> None:
        with (self.folder / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(bytes(4096))

    def free(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            call("umount", "--lazy", self.folder)


class Halves:
    """Two networks joined by a bridge in a third. Cut, packets vanish without a word, or are answered with a reset."""

    def __init__(self) -> None:
        base = f"gsm{os.getpid()}x{next(NUMBERS)}"
        self.hub, self.sides = f"{base}h", (f"{base}a", f"{base}b")
        self.resets = False
        for name in (self.hub, *self.sides):
            call("ip", "netns", "add", name)
        call("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", self.hub, "link", "set", "bridge", "up")
        for number, side in enumerate(self.sides):
            call("ip", "-n", self.hub, "link", "add", f"p{number}", "type", "veth", "peer", "name", "e", "netns", side)
            call("ip", "-n", self.hub, "link", "set", f"p{number}", "master", "bridge", "up")
            call("ip", "-n", side, "addr", "add", f"{self.host(number)}/24", "dev", "e")
            call("ip", "-n", side, "link", "set", "e", "up")
            call("ip", "-n", side, "link", "set", "lo", "up")

    @staticmethod
    def host(number: int) -> str:
        return f"10.231.0.{number + 1}"

    def prefix(self, number: int) -> Sequence[str]:
        return ("ip", "netns", "exec", self.sides[number])

    def cut(self, reset: bool = False) -> None:
        self.resets = reset
        if not reset:
            call("ip", "-n", self.hub, "link", "set", "p1", "nomaster")
            return
        for number, side in enumerate(self.sides):
            rule = f"ip saddr {self.host(1 - number)} meta l4proto tcp reject with tcp reset"
            made = ("add table inet cut", "add chain inet cut in { type filter hook input priority 0; }")
            for command in (*made, f"add rule inet cut in {rule}"):
                call("ip", "netns", "exec", side, "nft", command)

    def heal(self) -> None:
        if not self.resets:
            call("ip", "-n", self.hub, "link", "set", "p1", "master", "bridge")
            return
        for side in self.sides:
            call("ip", "netns", "exec", side, "nft", "delete table inet cut")

    def close(self) -> None:
        for name in (*self.sides, self.hub):
            with suppress(subprocess.CalledProcessError):
                call("ip", "netns", "del", name)


def journal_of(spool: Path) -> Path | None:
    """The file that was written last: the tail of the log."""
    files = [path for path in spool.rglob("*") if path.is_file() and path.stat().st_size and path.name != "ballast"]
    logs = [path for path in files if path.name.endswith(("-wal", "-journal"))]
    return max(logs or files, key=lambda path: path.stat().st_mtime_ns, default=None)


def scribble(spool: Path, count: int) -> None:
    if path := journal_of(spool):
        with path.open("ab") as file:
            file.write(os.urandom(count))


def tear(spool: Path, count: int) -> None:
    if path := journal_of(spool):
        os.truncate(path, max(0, path.stat().st_size - count))
