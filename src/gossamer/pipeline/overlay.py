"""From a table of subscriptions to an overlay and all that is to be said of it.

Spark reads, checks and numbers the pairs, and takes stock of what was built; the links themselves are chosen by the
kernel, in this process, which must have room for them.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.core.errors import Misuse
from gossamer.fast import measures
from gossamer.fast.spidercast import build
from gossamer.pipeline import overlay_tables as tables
from gossamer.pipeline.desk import Desk, in_one_task
from gossamer.pipeline.folders import make_folder
from gossamer.pipeline.overlay_summary import Aside, SetAside, Summary, summed_up, write_summary
from gossamer.pipeline.subscriptions import Sorted, Table, sort_rows
from gossamer.pipeline.traces import as_it_is
from gossamer.pipeline.workloads import generate_pairs
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params

Say = Callable[[str], None]

STEPS = ("reading", "checking", "numbering", "building", "links", "degrees", "components", "distances", "report")
"What is going on, in order, as it says itself."
FULL_UP_TO = 10_000
"Nodes. Where there are more and nothing else was asked for, each knows PARTIAL others."
PARTIAL = 500
BYTES_FOR_ONE_TASK = 1 << 20
PAIRS_FOR_ONE_TASK = 100_000
"Tables up to this size are not worth being spread over several tasks."
FIRST = 5
"Rows set aside that are named in the summary."
WRITTEN = ("subscriptions.parquet", "quarantine", "links.parquet", "degrees.parquet", ".halfway")
"What is made anew each time."


def check_out(out: Path, source: Path | None) -> None:
    """Makes the folder, unless its results would overwrite what they are made from."""
    if out.exists() and not out.is_dir():
        raise Misuse(f"--out {out} is a file: name a folder")
    for name in WRITTEN:
        if source and (out / name).resolve() in (source.resolve(), *source.resolve().parents):
            raise Misuse(f"{source} would be overwritten by its own results: name another folder with --out")
    make_folder(out)


class Numbered(NamedTuple):
    """A table in numbers, and the names they stand for."""

    nodes: DataFrame
    topics: DataFrame
    pairs: DataFrame
    interests: InterestArrays
    node_names: Any
    "By number."


def overlay_from_table(
    spark: SparkSession, table: Table, out: Path, asked: Mapping[str, Any], seed: int, say: Say = lambda step: None
) -> Summary:
    """Builds the overlay of a table's pairs and writes all there is about it to `out`."""
    small = table.bytes <= BYTES_FOR_ONE_TASK
    spark = in_one_task(spark) if small else spark
    with Desk(out / ".halfway", small) as desk:
        say("reading")
        rows = sort_rows(spark, table, desk)
        say("checking")
        aside = set_aside(rows, out)
        say("numbering")
        numbered = number(rows.good, desk)
        if not numbered:
            raise Misuse(nothing_left(table, out, aside.counts))
        return overlay_from_numbers(numbered, aside, desk, out, asked, seed, say)


def overlay_from_workload(
    spark: SparkSession,
    workload: Workload,
    out: Path,
    asked: Mapping[str, Any],
    seed: int,
    say: Say = lambda step: None,
) -> Summary:
    """The same for pairs that Spark draws first; they are kept as `subscriptions.parquet`."""
    small = workload.nodes * workload.subscriptions[1] <= PAIRS_FOR_ONE_TASK
    spark = in_one_task(spark) if small else spark
    with Desk(out / ".halfway", small) as desk:
        say("reading")
        kept = out / "subscriptions.parquet"
        generate_pairs(spark, workload, seed).write.mode("overwrite").parquet(str(kept))
        pairs = spark.read.schema("node long, topic int").parquet(as_it_is(kept))
        shutil.rmtree(out / "quarantine", ignore_errors=True)
        say("numbering")
        numbered = number(pairs.select(*(F.col(name).cast("string") for name in ("node", "topic"))), desk)
        if not numbered:
            raise Misuse("nobody wants anything: let subscriptions be more than 0")
        return overlay_from_numbers(numbered, Aside({}, [], 0), desk, out, asked, seed, say)


def set_aside(rows: Sorted, out: Path) -> Aside:
    """Bad rows go to `quarantine`, as Parquet; what is to be said of them."""
    folder = out / "quarantine"
    shutil.rmtree(folder, ignore_errors=True)
    counts = {row["reason"]: row["count"] for row in rows.bad.groupBy("reason").count().orderBy("reason").collect()}
    if not counts:
        return Aside({}, [], 0)
    rows.bad.orderBy("file", "row").write.parquet(str(folder))
    first = rows.bad.orderBy("file", "row").limit(FIRST).collect()
    examples = [SetAside(*(row[name] for name in SetAside.__struct_fields__)) for row in first]
    lost = rows.bad.where("node is not null").select("node").distinct()
    return Aside(counts, examples, lost.join(rows.good, "node", "left_anti").count())


def nothing_left(table: Table, out: Path, counts: dict[str, int]) -> str:
    if not counts:
        return f"{table.path} has no rows: it needs one (node, topic) for each subscription"
    reasons = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
    return f"no row of {table.path} says a node and a topic ({reasons}): see {out / 'quarantine'}"


