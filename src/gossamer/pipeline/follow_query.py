"""A network followed by a streaming query: it is started here, looked at, and stopped."""

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, is_remote
from pyspark.sql.streaming.query import StreamingQuery

from gossamer import __version__
from gossamer.core.errors import Misuse, TransportDown
from gossamer.pipeline.audit import Unlock
from gossamer.pipeline.audit_verdict import Result, judge
from gossamer.pipeline.background import cause
from gossamer.pipeline.desk import in_one_task
from gossamer.pipeline.follow import Following
from gossamer.pipeline.follow_memory import Memory, Store, Trouble, write
from gossamer.pipeline.follow_source import FollowedTraces
from gossamer.pipeline.follow_totals import Totals

FOLDER = ".follow"
"Where following keeps what it needs to go on, in the folder of its results."
LOOKS = "1 second"
"How often it looks for what is new, if it is not busy."
STOP_S = 10


class Seen(Struct, frozen=True, kw_only=True):
    """The verdict so far: of events that are closed. Its words are the audit's."""

    batch: int
    result: Result
    events: int
    open: int
    "Events of which more may come: not judged yet, and in none of the other counts."
    promised: int
    expected: int
    delivered: int
    missing: int
    broken: int
    in_doubt: int
    parasites: int
    strays: int
    relays: int
    duplicates: int
    redelivered: int
    nodes: int
    lives: int
    silent: list[Trouble]
    behind: list[Trouble]
    problems: list[str]
    over: bool
    "Whether every node has stopped or is silent, and all is judged."
    topics: list[dict[str, Any]]

    @property
    def told(self) -> "Seen":
        """The same, but for what changes with every batch: two that are equal say the same."""
        return msgspec.structs.replace(self, batch=0)


SUMMED = (
    *("events", "promised", "expected", "delivered", "missing", "broken", "in_doubt", "parasites", "strays", "relays"),
    *("duplicates", "redelivered"),
)


def seen(store: Store, memory: Memory) -> Seen:
    topics = Totals(store).read(memory.batch) if memory.batch >= 0 else []
    counts = {name: sum(int(row[name]) for row in topics) for name in SUMMED}  # type: ignore[call-overload]
    result = judge(**{name: counts[name] for name in ("expected", "broken", "parasites", "duplicates")})
    return Seen(
        batch=memory.batch,
        result=result,
        **counts,
        open=memory.open_events,
        nodes=len({(life.run, life.node) for life in memory.lives}),
        lives=len(memory.lives),
        silent=memory.silent,
        behind=memory.behind,
        problems=memory.problems,
        over=bool(memory.lives) and not (memory.going_on or memory.open_events or memory.behind),
        topics=topics,
    )


class Live:
    """A network that is followed."""

    def __init__(self, store: Store, query: StreamingQuery, news: threading.Event) -> None:
        self.store, self.query, self.news = store, query, news
        self.problem: BaseException | None = None
        self._last: Seen | None = None
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()
        self.news.set()

    def look(self) -> Seen | None:
        """What there is to say now, if it is something else than the last time. Without a call to the JVM: Ctrl-C may
        come any time."""
        if self.problem is not None:
            raise TransportDown(f"Spark could not go on: {cause(str(self.problem))}") from self.problem
        if not self.news.is_set():
            return None
        self.news.clear()
        now = seen(self.store, self.store.latest())
        same = self._last is not None and self._last.told == now.told
        self._last = now
        return None if same else now

    @property
    def over(self) -> bool:
        return self._last is not None and self._last.over

    def now(self) -> Seen:
        """What there is to say, whether it was said or not."""
        return seen(self.store, self.store.latest())

    def stop(self) -> None:
        with contextlib.suppress(PySparkException, Py4JError):
            self.query.stop()
        self._waiting.join(STOP_S)

    def _wait(self) -> None:
        try:
            self.query.awaitTermination()
        except (PySparkException, Py4JError) as problem:
            self.problem = problem


@contextlib.contextmanager
def followed(
    spark: SparkSession, traces: Path, out: Path, deadline_us: int, unlock: Unlock | None = None
) -> Iterator[Live]:
    """For as long as a block. What an earlier block of the same traces has read into `out` is not read again."""
    if is_remote():
        raise Misuse("a network cannot be followed over Spark Connect: use --master local[*] or spark://host:port")
    store, news = store_for(traces, out), threading.Event()
    own = in_one_task(spark)
    own.dataSource.register(FollowedTraces)
    following = Following(own, store, out, deadline_us, unlock, news.set)
    source = own.readStream.format(FollowedTraces.name())
    options = {"traces": str(traces.absolute()), "out": str(out.absolute()), "beat_s": str(deadline_us / 4e6)}
    rows = source.options(**options).load()
    writer = rows.writeStream.foreachBatch(following.take).queryName(f"gossamer audit --follow {traces.name}")
    writer = writer.option("checkpointLocation", str(store.checkpoint)).trigger(processingTime=LOOKS)
    live = Live(store, writer.start(), news)
    try:
        yield live
    finally:
        live.stop()


def store_for(traces: Path, out: Path) -> Store:
    """What was read of other traces, or by another version, is of no use."""
    store, told = Store(out / FOLDER), msgspec.json.encode((__version__, str(traces.absolute())))
    about = store.folder / "about.json"
    if not about.exists() or about.read_bytes() != told:
        shutil.rmtree(store.folder, ignore_errors=True)
        shutil.rmtree(out / "alerts.parquet", ignore_errors=True)
        store.folder.mkdir(parents=True)
        write(about, told)
    return store
