"""From the audit's frames to one row per event and community: the same numbers that a simulated trial leaves."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.services.network import Told
from gossamer.pipeline.audit import Frames, make_frames, set_clocks
from gossamer.pipeline.audit_case import opened
from gossamer.pipeline.audit_lives import is_kind
from gossamer.pipeline.audit_pairs import KEY
from gossamer.pipeline.audit_told import read_told
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.traces import convert_segments


class Row(Struct, frozen=True):
    """One event in one community."""

    side: str
    "`live` or `simulated`."
    service: str
    network: str
    climb: float
    event: str
    community: str
    members: int
    reached: int
    copies: int
    "That came to its members."
    useful: int
    sent_up: int
    "By its members, to those above."
    hops_last: int | None
    "Of the last first copy; nothing where none came."


def count(spark: SparkSession, traces: Path, audited: Path, told: Iterable[Told]) -> list[Row]:
    """What the traces say of the events that were to be measured."""
    service = {each.plan.name: each.plan.service for each in told}
    climb = {(e.run, e.publisher, e.incarnation, e.sequence): e.climb for each in told for e in each.published}
    store = audited / "rows"
    with opened(traces, audited) as case, Desk(audited / ".counting", one_task=False) as desk:
        converted = convert_segments(spark, case.found, store)
        rows = read_told(desk, spark, case.found, converted, store)
        rows, _ = set_clocks(desk, rows, [each.head for each in converted if each.head])
        table = by_event_and_community(make_frames(desk, rows, lambda step: None)).collect()
    return [
        Row("live", service[row["run"]], row["run"], climb[event], "-".join(map(str, event[1:])), row["community"],
            row["expected"], row["delivered"], row["copies"], row["useful"], row["sent_up"], row["hops_last"])
        for row in table if (event := tuple(row[name] for name in KEY)) in climb
    ]  # fmt: skip


def by_event_and_community(frames: Frames) -> DataFrame:
    """Who had each event, how many copies came, and how many its members sent up."""
    member = frames.judged.where("community is not null")
    homes = member.groupBy("run", "node").agg(F.max("community").alias("community"))
    had = member.groupBy(*KEY, "community").agg(
        F.count(F.when(F.col("expected"), True)).alias("expected"),
        F.count(F.when(F.col("delivered"), True)).alias("delivered"),
        F.max("hops").alias("hops_last"),
    )
    useful = (F.col("received") > 0) & (F.col("node") != F.col("publisher"))
    came = (
        frames.arrivals.where("community is not null")
        .groupBy(*KEY, "community")
        .agg(F.sum("received").alias("copies"), F.count(F.when(useful, True)).alias("useful"))
    )
    there = homes.withColumnsRenamed({"node": "peer", "community": "there"})
    went = (
        frames.told.where(is_kind("send"))
        .join(homes, ["run", "node"])
        .join(there, ["run", "peer"])
        .groupBy(*KEY, "community")
        .agg(F.count(F.when(F.col("there") != F.col("community"), True)).alias("sent_up"))
    )
    whole = had.join(came, [*KEY, "community"], "left").join(went, [*KEY, "community"], "left")
    return whole.fillna(0, ["copies", "useful", "sent_up"])
