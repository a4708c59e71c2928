"""What tests of commands share: nodes that run."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.processes import HERE, Daemon, Stage, staged
from gossamer.live.keys.network import Network


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Daemon, Daemon]]:
    """Two nodes without keys, of which the second reads everything into its spool."""
    with staged() as stage:
        one = stage.daemon("--name", "one", "--bind", HERE)
        yield one, stage.daemon("--name", "two", "--bind", HERE, "--seed", one.address, "--subscribe", ".")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "net"
    network = Network.init(folder)
    for name in ("one", "two", "three"):
        network.grant(name, [".soccer"], [".soccer"])
    network.grant("writer", [".soccer"])
    network.grant("late", [".soccer"], days=1, now_s=time.time() - 3 * 86400)
    return folder


@pytest.fixture(scope="module")
def safe_pair(net: Path) -> Iterator[tuple[Daemon, Daemon]]:
    """Two nodes with keys."""
    with staged() as stage:
        one = stage.daemon("--keys", net / "nodes" / "one", "--bind", HERE, "--subscribe", ".soccer")
        two = ("--keys", net / "nodes" / "two", "--bind", HERE, "--seed", one.address, "--subscribe", ".soccer")
        yield one, stage.daemon(*two)


@pytest.fixture(autouse=True)
def _no_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: tests look at what commands say in the end."""
    monkeypatch.setattr("gossamer.cli.progress.LINE_S", float("inf"))
