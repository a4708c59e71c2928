"""Killed at any moment: the query, the node it reads, an executor. Each event is there once all the same."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.live_nodes import Nodes, nodes, publication
from pipeline.processes import gossamer, members, soon, started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
EVENTS = 100_000
HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def batches(out: Path) -> int:
    """That are wholly written, as the sink's own log says."""
    return sum(each.name.isdecimal() for each in (out / "_spark_metadata").glob("*"))


def kill(process: "subprocess.Popen[str]") -> None:
    """All of a session: a driver, its JVM and its workers."""
    for member in members(process.pid):
        os.kill(member, signal.SIGKILL)
    process.wait()


@contextmanager
def reading_node(folder: Path, port: int, seed: str) -> "Iterator[subprocess.Popen[str]]":
    settings = folder / "reader.toml"
    settings.write_text(
        f'name = "reader"\nbind = "127.0.0.1:{port}"\nseeds = ["{seed}"]\nsubscribe = [".flow"]\n'
        f'[spool]\nfolder = "{folder / "reader"}"\n[scamp]\npatience_us = 50000\n'
    )
    with started(gossamer("node", "--config", settings), folder, output=subprocess.DEVNULL) as process:
        assert soon(lambda: listens(port))
        yield process


def listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def published(network: Nodes, count: int, start: int) -> list[str]:
    return network.publish("anna", [publication(number, ".flow", n=number) for number in range(start, start + count)])


def test_a_stream_has_each_event_once_though_query_and_node_are_killed(spark: "SparkSession", tmp_path: Path) -> None:
    out, checkpoint, port = tmp_path / "rows", tmp_path / "checkpoint", free_port()
    query = [sys.executable, str(HERE / "killed_stream.py"), f"127.0.0.1:{port}", str(out), str(checkpoint)]
    with nodes(tmp_path) as network:
        anna = network.start("anna")
        ids: list[str] = []
        with reading_node(tmp_path, port, anna.address) as reader:
            for life in (1, 2):
                with started([*query, str(tmp_path / f"log-{life}")], tmp_path, output=subprocess.DEVNULL) as process:
                    before = batches(out)
                    ids += published(network, EVENTS // 4, len(ids))
                    assert soon(lambda before=before: batches(out) >= before + 2)  # type: ignore[misc]
                    kill(process)
            ids += published(network, EVENTS // 4, len(ids))
            with started([*query, str(tmp_path / "log-3")], tmp_path, output=subprocess.DEVNULL) as process:
                before = batches(out)
                assert soon(lambda: batches(out) >= before + 1)
                kill(reader)
                time.sleep(1)
                with reading_node(tmp_path, port, anna.address):
                    ids += published(network, EVENTS - len(ids), len(ids))
                    assert soon(lambda: rows_of(spark, out) >= len(ids))
                    kill(process)
    found = [row.id for row in spark.read.parquet(str(out)).select("id").collect()]
    print(f"{len(found)} rows, {len({*found})} events, of {len(ids)} published, in {batches(out)} batches")
    assert sorted(found) == sorted(ids)


def rows_of(spark: "SparkSession", out: Path) -> int:
    time.sleep(2)
    return spark.read.parquet(str(out)).count()


def test_rows_are_events_once_though_an_executor_is_killed(spark: "SparkSession", tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    spark.range(0, EVENTS, numPartitions=20).selectExpr("id", "cast(id as string) as payload").write.parquet(str(rows))
    with nodes(tmp_path) as network:
        anna = network.start("anna", subscribe=[".flow"], limits={"client_requests_per_s": 100_000.0})
        asked = [anna.address, str(rows), str(tmp_path / "checkpoint"), str(tmp_path / "log")]
        command = [sys.executable, str(HERE / "killed_write.py"), *asked]
        with started(command, tmp_path, output=subprocess.PIPE) as process:
            for share in (0.2, 0.6):
                assert soon(lambda share=share: network.places("anna") > share * EVENTS)  # type: ignore[misc]
                os.kill(executor(process.pid), signal.SIGKILL)
            said, wrong = process.communicate(timeout=1200)
            assert process.returncode == 0, said + wrong
        network.wait(lambda: network.places("anna") >= EVENTS)
        import gossamer.pipeline

        spark.dataSource.register(gossamer.pipeline.Gossamer)
        asked_back = spark.read.format("gossamer").options(nodes=anna.address, topic=".flow")
        found = [int(row.payload) for row in asked_back.load().select("payload").collect()]
    print(f"{len(found)} events of {EVENTS} rows")
    assert sorted(found) == [*range(EVENTS)]


def executor(session: int) -> int:
    """One that runs tasks."""
    return next(
        each
        for each in members(session)
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{each}/cmdline").read_bytes()
    )