def overlay_from_numbers(
    numbered: Numbered, aside: Aside, desk: Desk, out: Path, asked: Mapping[str, Any], seed: int, say: Say
) -> Summary:
    spark = numbered.pairs.sparkSession
    say("building")
    params = fitting(asked, numbered.interests.nodes)
    threads = 1 if numbered.interests.nodes <= FULL_UP_TO else os.cpu_count() or 1
    overlay = build(OverlaySetting(interests=numbered.interests, params=params), seed, threads)
    say("links")
    graphs = write_links(numbered, overlay, desk, out)
    links = spark.read.parquet(as_it_is(desk.folder / "ends.parquet"))
    say("degrees")
    degrees = write_degrees(numbered, links, desk, out)
    say("components")
    tasks = 1 if desk.one_task else spark.sparkContext.defaultParallelism
    by_topic = tables.components_of_topics(numbered.pairs, links, tasks)
    by_topic = desk.settle(by_topic, "components")
    say("distances")
    explored = measures.explore(graphs)
    write_topics(spark, numbered.topics, by_topic, explored, desk, out)
    summary = summed_up(numbered.interests, overlay, degrees, by_topic, graphs, explored, aside, params, seed)
    write_summary(out, summary)
    say("report")
    return summary


def number(good: DataFrame, desk: Desk) -> Numbered | None:
    """None: there is no pair at all."""
    whole = good.agg(*(F.bool_and(F.col(name).rlike(tables.WHOLE)) for name in ("node", "topic"))).collect()[0]
    if whole[0] is None:
        return None
    nodes, node_names = tables.number_names(good.select(F.col("node").alias("name")), whole[0], desk, "nodes")
    topics, names = tables.number_names(good.select(F.col("topic").alias("name")), whole[1], desk, "topics")
    pairs = desk.settle(tables.number_pairs(good, nodes, topics), "pairs")
    settled = desk.read_settled("pairs")
    keys = np.sort(settled["node"].to_numpy() * len(names) + settled["topic"].to_numpy())
    starts = np.concatenate([[0], np.cumsum(np.bincount(keys // len(names)))])
    interests = InterestArrays(starts, (keys % len(names)).astype(np.int32), len(names))
    return Numbered(nodes, topics, pairs, interests, node_names)


def fitting(asked: Mapping[str, Any], nodes: int) -> Params:
    """What was asked for, and the rest as it fits: views of everybody cost the square of their number, so many nodes
    know a part each, and where views are partial, topics have homes at which those meet who do not know each other."""
    view = asked.get("view", "full" if nodes <= FULL_UP_TO else PARTIAL)
    covers = asked.get("selection", "coverage") == "coverage"
    return Params(**{"rendezvous": view != "full" and covers, **asked, "view": view})


def write_links(numbered: Numbered, overlay: Overlay, desk: Desk, out: Path) -> measures.Graphs:
    """links.parquet: both names, which task keeps it, and how many topics it serves. And by number, for Spark."""
    interests, links = numbered.interests, overlay.links
    graphs = measures.topic_graphs(interests.starts, interests.topics, interests.topic_count, links)
    node, neighbour = (pa.DictionaryArray.from_arrays(pa.array(links[:, i]), numbered.node_names) for i in (0, 1))
    words = pa.array([tables.KINDS[kind] for kind in sorted(tables.KINDS)])
    kinds = pa.DictionaryArray.from_arrays(pa.array(overlay.kinds.astype(np.int8) - 1), words)
    named = {"node": node, "neighbour": neighbour, "kind": kinds, "topics": pa.array(graphs.shared)}
    write_parquet(out / "links.parquet", named)
    numbers = {
        "u": links[:, 0].astype(np.int64),
        "v": links[:, 1].astype(np.int64),
        "kind": overlay.kinds.astype(np.int32),
    }
    write_parquet(desk.folder / "ends.parquet", numbers)
    return graphs


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    draft = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns), draft, compression="zstd")
    draft.replace(path)


def write_degrees(numbered: Numbered, links: DataFrame, desk: Desk, out: Path) -> tables.Degrees:
    """degrees.parquet, a row per node, and what is drawn of it."""
    made = tables.degrees_of_nodes(numbered.nodes, numbered.pairs, links).orderBy("id").drop("id")
    made.write.mode("overwrite").parquet(str(out / "degrees.parquet"))
    degrees = made.sparkSession.read.schema(made.schema).parquet(as_it_is(out / "degrees.parquet"))
    desk.write_table(out, "degree_histogram", tables.degree_histogram(degrees), ["degree"])
    desk.write_table(out, "degree_by_topics", tables.degree_by_topics(degrees), ["topics"])
    return tables.degree_statistics(degrees)


def write_topics(
    spark: SparkSession, topics: DataFrame, by_topic: DataFrame, explored: measures.Explored, desk: Desk, out: Path
) -> None:
    """components: a row per topic, partitioned ones first, then by subscribers."""
    found = {
        "id": np.arange(len(explored.diameters), dtype=np.int64),
        "diameter": explored.diameters.astype(np.int64),
        "exact": explored.exact,
    }
    write_parquet(desk.folder / "diameters.parquet", found)
    diameters = spark.read.parquet(as_it_is(desk.folder / "diameters.parquet"))
    joined = by_topic.withColumnRenamed("topic", "id").join(diameters, "id").join(topics, "id")
    columns = ["topic", "subscribers", "links", "components", "largest", "diameter", "exact"]
    table = joined.withColumnRenamed("name", "topic").select(*columns)
    split = F.col("components") > 1
    desk.write_table(out, "components", table, [split.desc(), F.col("subscribers").desc(), F.col("topic")])
