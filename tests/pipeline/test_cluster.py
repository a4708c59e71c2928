"""The same sweep on clusters: executors apart, the package sent to them, the same numbers in the end."""

import contextlib
import json
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


@pytest.mark.slow
def test_a_sweep_and_an_overlay_on_a_spark_connect_server_say_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    with connect_server(tmp_path) as master:
        assert at_home(tmp_path, "kernel") == away(master, tmp_path, "kernel")
        (tmp_path / "pairs.csv").write_text("node,topic\nann,news\nbob,news\nbob\n")
        built = run(gossamer("overlay", "pairs.csv", "--out", "overlay", "--master", master, "--json"), tmp_path)
        assert json.loads(built.stdout)["set_aside"] == {"not as many fields as the header": 1}
        refused = run(gossamer("sweep", "small.toml", "--out", "viewfs://far/data", "--master", master), tmp_path)
        assert refused.stderr.startswith("gossamer: only places on this machine can be used without a Spark of our own")


@contextlib.contextmanager
def connect_server(tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server on loopback, which ends with the block."""
    port = free_port()
    with contextlib.ExitStack() as running:
        settings = {
            "spark.connect.grpc.binding.port": str(port),
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
        }
        conf = [each for key, value in settings.items() for each in ("--conf", f"{key}={value}")]
        start_java(running, tmp_path, ["spark-submit", *conf, "--class", SERVER, "spark-internal"])
        assert soon(lambda: answers(f"127.0.0.1:{port}"))
        yield f"sc://127.0.0.1:{port}"


SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


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
    ours = ["--host", "127.0.0.1", "--webui-port", "0"]
    start_java(running, tmp_path, ["spark-class", f"org.apache.spark.deploy.{kind}", *ours, *arguments])


def start_java(running: contextlib.ExitStack, tmp_path: Path, command: list[str]) -> None:
    command = [str(Path(pyspark.__file__).parent / "bin" / command[0]), *command[1:]]
    with restored():
        ensure_java()
        java = {name: os.environ[name] for name in ("JAVA_HOME", REAL) if name in os.environ}
    env = {**java, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    running.enter_context(started(command, tmp_path, output=subprocess.DEVNULL, **env))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
