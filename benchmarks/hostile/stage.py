"""The processes of a run: one node with keys, another member that takes what it publishes, attackers in two others, and
the honest client in this one."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from urllib.request import urlopen

from benchmarks.hostile.attacks import FOREIGN, IDENTITIES, OWN
from gossamer.live.keys.network import Network

PROCESSES = 2
REFUSED = re.compile(r'^gossamer_refusals_total\{reason="([^"]+)"\} (\d+)$', re.MULTILINE)


class Victim:
    """A node as a process."""

    def __init__(self, keys: Path, folder: Path, name: str, *seeds: str) -> None:
        words = [("--subscribe", topic) for topic in (OWN, FOREIGN)] + [("--seed", seed) for seed in seeds]
        given = ("--bind", "127.0.0.1:0", "--keys", str(keys / name), "--spool", str(folder / f"spool of {name}"))
        run = [sys.executable, "-m", "gossamer", "node", *given, *chain(*words), "--json", "--log-level", "error"]
        self.process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.address: str = ready["address"]
        self.metrics: str = ready["metrics"]

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4096 / 2**20

    def refused(self) -> dict[str, int]:
        """What it refused so far, by reason."""
        with urlopen(self.metrics, timeout=60) as page:
            found = REFUSED.findall(page.read().decode())
        return {reason: int(times) for reason, times in found if int(times)}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def grant(folder: Path) -> Path:
    """Keys of everybody."""
    network = Network.init(folder / "net")
    for name in ("node", "fellow"):
        network.grant(name, [OWN, FOREIGN], [OWN, FOREIGN])
    network.grant("honest", [FOREIGN], [FOREIGN])
    for name in sorted({*IDENTITIES.values()}):
        network.grant(name, [OWN], [OWN])
    return folder / "net" / "nodes"


@contextmanager
def victim(keys: Path, folder: Path) -> Iterator[Victim]:
    """It has a fellow member, or all that is ever published would wait for one, in memory."""
    with closing(Victim(keys, folder, "node")) as node, closing(Victim(keys, folder, "fellow", node.address)):
        yield node


@contextmanager
def mob(address: str, keys: Path, names: list[str]) -> Iterator[None]:
    """Attackers, in few processes."""
    run = (sys.executable, "-m", "benchmarks.hostile.mob", address, str(keys))
    parts = [names[at::PROCESSES] for at in range(PROCESSES)]
    processes = [subprocess.Popen([*run, *part], cwd=Path(__file__).parents[2]) for part in parts if part]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
