"""What a node counts: plain numbers on one object, cheap enough for every message, and the page that shows them.

A counter is one line of `Metrics`: its type says what it is, its text becomes HELP. The page is Prometheus' text
format 0.0.4, written by hand: it is lines.
"""

import os
import time
import typing
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Annotated, Any

from msgspec import Struct, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
TOPICS_MAX = 100
WORDS_MAX = 64
REFUSALS = (
    *("bad handshake", "slow handshake", "too many callers", "revoked", "bad frame", "slow frame", "bad message"),
    *("bad record", "bad event", "bad proof", "forged copy", "equivocation", "unknown peer", "unknown publisher"),
    *("publisher not granted", "not granted", "not its address", "not for clients", "not for nodes", "bad revocations"),
    *("outdated record", "outdated publisher", "unknown authority", "too many records", "too many requests"),
    *("too many links", "too many clients", "too many filters", "too many refusals", "too many readers"),
    *("too many topics of a client", "too many requests of a client", "refused to a client"),
    *("replies unread", "silent client"),
)
"Why something was refused: shown from the start, so that the first one is a step up from 0."
ENDINGS = ("closed", "closing", "idle", "connection lost")
"Why a link ended, beside a refusal."
LATENCIES_US = (
    *(500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000),
    *(1_000_000, 2_500_000, 5_000_000, 10_000_000, 60_000_000),
)


class Counter(Struct, frozen=True):
    """Only ever grows; on the page its name ends in `_total`."""

    says: str
    label: str = ""


class Gauge(Struct, frozen=True):
    """Goes up and down. One kept in microseconds is shown in seconds."""

    says: str
    label: str = ""


class By(dict[str, int]):
    """Numbers by a word; words beyond `most` count as `other`."""

    def __init__(self, most: int, words: tuple[str, ...] = ()) -> None:
        super().__init__(dict.fromkeys(words, 0))
        self.most = most

    def add(self, word: str, count: int = 1) -> None:
        if word not in self and len(self) >= self.most:
            word = OTHER
        self[word] = self.get(word, 0) + count


class Histogram:
    """How many values lay below each bound, in microseconds."""

    __slots__ = ("bounds", "counts", "total_us")

    def __init__(self, bounds: tuple[int, ...] = LATENCIES_US) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total_us = 0

    def add(self, values_us: Sequence[int]) -> None:
        counts, bounds = self.counts, self.bounds
        for value_us in values_us:
            counts[bisect_left(bounds, value_us)] += 1
        self.total_us += sum(values_us)


