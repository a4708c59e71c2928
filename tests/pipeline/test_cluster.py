"""The same sweep on clusters: executors apart, the package sent to them, the same numbers in the end."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyspark
from click.testing import CliRunner

from gossamer.cli import main
from gossamer.pipeline.java import REAL, ensure_java
from gossamer.pipeline.session import answers, restored
from pipeline.processes import gossamer, run, soon, started, without_progress
from pipeline.rows import write_small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def at_home(tmp_path: Path, engine: str) -> bytes:
    """The summary of a small sweep on the session of the tests."""
    spec, out = str(write_small(tmp_path)), tmp_path / "home"
    ran = CliRunner().invoke(main, ["sweep", spec, "--engine", engine, "--out", str(out)])
    assert (ran.exit_code, ran.stderr) == (0, "")
    return (out / "summary.csv").read_bytes()


def away(master: str, tmp_path: Path, engine: str) -> bytes:
    """The summary of the same sweep by a process of its own, on a cluster."""
    command = gossamer("sweep", "small.toml", "--engine", engine, "--out", "away", "--master", master)
    ran = run(command, tmp_path)
    assert (ran.returncode, without_progress(ran.stderr)) == (0, "")
    return (tmp_path / "away" / "summary.csv").read_bytes()


def test_a_sweep_on_two_executors_ends_with_the_same_summary(spark: "SparkSession", tmp_path: Path) -> None:
    """Machines, since executors that get the package as a zip cannot keep a compiled kernel and compile anew."""
    assert at_home(tmp_path, "machine") == away("local-cluster[2,1,1024]", tmp_path, "machine")


@pytest.mark.slow
def test_a_sweep_on_a_standalone_master_with_two_workers_ends_with_the_same_summary(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with cluster(tmp_path) as master:
        assert at_home(tmp_path, "kernel") == away(master, tmp_path, "kernel")
        used = {Path(each).parent.name for each in tmp_path.glob("worker-*/app-*/*/stderr")}
    assert used == {"0", "1"}  # an executor on each


@contextlib.contextmanager
def cluster(tmp_path: Path) -> Iterator[str]:
    """A standalone master on loopback with two workers, which all end with the block, whatever happens."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as running:
        start = partial(start_daemon, running, tmp_path)
        start("master.Master", "--port", str(port))
        assert soon(lambda: answers(f"127.0.0.1:{port}"))
        for name in ("worker-a", "worker-b"):
            start("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name), master)
        yield master


def start_daemon(running: contextlib.ExitStack, tmp_path: Path, kind: str, *arguments: str) -> None:
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(launcher), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", "--webui-port", "0", *arguments]
    with restored():
        ensure_java()
        java = {name: os.environ[name] for name in ("JAVA_HOME", REAL) if name in os.environ}
    env = {**java, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    running.enter_context(started(command, tmp_path, output=subprocess.DEVNULL, **env))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
