"""Clocks of hosts compared, so that times of different nodes can be: nodes of one host share a monotonic clock and are
set right exactly; between hosts the offset is estimated from the quickest copies in both directions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.core.trace import Head
from gossamer.pipeline.audit_lives import EVENT, is_kind

Life = tuple[str, int, int]
"Run, node, incarnation."


class Delay(NamedTuple):
    """The quickest copy from one host to another, by their own clocks."""

    run: str
    here: str
    there: str
    least_us: int


def align_within_hosts(heads: Iterable[Head]) -> dict[Life, int]:
    """What to add to the times of each life so that all of one host agree with its first."""
    firsts: dict[tuple[str, str], int] = {}
    shifts: dict[Life, int] = {}
    for head in sorted(heads, key=lambda head: (head.incarnation, head.node)):
        if head.host and head.offset_us is not None:
            first = firsts.setdefault((head.run, head.host), head.offset_us)
            shifts[head.run, head.node, head.incarnation] = first - head.offset_us
    return shifts


def find_least_delays(rows: DataFrame) -> DataFrame:
    """One row per pair of hosts that exchanged copies: the least time from `send` to `receive`. Copies sent twice on
    the same way are left out, since nobody can tell which of them arrived."""
    way = ["run", *EVENT, "sender", "receiver"]
    sent = rows.where(is_kind("send")).withColumnsRenamed({"node": "sender", "peer": "receiver"})
    got = rows.where(is_kind("receive")).withColumnsRenamed({"node": "receiver", "peer": "sender"})
    once = [
        side.where("publisher is not null")
        .groupBy(*way)
        .agg(F.min("at_us").alias(f"{name}_us"), F.min("host").alias(name), F.count("*").alias("copies"))
        .where("copies = 1")
        .drop("copies")
        for name, side in (("here", sent), ("there", got))
    ]
    return (
        once[0]
        .join(once[1], way)
        .where("here != there")
        .groupBy("run", "here", "there")
        .agg(F.min(F.col("there_us") - F.col("here_us")).alias("least_us"))
    )


def estimate_offsets(hosts: Mapping[str, int], delays: Sequence[Delay]) -> dict[str, int]:
    """What to add to the times of each host of one run: 0 for the first, which has most nodes; a host no chain of hosts
    with copies both ways leads to is not in the answer. The shortest ways there and back count first: they leave least
    room for error."""
    least = {(delay.here, delay.there): delay.least_us for delay in delays}
    both = sorted(
        (out + least[there, here], here, there) for (here, there), out in least.items() if (there, here) in least
    )
    known = {max(sorted(hosts), key=lambda host: hosts[host]): 0}
    while step := next(((here, there) for _, here, there in both if here in known and there not in known), None):
        here, there = step
        known[there] = known[here] - (least[here, there] - least[there, here]) // 2
    return known


def shift_between_hosts(heads: Sequence[Head], delays: Sequence[Delay]) -> tuple[dict[Life, int], int]:
    """What to add to the times of each life to have those of its run's first host, and for how many hosts that is not
    known."""
    shifts: dict[Life, int] = {}
    unknown = 0
    for run in sorted({head.run for head in heads}):
        of_run = [head for head in heads if head.run == run]
        hosts = Counter(head.host for head in of_run)
        offsets = estimate_offsets(hosts, [delay for delay in delays if delay.run == run])
        unknown += len(hosts) - len(offsets)
        shifts |= {(run, head.node, head.incarnation): offsets.get(head.host, 0) for head in of_run}
    return shifts, unknown


def shift_times(rows: DataFrame, shifts: Mapping[Life, int], *times: str) -> DataFrame:
    """The same rows by corrected clocks; `times` are the columns that tell one, if it is not `at_us`."""
    moved = [(*life, by) for life, by in shifts.items() if by]
    if not moved:
        return rows
    table = rows.sparkSession.createDataFrame(moved, "run string, node long, life long, shift_us long")
    corrected = {time: F.col(time) + F.coalesce("shift_us", F.lit(0)) for time in times or ["at_us"]}
    joined = rows.join(F.broadcast(table), ["run", "node", "life"], "left")
    return joined.withColumns(corrected).drop("shift_us")
