"""The audit of a network that still runs: what has come is judged as soon as nothing more is to be expected of it.

A batch adds rows. Events stay open until their runs' nodes were heard, or given up, beyond their last row and
GRACE_US; then they are closed: the audit's own frames judge them, once, together, as a slice, and what comes of that is
added to the totals. So a batch costs what is open, and not what was. Whatever comes later and would have the audit say
something else of closed events (a late row, a node that was given up and speaks again, a publisher that comes back)
opens their slices again: their share is taken off the totals, and they are judged anew with the rest.

There is one set of rules, and it is `pipeline/audit_….py`. Judging is a join of events with spells of interest; a
state per key, as `transformWithState` keeps it, would have to write all of that a second time.
"""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.core.trace import Head
from gossamer.pipeline.audit import ROWS_FOR_ONE_TASK, Unlock, session_for
from gossamer.pipeline.audit_clocks import align_within_hosts, shift_times
from gossamer.pipeline.audit_lives import GRACE_US, is_kind, keep_standing, list_lives, merge_sums, sum_rows
from gossamer.pipeline.audit_pairs import KEY
from gossamer.pipeline.audit_told import each_once, number_parts
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.follow_alerts import alerts_of, write_alerts
from gossamer.pipeline.follow_lives import closing_times, life_as_converted, read_lives, take_spans
from gossamer.pipeline.follow_memory import LifeRead, Memory, Store
from gossamer.pipeline.follow_slices import Slice, later
from gossamer.pipeline.follow_source import HEAD, MORE, PROBLEM, SIGNS
from gossamer.pipeline.follow_totals import Totals
from gossamer.pipeline.traces import SCHEMA, as_it_is

STANDING, OPEN, SUMS = "standing", "open", "sums"
PART = pa.schema([*SCHEMA, pa.field("part", pa.int32(), nullable=False)])
PROBLEMS_MAX = 20