class Metrics(Struct, kw_only=True, eq=False):
    """One node's counts. Add to them where things happen: `metrics.copies_received += 1`."""

    events_published: Annotated[int, Counter("Events of this node's own that were accepted.")] = 0
    events_delivered: Annotated[int, Counter("Events handed to this node's readers or its spool.")] = 0
    deliveries: Annotated[By, Counter("The same by topic; beyond 100 topics: other.", "topic")] = field(
        default_factory=lambda: By(TOPICS_MAX)
    )
    delivery_latency: Annotated[Histogram, Counter("From publication to delivery, by the two nodes' clocks.")] = field(
        default_factory=Histogram
    )
    clocks_apart: Annotated[int, Counter("Deliveries before their publication, by the clocks: not in latencies.")] = 0
    redelivered: Annotated[int, Counter("Events given to a durable subscription again.")] = 0
    relays: Annotated[int, Counter("Events received only to be carried on to others, as delegates do.")] = 0
    parasites: Annotated[int, Counter("Events received that nobody here asked for; must stay 0.")] = 0
    gaps: Annotated[int, Counter("Times a reader was told that events are lost to it, or missing.")] = 0
    recovered: Annotated[int, Counter("Events that were lost on the way and came again.")] = 0
    uncounted: Annotated[
        int, Counter("Times a reader's pattern was found not to be counted: no gap tells of a loss.")
    ] = 0
    uncounted_published: Annotated[int, Counter("This node's events that match more patterns than are counted.")] = 0
    subscription_behind: Annotated[
        By, Gauge("Events that wait to be acknowledged, by owner and name; beyond 100: other.", "subscription")
    ] = field(default_factory=lambda: By(TOPICS_MAX))
    inbox_spills: Annotated[int, Counter("Times a reader was too slow for memory, and read on from the spool.")] = 0

    copies_received: Annotated[int, Counter("Copies of events received, known ones included.")] = 0
    copies_known: Annotated[int, Counter("Copies of events that were known already.")] = 0
    copies_sent: Annotated[int, Counter("Copies of events sent.")] = 0
    copies_dropped: Annotated[int, Counter("Copies of events not sent because the peer's queue was full.")] = 0
    messages_received: Annotated[int, Counter("Messages received, copies of events aside.")] = 0
    messages_sent: Annotated[int, Counter("Messages sent, copies of events aside.")] = 0
    messages_dropped: Annotated[int, Counter("Messages not sent because the peer's queue was full.")] = 0
    messages_by_tag: Annotated[By, Counter("Messages received, by kind.", "tag")] = field(
        default_factory=lambda: By(WORDS_MAX)
    )
    unknown_tags: Annotated[int, Counter("Messages skipped because their kind is not known here.")] = 0
    frames_received: Annotated[int, Counter("Frames received.")] = 0
    frames_sent: Annotated[int, Counter("Frames sent.")] = 0
    bytes_received: Annotated[int, Counter("Bytes of frames received.")] = 0
    bytes_sent: Annotated[int, Counter("Bytes of frames sent.")] = 0
    refusals: Annotated[By, Counter("What others sent or asked and was refused.", "reason")] = field(
        default_factory=lambda: By(WORDS_MAX, REFUSALS)
    )

    links: Annotated[int, Gauge("Links open now, clients included.")] = 0
    clients: Annotated[int, Gauge("Clients attached now.")] = 0
    peers_known: Annotated[int, Gauge("Peers in the address book.")] = 0
    dials: Annotated[int, Counter("Calls to other nodes.")] = 0
    dial_failures: Annotated[int, Counter("Calls that did not get through.")] = 0
    links_closed: Annotated[By, Counter("Links that ended.", "reason")] = field(
        default_factory=lambda: By(WORDS_MAX, ENDINGS)
    )
    revocations: Annotated[int, Gauge("Version of the list of revoked keys; 0: none.")] = 0

    overlay_neighbours: Annotated[int, Gauge("Neighbours in the overlay, with spidercast.")] = 0
    overlay_greedy: Annotated[int, Gauge("Those of them chosen for wanting many of this node's topics.")] = 0
    overlay_random: Annotated[int, Gauge("Those of them chosen by chance.")] = 0
    overlay_uncovered: Annotated[int, Gauge("This node's topics that fewer neighbours want than should.")] = 0
    view_nodes: Annotated[int, Gauge("Nodes whose interests are known here, with spidercast.")] = 0

    hierarchy_nodes: Annotated[int, Gauge("Nodes in the hierarchy, as far as this one was told, with hpmcast.")] = 0
    hierarchy_view: Annotated[int, Gauge("Those of them that stand in a view of this node.")] = 0
    hierarchy_level: Annotated[int, Gauge("The highest level on which this node stands for others; 1: for itself.")] = 0

    spool_bytes: Annotated[int, Gauge("Bytes of events in the spool.")] = 0
    spool_pending: Annotated[int, Gauge("Accepted publications that too few members have acknowledged.")] = 0
    spool_lost: Annotated[int, Counter("Delivered events the spool could not keep.")] = 0
    trace_rows_dropped: Annotated[int, Counter("Rows of the trace that could not be written.")] = 0

    failures: Annotated[int, Counter("Exceptions nobody caught, in this process; must stay 0.")] = 0
    steps: Annotated[int, Counter("Steps of the machine.")] = 0
    loop_lag_us: Annotated[int, Gauge("How late the event loop last was.")] = 0
    clock_jumps: Annotated[int, Counter("Times the wall clock was set while the node ran, or before it started.")] = 0

    def refuse(self, reason: str) -> None:
        self.refusals.add(reason)

    def closed(self, why: str) -> None:
        """A link ended. What the system says of a broken connection has too many wordings to tell apart."""
        self.links_closed.add(why if why in self.links_closed or why in self.refusals else "connection lost")

    def delivered(self, topic: str, latencies_us: Sequence[int]) -> None:
        """Events of one topic, and how long each was on its way."""
        self.events_delivered += len(latencies_us)
        self.deliveries.add(topic, len(latencies_us))
        true = [latency_us for latency_us in latencies_us if latency_us >= 0]
        self.clocks_apart += len(latencies_us) - len(true)
        self.delivery_latency.add(true)

    def page(self) -> bytes:
        """Everything, as /metrics shows it."""
        return "".join(f"{line}\n" for line in self._lines()).encode(errors="replace")

    def _lines(self) -> Iterator[str]:
        for name, kind in _kinds().items():
            yield from _family(name, kind, getattr(self, name))
        yield from _about_the_process()


