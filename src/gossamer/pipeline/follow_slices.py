"""The events that a batch closes, judged by the audit's frames: their rows, and what the audit's tables say of them."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.pipeline import audit_tables as tables
from gossamer.pipeline.audit import make_frames
from gossamer.pipeline.audit_arrivals import list_parasites
from gossamer.pipeline.audit_lives import GRACE_US
from gossamer.pipeline.audit_pairs import KEY, locate_missing
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.follow_memory import About

if TYPE_CHECKING:
    from gossamer.pipeline.follow import Step


class Slice:
    """The events a batch closes."""

    def __init__(self, step: "Step", lives: DataFrame, rows: DataFrame, over: pa.Table) -> None:
        self.step, self.lives, self.rows, self.over = step, lives, rows, over
        self.folder = step.store.slice(step.number)

    def settle(self, closing: DataFrame) -> None:
        step, keep = self.step, Desk(self.folder, self.step.desk.one_task)
        rows = keep.settle(self.rows.join(closing, [*KEY], "left_semi").select(self.rows.columns), "rows")
        told = step.shifted(rows)
        opener = None if step.of.unlock is None else step.of.unlock(step.of.heads)
        frames = make_frames(step.desk, told, lambda _: None, opener, step.sums, step.standing)
        of_events = keep.settle(tables.by_event(frames.judged), "events")
        took = step.desk.settle(tables.count_deliveries(frames.judged), "took")
        received = step.desk.settle(tables.by_receiver(frames.arrivals), "received")
        full = self.lives.groupBy("run").agg(F.bool_and("full").alias("full"))
        sends = tables.sum_sends(told, frames.events)
        keep.settle(tables.by_topic(of_events, took, received, sends, full), "topics")
        keep.settle(
            took.groupBy("run", "topic", "us").agg(F.sum("count").alias("count")).where("us is not null"), "took"
        )
        keep.settle(locate_missing(frames.judged, told), "missing")
        keep.settle(list_parasites(frames.arrivals), "parasites")
        keep.settle(tables.repeated_deliveries(frames.judged), "duplicates")
        step.after.odd_filters = frames.odd_filters
        self.describe()

    def describe(self) -> None:
        step, stream = self.step, ["run", "publisher", "incarnation"]
        ends = self.over.group_by(stream).aggregate([("sequence", "min"), ("sequence", "max")]).to_pylist()
        ranges = [(*(row[name] for name in stream), row["sequence_min"], row["sequence_max"]) for row in ends]
        last = self.over.group_by("run").aggregate([("last_us", "max")]).to_pylist()
        events = pq.read_table(self.folder / "events", columns=["run", "publisher", "promised"])
        unpromised = events.filter(pc.invert(events["promised"])).group_by(["run", "publisher"]).aggregate([])
        lost = [(row["run"], row["publisher"]) for row in unpromised.to_pylist()]
        step.store.keep_about(step.number, About({row["run"]: row["last_us_max"] for row in last}, ranges, lost))
        tops: dict[Any, int] = {each[:3]: each[3] for each in step.before.tops}
        for *who, _, top in ranges:
            tops[tuple(who)] = max(top, tops.get(tuple(who), top))
        step.after.tops = [(*who, top) for who, top in tops.items()]
        step.after.unpromised = [*{*step.before.unpromised, *lost}]


def later(before: dict[str, int], over: pa.Table) -> dict[str, int]:
    """Until when something closed has happened, and what may still have to do with it."""
    last = over.group_by("run").aggregate([("last_us", "max")]).to_pylist()
    found = {row["run"]: row["last_us_max"] + GRACE_US for row in last}
    return before | {run: max(at, before.get(run, at)) for run, at in found.items()}
