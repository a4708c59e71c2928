"""A Spark session for as long as a `with` block, quiet and gone without a trace.

Whoever already has a session keeps it: we use it and never stop it. Otherwise one is started, and ends with the block.
Its JVM prints to a log file and lives as long as the process, since Spark's exceptions ask it for their text even after
the block; a later session gets the same JVM, and with it the log and the driver's memory of the first.
"""

import atexit
import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from gossamer.core.errors import Misuse, TransportDown
from gossamer.pipeline.java import REAL, ensure_java
from gossamer.pipeline.quick_start import brief_settings

Session: TypeAlias = SparkSession
"What rooms that do not know Spark call it."

CONNECT, CONNECT_PORT = "sc://", 15002
PACKAGE = Path(__file__).parents[1]
TOUCHED = [
    "JAVA_HOME",
    REAL,
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "PYSPARK_PYTHON",
    "SPARK_LOCAL_IP",
    "SPARK_HOME",
]
TOUCHED += ["SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"]  # by Spark itself


@contextlib.contextmanager
def spark_session(
    master: str | None = None,
    app: str = "gossamer",
    *,
    log: Path | None = None,
    conf: Mapping[str, str] | None = None,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """The caller's Spark session if there is one, else a new one on `master` (local[*]) that ends with the block.

    A cluster's workers need gossamer's dependencies in the Python named by PYSPARK_PYTHON; gossamer itself is sent.
    `log` takes what the JVM prints (default: a temporary file, kept if a block fails). `conf` wins over our settings.
    `brief`: what it is for takes seconds.
    """
    if (session := running_session()) is not None:
        yield session
        return
    check_master(master := master or "local[*]")
    if master.startswith(CONNECT):
        with restored(), connected(master, app, conf or {}) as session:
            yield session
        return
    log = log or scratch_folder() / "spark.log"
    try:
        with restored():
            prepare_environment(master)
            with started(settings(master, app, conf or {}, brief), log) as session:
                if not is_local(master):
                    session.sparkContext.addPyFile(str(zip_package(PACKAGE, scratch_folder())))
                yield session
    except Exception as problem:
        atexit.unregister(remove)
        problem.add_note(f"Spark's own log is {log}")
        raise


def running_session() -> SparkSession | None:
    """The session somebody in this process already has, in whichever thread."""
    if (session := SparkSession.getActiveSession()) is not None:
        return session
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def is_local(master: str) -> bool:
    """Whether tasks run inside the driver's own JVM."""
    return master == "local" or master.startswith("local[")


def check_master(master: str) -> None:
    """Say at once what Spark would say after a minute, or in a stack trace."""
    known = ("local-cluster[", "spark://", "k8s://", CONNECT)
    if not (is_local(master) or master.startswith(known) or master == "yarn"):
        raise Misuse(
            f"{master!r} is not a Spark master: use local[*], spark://host:port, sc://host:port, k8s://host:port "
            "or yarn."
        )
    if master.startswith(CONNECT):
        address = master.removeprefix(CONNECT).partition("/")[0]
        if not answers(address if ":" in address else f"{address}:{CONNECT_PORT}"):
            raise TransportDown(f"No Spark Connect server answers at {master}: start it, or use local[*].")
    if master.startswith("spark://") and not any(map(answers, master.removeprefix("spark://").split(","))):
        raise TransportDown(f"No Spark master answers at {master}: start it, or use local[*] to run on this machine.")


@contextlib.contextmanager
def connected(url: str, app: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session on a Spark Connect server. Its Spark runs already: only settings of a session can be given."""
    try:
        session = SparkSession.builder.remote(url).appName(app).getOrCreate()
    except ImportError as missing:
        raise Misuse(f'Spark Connect needs {missing.name or "grpcio"}: pip install "gossamer[connect]"') from None
    try:
        for key, value in {"spark.sql.session.timeZone": "UTC", **conf}.items():
            try:
                session.conf.set(key, value)
            except PySparkException:
                raise Misuse(
                    f"--conf {key}: a Spark Connect server takes it when it starts, not from a session"
                ) from None
        session.addArtifacts(str(zip_package(PACKAGE, scratch_folder())), pyfile=True)
        yield session
    finally:
        with contextlib.suppress(PySparkException):
            session.stop()


def answers(address: str) -> bool:
    """Whether something accepts connections at host:port, without thinking for long."""
    with contextlib.suppress(OSError, ValueError):
        place = urlsplit(f"//{address}")
        socket.create_connection((place.hostname, place.port or 0), timeout=5.0).close()
        return True
    return False


def settings(master: str, app: str, given: Mapping[str, str], brief: bool = False) -> dict[str, str]:
    """What we set where nobody has said otherwise: neither the caller nor the file of defaults of this Spark."""
    ours = {"spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC"}
    if master.startswith("local"):
        ours["spark.ui.enabled"] = "false"  # gone with the command, before anybody has found its port
        ours["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 2)  # 200 are for many machines: each costs a task
    if is_local(master):
        ours["spark.driver.memory"] = f"{driver_mib(memory_here())}m"
    if brief and is_local(master):
        ours |= brief_settings()
    ours = {key: value for key, value in ours.items() if key not in settings_of_this_spark()}
    return ours | dict(given) | {"spark.master": master, "spark.app.name": app}


def driver_mib(memory: int) -> int:
    """Up to how much the JVM may grow if the work needs it: Spark's own 1 GiB is little where tasks run in it too. The
    Python workers, and whatever else runs here, need the rest."""
    return max(1024, min(memory // 3, 32 << 30) >> 20)


def memory_here() -> int:
    """Bytes of this machine, or of the container that we are in."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    with contextlib.suppress(OSError, ValueError):  # no such limit, or none at all, which is "max"
        return min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return whole


def settings_of_this_spark() -> set[str]:
    """The keys in spark-defaults.conf, where Spark looks for it. What is set on its command line would win over it."""
    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"), "spark-defaults.conf")
    with contextlib.suppress(OSError):
        lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
        return {re.split(r"[\s=:]", line, maxsplit=1)[0] for line in lines if line and not line.startswith(("#", "!"))}
    return set()


def prepare_environment(master: str) -> None:
    """What the JVM and its Python workers read from the environment."""
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take any python3 on PATH
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # else Spark needs the host's name to resolve
    if master.startswith("local-cluster"):
        # Its workers write below SPARK_HOME, whatever SPARK_WORKER_DIR says, and an installed package may be read-only.
        installed = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
        os.environ["SPARK_HOME"] = home = tempfile.mkdtemp(dir=scratch_folder())
        for entry in installed.iterdir():
            Path(home, entry.name).symlink_to(entry)


@contextlib.contextmanager
def started(conf: Mapping[str, str], log: Path) -> Iterator[SparkSession]:
    """A session in this process's JVM, or in a new one that prints to `log`."""
    with log.open("ab") as sink, contextlib.ExitStack() as cleanup:
        try:
            spark_conf, gateway = SparkConf().setAll(list(conf.items())), None
            if SparkContext._gateway is None:  # given `sink` itself, as our own progress bar may be using the terminal
                gateway = launch_gateway(spark_conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=spark_conf, gateway=gateway)
            cleanup.callback(context.stop)
            # If the JVM hangs up first, this server would print a traceback.
            context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
            session = SparkSession(context)
            cleanup.callback(stop, session)
        except (Py4JError, PySparkException, OSError):
            kind = Misuse if conf["spark.master"].startswith("local") else TransportDown
            raise kind(f"Spark did not start on {conf['spark.master']}: its log {log} says why.") from None
        yield session


def stop(session: SparkSession) -> None:
    try:
        session.stop()
    except (Py4JError, OSError):  # the JVM died under us: let the next session start another
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SparkContext._gateway = SparkContext._jvm = None


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Afterwards the environment is as before, and so are the module path and Ctrl-C, which Spark takes for good."""
    before = {name: os.environ[name] for name in TOUCHED if name in os.environ}
    on_interrupt = signal.getsignal(signal.SIGINT)
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    for logger in loggers:
        logger.disabled = True  # they print to the terminal, as JSON, what the exception says too
    try:
        yield
    finally:
        for name in TOUCHED:
            os.environ.pop(name, None)
        os.environ.update(before)
        sys.path[:] = [entry for entry in sys.path if "userFiles-" not in entry]  # what Spark calls a session's own
        with contextlib.suppress(ValueError, TypeError):  # not in the main thread; not a handler of Python's
            signal.signal(signal.SIGINT, on_interrupt)
        for logger in loggers:
            logger.disabled = False


@functools.cache
def scratch_folder() -> Path:
    """For what the JVM needs: removed when this process ends, unless a block failed and the log may say why."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-spark-"))
    atexit.register(remove, folder)
    return folder


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def zip_package(package: Path, folder: Path) -> Path:
    """The package with its data, importable by executors: one installed in development mode exists only here."""
    target = folder / f"{package.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in [package, *sorted(package.rglob("*"))]:  # folders too: zipimport wants entries for them
            if "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(package.parent))
    return target
