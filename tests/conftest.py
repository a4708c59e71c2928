"""What all tests share: hypothesis tries the same examples every time, so a run of the suite can be repeated; and one
Spark session, since starting a second would cost more than most tests take."""

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from gossamer.core import typed
from wall import Wall

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests: those of one file stay together, for what they set up once, and so do
    all that need Spark, for their one session."""
    for item in items:
        needs_spark = "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("spark") is not None
        item.add_marker(pytest.mark.xdist_group("spark" if needs_spark else item.nodeid.partition("::")[0]))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the suite in the background has Ctrl-C ignored, and so would everything have that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")
# Hypothesis also tries numbers it finds in our modules, in whichever happen to be loaded: in several processes, other
# ones every time. There is no setting for it.
NO_CONSTANTS = providers.Constants()
providers._get_local_constants = lambda: NO_CONSTANTS  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from gossamer.pipeline.session import spark_session  # here: tests without Spark should not wait for its import

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    # Nothing here runs long enough to be worth the JVM's slower compiler, or its checks of Spark's own classes: they
    # would take more than the tests themselves.
    java = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": java}
    with spark_session("local[2]", "gossamer-tests", log=log, conf=conf) as session:
        yield session


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


@pytest.fixture(autouse=True)
def _types_end_with_their_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those a test defines are not there for the nodes of the next one."""
    for table in ("_types", "_inner"):
        monkeypatch.setattr(typed, table, dict(getattr(typed, table)))
