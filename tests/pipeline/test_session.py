"""A session that belongs to its block, or to the caller; never heard on the terminal."""

import importlib
import os
import signal
import socket
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gossamer.core.errors import Misuse, TransportDown
from gossamer.pipeline import session
from pipeline.processes import QUICK_JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

IMPORTS = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])  # not through PYTHONPATH, which executors would inherit
from gossamer.core.errors import Misuse, TransportDown
from gossamer.pipeline.session import spark_session
from pyspark import SparkContext
"""

QUIET = """
state = lambda: (dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT), sorted(os.listdir()))
before = state()
try:
    with spark_session("spark://127.0.0.1:1"): pass
except TransportDown as problem:
    print(problem)
problems = []
with spark_session("local[1]") as spark:
    print(spark.range(5).count(), spark.conf.get("spark.sql.session.timeZone"))
    for fail in (lambda: spark.sql("select nobody"), spark.range(1).rdd.map(lambda row: 1 / 0).collect):
        try:
            fail()
        except Exception as problem:
            problems.append(problem)
print("nobody" in str(problems[0]), "ZeroDivisionError" in str(problems[1]))
print(state() == before, SparkContext._active_spark_context)
"""

BROKEN = """
try:
    with spark_session("local[1]", conf={"spark.driver.memory": "plenty"}): pass
except Misuse as problem:
    print(problem)
"""

SHIPPED = """
def places(_):
    import os, gossamer.core.errors
    return gossamer.core.errors.__file__, os.getcwd()
with spark_session("local-cluster[2,1,1024]") as spark:
    for module, folder in sorted(set(spark.sparkContext.parallelize(range(8), 8).map(places).collect())):
        print(module, folder)
"""


def run(script: str, scratch: Path) -> "subprocess.CompletedProcess[str]":
    (elsewhere := scratch / "elsewhere").mkdir()
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", *session.TOUCHED}}
    command = [sys.executable, "-c", IMPORTS + script, str(session.PACKAGE.parent)]
    env |= {"TMPDIR": str(scratch), "JAVA_TOOL_OPTIONS": QUICK_JAVA}
    return subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, text=True)


def test_a_callers_session_is_used_and_never_stopped(spark: "SparkSession") -> None:
    with session.spark_session("local[7]") as used:
        assert used.sparkContext is spark.sparkContext
    with pytest.raises(RuntimeError), session.spark_session():
        raise RuntimeError
    assert spark.range(3).count() == 3


def test_a_callers_session_is_found_from_another_thread(spark: "SparkSession") -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(session.spark_session().__enter__).result().sparkContext is spark.sparkContext


def test_the_callers_settings_win_over_ours(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.parametrize("master", ["mesos://host:1", "localhost", "local-cluster", ""])
def test_what_is_no_master_is_misuse(master: str) -> None:
    with pytest.raises(Misuse, match="is not a Spark master: use"):
        session.check_master(master)


def test_one_answering_master_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        session.check_master(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://name.invalid:7077", "spark://", "spark://a:b"])
def test_an_unreachable_master_is_told_in_one_sentence(master: str) -> None:
    with pytest.raises(TransportDown, match=f"^No Spark master answers at {master}: [^.]*[.]$"):
        session.check_master(master)


def test_an_unreachable_server_is_told_in_one_sentence() -> None:
    with pytest.raises(TransportDown, match=r"^No Spark Connect server answers at sc://127\.0\.0\.1:1/;x=y: [^.]*[.]"):
        session.check_master("sc://127.0.0.1:1/;x=y")


def test_whoever_set_something_for_this_spark_wins_over_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.ui.enabled true\n spark.sql.shuffle.partitions=7\n")
    said = session.settings("local[2]", "app", {"spark.sql.session.timeZone": "CET"})
    assert not said.keys() & {"spark.ui.enabled", "spark.sql.shuffle.partitions"}
    assert said["spark.sql.session.timeZone"] == "CET"
    (tmp_path / "spark-defaults.conf").unlink()
    assert said["spark.driver.memory"] == f"{session.driver_mib(session.memory_here())}m"
    assert [session.driver_mib(gib << 30) for gib in (1, 24, 1000)] == [1024, 8192, 32768]
    assert session.settings("local[2]", "app", {})["spark.ui.enabled"] == "false"
    assert "spark.ui.enabled" not in session.settings("spark://host:1", "app", {})


def test_variables_module_path_and_ctrl_c_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "before")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(sys, "path", ["first", "last"])
    handler = signal.getsignal(signal.SIGINT)
    with session.restored():
        os.environ |= {"JAVA_HOME": "during", "SPARK_HOME": "during"}
        sys.path.insert(1, "/spark-1/userFiles-2/gossamer.zip")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert (os.environ["JAVA_HOME"], os.environ.get("SPARK_HOME")) == ("before", None)
    assert (signal.getsignal(signal.SIGINT), sys.path) == (handler, ["first", "last"])


def test_the_shipped_package_brings_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pretended"
    (package / "inner" / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").touch()  # without one, importlib.resources would not look into a zip
    (package / "inner" / "code.py").touch()
    (package / "inner" / "figure.toml").write_text("size = 3")
    archive = session.zip_package(package, tmp_path)
    monkeypatch.syspath_prepend(str(archive))
    code = importlib.import_module("pretended.inner.code")
    assert code.__file__ == str(archive / "pretended" / "inner" / "code.py")
    assert files("pretended").joinpath("inner", "figure.toml").read_text() == "size = 3"
    with zipfile.ZipFile(archive) as content:
        assert not any("__pycache__" in name for name in content.namelist())


def test_a_session_of_our_own_prints_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    script = run(QUIET, tmp_path)
    assert script.stderr == ""
    told, counted, failed, left = script.stdout.splitlines()
    assert told.startswith("No Spark master answers at spark://127.0.0.1:1")
    assert (counted, failed, left) == ("5 UTC", "True True", "True None")
    assert not list(tmp_path.glob("gossamer-*"))


def test_a_failed_start_is_told_in_one_sentence_and_leaves_its_log(tmp_path: Path) -> None:
    script = run(BROKEN, tmp_path)
    (log,) = tmp_path.glob("gossamer-*/spark.log")
    assert (script.stdout, script.stderr) == (f"Spark did not start on local[1]: its log {log} says why.\n", "")
    assert "plenty" in log.read_text()


@pytest.mark.slow
def test_executors_of_a_cluster_import_the_shipped_package(tmp_path: Path) -> None:
    script = run(SHIPPED, tmp_path)
    assert script.stderr == ""
    for module, folder in map(str.split, script.stdout.splitlines()):
        assert "gossamer.zip/gossamer/core/errors.py" in module
        assert folder.startswith(str(tmp_path))  # not below the installed pyspark, which may be read-only
    assert script.stdout