@cache
def _kinds() -> dict[str, Counter | Gauge]:
    hints = typing.get_type_hints(Metrics, include_extras=True).items()
    return {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}


def _family(field: str, kind: Counter | Gauge, value: int | By | Histogram) -> Iterator[str]:
    name = f"gossamer_{field}"
    match kind, value:
        case Counter(), Histogram():
            yield from _head(f"{name}_seconds", "histogram", kind.says)
            yield from _buckets(f"{name}_seconds", value)
        case Counter(), By():
            yield from _head(f"{name}_total", "counter", kind.says)
            yield from (_sample(f"{name}_total", count, {kind.label: word}) for word, count in value.items())
        case Counter(), int():
            yield from _head(f"{name}_total", "counter", kind.says)
            yield _sample(f"{name}_total", value)
        case Gauge(), By():
            yield from _head(name, "gauge", kind.says)
            yield from (_sample(name, number, {kind.label: word}) for word, number in value.items())
        case Gauge(), int() if field.endswith("_us"):
            name = f"{name.removesuffix('_us')}_seconds"
            yield from _head(name, "gauge", kind.says)
            yield _sample(name, value / 1e6)
        case _:
            yield from _head(name, "gauge", kind.says)
            yield _sample(name, value)


def _buckets(name: str, histogram: Histogram) -> Iterator[str]:
    below = 0
    for bound, count in zip(histogram.bounds, histogram.counts):
        below += count
        yield _sample(f"{name}_bucket", below, {"le": str(bound / 1e6)})
    total = below + histogram.counts[-1]
    yield _sample(f"{name}_bucket", total, {"le": "+Inf"})
    yield _sample(f"{name}_sum", histogram.total_us / 1e6)
    yield _sample(f"{name}_count", total)


def _version() -> str:
    try:
        return version("gossamer")
    except PackageNotFoundError:
        return "unknown"


VERSION = _version()
"Looked up once: that takes files, and later there may be no descriptor left for them."


def _resident_bytes() -> int | None:
    """Memory of the process; None where the system does not tell, or cannot just now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _about_the_process() -> Iterator[str]:
    yield from _head("gossamer_build_info", "gauge", "Always 1; the labels tell what runs.")
    yield _sample("gossamer_build_info", 1, {"version": VERSION, "python": python_version()})
    yield from _head("process_cpu_seconds_total", "counter", "CPU time of the process, all its nodes together.")
    yield _sample("process_cpu_seconds_total", time.process_time())
    if (resident := _resident_bytes()) is not None:
        yield from _head("process_resident_memory_bytes", "gauge", "Memory of the process.")
        yield _sample("process_resident_memory_bytes", resident)


def _head(name: str, kind: str, says: str) -> tuple[str, str]:
    said = says.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {said}", f"# TYPE {name} {kind}"


def _sample(name: str, value: Any, labels: Mapping[str, str] | None = None) -> str:
    said = ",".join(f'{label}="{_escaped(text)}"' for label, text in (labels or {}).items())
    return f"{name}{{{said}}} {value}" if said else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