class Following:
    """Takes batches, one after the other. `heard` is called after each."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        out: Path,
        deadline_us: int,
        unlock: Unlock | None = None,
        heard: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.spark, self.store, self.out, self.deadline_us = spark, store, out, deadline_us
        self.unlock, self.heard, self.clock = unlock, heard, clock
        self.heads = store.heads(store.latest().batch + 1)
        self.moved_at: dict[str, float] = defaultdict(clock)
        "When rows of a run came last, by our own clock."

    def take(self, batch: DataFrame, number: int) -> None:
        """A batch of Spark's. It may come again, after a crash, with the same rows: then it is done already, or is done
        from where the one before it ended. One that changes nothing leaves nothing."""
        done = self.store.latest()
        if number > done.batch:
            self.store.clear(done)
            batch.write.parquet(str(self.store.new))
            runs = pq.read_table(self.store.new, columns=["run"])["run"]
            for run in runs.unique().to_pylist():
                self.moved_at[run] = self.clock()
            if len(runs) or self.quiet(done) != {*done.quiet}:
                Step(self, done, number).run(len(runs))
        self.heard()

    def quiet(self, memory: Memory) -> set[str]:
        """Runs of which nobody has said anything for as long as one node may take."""
        runs = {life.run for life in memory.lives}
        return {run for run in runs if (self.clock() - self.moved_at[run]) * 1e6 >= self.deadline_us}


class Step:
    """One batch."""

    def __init__(self, following: Following, before: Memory, number: int) -> None:
        self.of, self.store, self.number = following, following.store, number
        self.before, self.state = before, following.store.state(number)
        self.after = replace(before, batch=number, retired=[])
        self.lives = {life.life: life for life in before.lives}

    def run(self, new_rows: int) -> None:
        held = new_rows + self.before.open_rows
        self.read_signs()
        self.spark = session_for(self.of.spark, held)
        self.desk = Desk(self.store.work, held <= ROWS_FOR_ONE_TASK)
        self.kept = Desk(self.state, self.desk.one_task)
        with self.desk:
            self.take_rows()
            self.judge()
        self.after.lives = list(self.lives.values())
        self.store.keep(self.after)

    # -- what came ----------------------------------------------------------------------------------------------

    def read_signs(self) -> None:
        """What the batch says of segments, rather than of nodes."""
        columns = ["run", "node", "life", "kind", "bytes", "detail"]
        told = pq.read_table(self.store.new, columns=columns, filters=[("kind", "in", SIGNS)]).to_pylist()
        heads = [msgspec.json.decode(row["detail"], type=Head) for row in told if row["kind"] == HEAD]
        for head in heads:
            life = (head.run, head.node, head.incarnation)
            known = self.lives.get(life) or LifeRead(*life)
            self.lives[life] = replace(known, host=head.host, offset_us=head.offset_us)
        for row in told:
            life = (row["run"], row["node"], row["life"])
            if row["kind"] == MORE and life in self.lives:
                self.lives[life] = replace(self.lives[life], more=bool(row["bytes"]))
        found = [row["detail"] for row in told if row["kind"] == PROBLEM]
        self.after.problems = [*dict.fromkeys([*self.before.problems, *found])][:PROBLEMS_MAX]
        self.store.keep_heads(self.number, heads)
        self.of.heads += heads

    def take_rows(self) -> None:
        """Each row once; what it says of its life goes to the sums, of who wants what to what stands, and of events to
        those that are open."""
        new = self.read(self.store.new, SCHEMA).where(~is_kind(*SIGNS))
        once = self.desk.settle(each_once(new), "once")
        rows, self.first_us = take_spans(self.desk, once, self.lives)
        fresh = number_parts(rows, [life_as_converted(life) for life in self.lives.values() if len(life.starts) > 1])
        fresh = self.desk.settle(fresh.withColumn("part", F.col("part").cast("int")), "fresh")
        self.fresh = fresh.where(" and ".join(f"{name} is not null" for name in KEY))
        self.shifts = align_within_hosts(life.head() for life in self.lives.values())
        sums = sum_rows(fresh)
        if self.before.batch >= 0:
            sums = merge_sums(self.read_state(SUMS, sums).unionByName(sums))
            fresh = self.read_state(STANDING, fresh).unionByName(fresh)
        self.sums = self.shifted(self.kept.settle(sums, SUMS), "first_us", "last_us")
        self.standing = self.shifted(self.kept.settle(keep_standing(fresh), STANDING))

    # -- what is over -------------------------------------------------------------------------------------------

    def judge(self) -> None:
        lives = self.desk.settle(list_lives(self.sums), "alive")
        self.alive = read_lives(self.desk, "alive")
        self.after.quiet = sorted(quiet := self.of.quiet(self.before))
        reading = {life for life, read in self.lives.items() if read.more}
        until = closing_times(self.alive, self.of.deadline_us, reading, quiet)
        self.after.silent, self.after.behind = self.alive.silent(until, self.of.deadline_us), self.alive.behind(reading)
        self.after.going_on = self.alive.going_on - len(self.after.silent)
        self.after.retired = self.find_retired()
        open_before = [self.store.slice(batch) / "rows" for batch in self.after.retired]
        if self.before.batch >= 0:
            open_before.append(self.store.state(self.before.batch) / OPEN)
        rows = self.read(open_before, PART).unionByName(self.fresh) if open_before else self.fresh
        closing = self.desk.settle(self.find_closing(rows, until), "closing")
        over = self.desk.read_settled("closing")
        self.kept.settle(rows.join(closing, [*KEY], "left_anti").select(rows.columns), OPEN)
        self.count_open()
        made = Slice(self, lives, rows, over) if len(over) else None
        if made:
            made.settle(closing)
        self.after.closed_until = later(self.before.closed_until, over)
        Totals(self.store).turn(self.desk, self.spark, self.before, self.after, made is not None)
        alerts = alerts_of(self.store, self.before, self.after, self.alive.names)
        write_alerts(self.of.out, self.number, alerts)

    def find_closing(self, rows: DataFrame, until: dict[str, int]) -> DataFrame:
        table = pa.table({"run": [*until], "until_us": pa.array(until.values(), pa.int64())})
        times = F.broadcast(self.spark.createDataFrame(table))
        last = self.shifted(rows).groupBy(*KEY).agg(F.max("at_us").alias("last_us"))
        return last.join(times, "run").where(F.col("last_us") + GRACE_US <= F.col("until_us")).drop("until_us")

    def find_retired(self) -> list[int]:
        """Slices of which something must be said anew."""
        since = self.changed_since()
        back = {(run, node) for run, node, _ in self.lives.keys() - {life.life for life in self.before.lives}}
        back &= {*self.before.unpromised}
        late, self.after.asked = self.find_late(), sorted(asked := self.find_asked())
        if asked != {*self.before.asked}:  # rare, and about all events of a topic, in all runs
            return [batch for batch, _ in self.store.slices(self.before.batch)]
        if not (back or late or any(at <= self.before.closed_until.get(run, -1) for run, at in since.items())):
            return []
        return [
            batch
            for batch, about in self.store.slices(self.before.batch)
            if any(
                about.last_us[run] + GRACE_US >= since.get(run, about.last_us[run] + GRACE_US + 1)
                for run in about.last_us
            )
            or back.intersection(about.unpromised)
            or any(about.holds(*event) for event in late)
        ]

    def find_asked(self) -> set[str]:
        standing = pq.read_table(self.state / STANDING, columns=["kind", "topic", "detail"])
        asking = (pc.field("kind") == "subscribe") & pc.field("detail").is_valid()
        return {*standing.filter(asking)["topic"].to_pylist()} - {None}

    def changed_since(self) -> dict[str, int]:
        """From when on lives of a run may be other than they were: the first new row of one, or where it seemed to have
        ended; or always, if clocks turn out to be set otherwise."""
        before = {life.life: life for life in self.before.lives}
        shifted = align_within_hosts(life.head() for life in self.before.lives)
        found: dict[str, int] = {}
        for life, first_us in self.first_us.items():
            at = first_us + self.shifts.get(life, 0)
            if life in before:
                at = min(at, before[life].last_us + self.shifts.get(life, 0))
            found[life[0]] = min(at, found.get(life[0], at))
        for life, shift in shifted.items():
            if shift != self.shifts[life]:
                found[life[0]] = 0
        return found

    def find_late(self) -> list[tuple[str, int, int, int]]:
        """Events that are not open, and that rows came of all the same."""
        tops = {each[:3]: each[3] for each in self.before.tops}
        if not tops:
            return []
        stream = ("run", "publisher", "incarnation")
        low = self.fresh.groupBy(*stream).agg(F.min("sequence").alias("low")).collect()
        if not any(row["low"] <= tops.get((row["run"], row["publisher"], row["incarnation"]), -1) for row in low):
            return []
        events = self.fresh.select(*KEY).distinct()
        still = self.read(self.store.state(self.before.batch) / OPEN, PART).select(*KEY).distinct()
        found = [tuple(row) for row in events.join(still, [*KEY], "left_anti").collect()]
        return [event for event in found if event[3] <= tops.get(event[:3], -1)]

    def count_open(self) -> None:
        table = pq.read_table(self.state / OPEN, columns=[*KEY])
        self.after.open_rows = len(table)
        self.after.open_events = len(table.group_by([*KEY]).aggregate([]))

    # -- frames -------------------------------------------------------------------------------------------------

    def read(self, places: Path | list[Path], schema: pa.Schema) -> DataFrame:
        paths = [as_it_is(place) for place in (places if isinstance(places, list) else [places])]
        found = self.spark.read.schema(from_arrow_schema(schema)).parquet(*paths)
        return found.coalesce(1) if self.desk.one_task else found

    def read_state(self, name: str, like: DataFrame) -> DataFrame:
        found = self.spark.read.schema(like.schema).parquet(as_it_is(self.store.state(self.before.batch) / name))
        return found.coalesce(1) if self.desk.one_task else found

    def shifted(self, rows: DataFrame, *times: str) -> DataFrame:
        return shift_times(rows, self.shifts, *times)
