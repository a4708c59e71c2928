"""Which rows of which lives were read, who is there, and until when all that happened is known."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gossamer.pipeline.audit_lives import is_kind
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.follow_memory import Life, LifeRead, Span, Trouble
from gossamer.pipeline.traces import Converted, Numbers

EVER = 2**62
"Later than anything."
LIFE = ["run", "node", "life"]


class Lives(NamedTuple):
    """Those there are, by corrected clocks."""

    rows: list[dict[str, Any]]

    @property
    def names(self) -> dict[tuple[str, int], str]:
        found: dict[tuple[str, int], str] = {}
        for row in self.rows:
            node = row["run"], row["node"]
            found[node] = max(row["name"], found.get(node, ""))
        return found

    def newest(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for row in self.rows:
            found[row["run"]] = max(row["ended_us"], found.get(row["run"], 0))
        return found

    def silent(self, until: Mapping[str, int], deadline_us: int) -> list[Trouble]:
        """Nodes that were given up."""
        newest = self.newest()
        return sorted(
            Trouble(row["run"], row["name"], row["ended_us"])
            for row in self.rows
            if row["ended"] == "silent"
            and not row["returned"]
            and (row["ended_us"] < newest[row["run"]] - deadline_us or until[row["run"]] == EVER)
        )

    @property
    def going_on(self) -> int:
        """How many have not ended."""
        return sum(row["ended"] == "silent" and not row["returned"] for row in self.rows)

    def behind(self, reading: set[Life]) -> list[Trouble]:
        """Nodes that have written more than we have read."""
        return sorted(Trouble(row["run"], row["name"], row["ended_us"]) for row in self.rows if life_of(row) in reading)


def read_lives(desk: Desk, name: str) -> Lives:
    return Lives(desk.read_settled(name).to_pylist())


def life_of(row: Mapping[str, Any]) -> Life:
    return row["run"], row["node"], row["life"]


def closing_times(lives: Lives, deadline_us: int, reading: set[Life], quiet: set[str]) -> dict[str, int]:
    """Until when all is known, in each run. A node that was not heard for `deadline_us` while others were is given up;
    one that has written more than we have read is waited for; where all have stopped, or nobody says anything any
    more, nothing is to come."""
    until = {run: at - deadline_us for run, at in lives.newest().items()}
    going_on = {row["run"] for row in lives.rows if row["ended"] == "silent" and not row["returned"]}
    for run in until:
        if run not in going_on or run in quiet:
            until[run] = EVER
    for row in lives.rows:
        if life_of(row) in reading:
            until[row["run"]] = min(row["ended_us"], until[row["run"]])
    return until


def take_spans(desk: Desk, once: DataFrame, lives: dict[Life, LifeRead]) -> tuple[DataFrame, dict[Life, int]]:
    """The rows that were not read before, and when the first of them happened in each life. What was read is noted."""
    order = Window.partitionBy(*LIFE).orderBy("seq")
    islands = once.withColumn("island", F.col("seq") - F.row_number().over(order)).groupBy(*LIFE, "island")
    told = islands.agg(
        F.min("seq").alias("first"),
        F.max("seq").alias("last"),
        F.min("at_us").alias("first_us"),
        F.max("at_us").alias("last_us"),
        F.collect_list(F.when(is_kind("start"), F.col("seq"))).alias("starts"),
    )
    desk.settle(told, "islands")
    rows, known, first_us = desk.read_settled("islands").to_pylist(), list[tuple[Any, ...]](), dict[Life, int]()
    by_life: dict[Life, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_life[life_of(row)].append(row)
    for life, found in by_life.items():
        before = lives.get(life) or LifeRead(*life)
        new = [(row["first"], row["last"]) for row in found]
        known += [(*life, *span) for span in before.spans if any(touch(span, other) for other in new)]
        first_us[life] = min(row["first_us"] for row in found)
        lives[life] = replace(
            before,
            spans=joined([*before.spans, *new]),
            starts=sorted({*before.starts, *(seq for row in found for seq in row["starts"])}),
            last_us=max(before.last_us, *(row["last_us"] for row in found)),
        )
    return (without(once, known) if known else once), first_us


def without(rows: DataFrame, known: list[tuple[Any, ...]]) -> DataFrame:
    columns = dict(zip(("run", "node", "life", "first", "last"), zip(*known, strict=True), strict=True))
    spans = F.broadcast(rows.sparkSession.createDataFrame(pa.table({key: [*each] for key, each in columns.items()})))
    inside = F.col("seq").between(F.col("first"), F.col("last"))
    same = [rows[name] == spans[name] for name in LIFE]
    return rows.join(spans, [*same, inside], "left_anti")


def touch(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def joined(spans: list[Span]) -> list[Span]:
    found = list[Span]()
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def life_as_converted(life: LifeRead) -> Converted:
    return Converted("", head=life.head(), numbers=Numbers(starts=tuple(life.starts)))
