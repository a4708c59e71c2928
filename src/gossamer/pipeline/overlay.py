"""From a table of subscriptions to an overlay and all that is to be said of it.

Spark reads and checks the rows, or draws them; what is good of them is then in this process, which must have room for
it: here the kernel chooses the links, and what they are worth is measured.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from gossamer.core.errors import Misuse
from gossamer.fast import measures
from gossamer.fast.spidercast import build
from gossamer.lab.studies.overlay.pairs import as_numbers, gathered
from gossamer.pipeline import overlay_tables as tables
from gossamer.pipeline.desk import in_one_task
from gossamer.pipeline.overlay_summary import Aside, SetAside, Summary, summed_up, write_summary
from gossamer.pipeline.places import LocalPlace, Place, literally
from gossamer.pipeline.subscriptions import GOOD, Sorted, Table, sort_rows
from gossamer.pipeline.workloads import generate_pairs
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.params import Params

Say = Callable[[str], None]

STEPS = ("reading", "numbering", "building", "measuring", "tables", "report")
"What is going on, in order, as it says itself."
FULL_UP_TO = 10_000
"Nodes. Where there are more and nothing else was asked for, each knows PARTIAL others."
PARTIAL = 500
BYTES_FOR_ONE_TASK = 1 << 20
PAIRS_FOR_ONE_TASK = 100_000
"Tables up to this size are not worth being spread over several tasks."
FIRST = 5
"Rows set aside that are named in the summary."
HALFWAY = ".halfway"
WRITTEN = ("subscriptions.parquet", "quarantine", "links.parquet", "degrees.parquet", HALFWAY)
"What is made anew each time."


def check_out(out: Place, source: Place | None) -> None:
    """Makes the folder, unless its results would overwrite what they are made from."""
    if out.exists() and not out.is_folder():
        raise Misuse(f"--out {out} is a file: name a folder")
    for name in WRITTEN:
        if source and is_within(source, out / name):
            raise Misuse(f"{source} would be overwritten by its own results: name another folder with --out")
    out.make()


def is_within(source: Place, folder: Place) -> bool:
    if isinstance(source, LocalPlace) and isinstance(folder, LocalPlace):
        there, above = source.path.resolve(), folder.path.resolve()
        return above in (there, *there.parents)
    return f"{source.uri}/".startswith(f"{folder.uri}/")


class Numbered(NamedTuple):
    """Pairs in numbers, and the names they stand for."""

    interests: InterestArrays
    nodes: pa.Array
    topics: pa.Array
    "Names, by number."


def overlay_from_table(
    spark: SparkSession, table: Table, out: Place, folder: Path, asked: Mapping[str, Any], seed: int,
    say: Say = lambda step: None,
) -> Summary:  # fmt: skip
    """Builds the overlay of a table's pairs and writes all there is about it: Spark's tasks to `out`, and this process
    to a folder of this machine, which may be the same."""
    spark = in_one_task(spark) if table.bytes <= BYTES_FOR_ONE_TASK else spark
    with halfway(out) as desk:
        say("reading")
        rows = sort_rows(spark, table, desk)
        aside = set_aside(rows, out)
        say("numbering")
        numbered = number(desk / GOOD)
        if not numbered:
            raise Misuse(nothing_left(table, out, aside.counts))
    return overlay_from_numbers(numbered, aside, folder, asked, seed, say)


def overlay_from_workload(
    spark: SparkSession, workload: Workload, out: Place, folder: Path, asked: Mapping[str, Any], seed: int,
    say: Say = lambda step: None,
) -> Summary:  # fmt: skip
    """The same for pairs that Spark draws first; they are kept as `subscriptions.parquet`."""
    small = workload.nodes * workload.subscriptions[1] <= PAIRS_FOR_ONE_TASK
    say("reading")
    kept = out / "subscriptions.parquet"
    generate_pairs(in_one_task(spark) if small else spark, workload, seed).write.mode("overwrite").parquet(kept.uri)
    (out / "quarantine").remove()
    say("numbering")
    numbered = number(kept)
    if not numbered:
        raise Misuse("nobody wants anything: let subscriptions be more than 0")
    return overlay_from_numbers(numbered, Aside({}, [], 0), folder, asked, seed, say)


@contextlib.contextmanager
def halfway(out: Place) -> Iterator[Place]:
    """A folder for as long as a block."""
    (desk := out / HALFWAY).remove()
    try:
        yield desk
    finally:
        desk.remove()


def set_aside(rows: Sorted, out: Place) -> Aside:
    """Bad rows go to `quarantine`, as Parquet; what is to be said of them."""
    folder = out / "quarantine"
    folder.remove()
    if rows.bad is None:
        return Aside({}, [], 0)
    rows.bad.orderBy("file", "row").write.parquet(folder.uri)
    bad = rows.bad.sparkSession.read.schema(rows.bad.schema).parquet(literally(folder))
    counts = {row["reason"]: row["count"] for row in bad.groupBy("reason").count().orderBy("reason").collect()}
    first = bad.orderBy("file", "row").limit(FIRST).collect()
    examples = [SetAside(*(row[name] for name in SetAside.__struct_fields__)) for row in first]
    lost = bad.where("node is not null").select("node").distinct()
    return Aside(counts, examples, lost.join(rows.good, "node", "left_anti").count())


def nothing_left(table: Table, out: Place, counts: dict[str, int]) -> str:
    if not counts:
        return f"{table.place} has no rows: it needs one (node, topic) for each subscription"
    reasons = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
    return f"no row of {table.place} says a node and a topic ({reasons}): see {out / 'quarantine'}"


def number(folder: Place) -> Numbered | None:
    """The pairs in a folder of Parquet, each there once. None: there is none at all."""
    with contextlib.ExitStack() as open_files:
        names = [entry.name for entry in folder.entries() if entry.name.startswith("part-")]
        files = [open_files.enter_context((folder / name).as_file()) for name in names]
        parts = [pq.read_table(file, columns=["node", "topic"], partitioning=None) for file in files]
    pairs = pa.concat_tables(parts) if parts else None
    if not pairs:
        return None
    (nodes, node), (topics, topic) = number_names(pairs["node"]), number_names(pairs["topic"])
    keys = node.astype(np.int64) * len(topics) + topic
    keys.sort()
    return Numbered(gathered(keys, len(nodes), len(topics)), nodes, topics)


def number_names(column: pa.ChunkedArray) -> tuple[pa.Array, Any]:
    """Every name once, in ascending order; and for each row the number of its name."""
    coded = column.combine_chunks().dictionary_encode()
    order = np.argsort(as_numbers(coded.dictionary.to_numpy(zero_copy_only=False)), kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return coded.dictionary.take(pa.array(order)).cast(pa.string()), numbers[coded.indices.to_numpy()]


def overlay_from_numbers(
    numbered: Numbered, aside: Aside, folder: Path, asked: Mapping[str, Any], seed: int, say: Say
) -> Summary:
    interests = numbered.interests
    say("building")
    params = fitting(asked, interests.nodes)
    threads = 1 if interests.nodes <= FULL_UP_TO else os.cpu_count() or 1
    overlay = build(OverlaySetting(interests=interests, params=params), seed, threads)
    say("measuring")
    graphs = measures.topic_graphs(interests.starts, interests.topics, interests.topic_count, overlay.links)
    explored = measures.explore(graphs)
    summary = summed_up(interests, overlay, graphs, explored, aside, params, seed)
    say("tables")
    write_links(folder / "links.parquet", numbered, overlay, graphs)
    tables.write_degrees(folder, numbered.nodes, interests, overlay)
    tables.write_topics(folder, numbered.topics, graphs, explored)
    write_summary(folder, summary)
    say("report")
    return summary


def fitting(asked: Mapping[str, Any], nodes: int) -> Params:
    """What was asked for, and the rest as it fits: views of everybody cost the square of their number, so many nodes
    know a part each, and where views are partial, topics have homes at which those meet who do not know each other."""
    view = asked.get("view", "full" if nodes <= FULL_UP_TO else PARTIAL)
    covers = asked.get("selection", "coverage") == "coverage"
    return Params(**{"rendezvous": view != "full" and covers, **asked, "view": view})


def write_links(path: Path, numbered: Numbered, overlay: Overlay, graphs: measures.Graphs) -> None:
    """Both names, which task keeps it, and how many topics it serves."""
    ends = (pa.DictionaryArray.from_arrays(pa.array(overlay.links[:, i]), numbered.nodes) for i in (0, 1))
    kinds = tables.kinds_of(overlay)
    columns = {**dict(zip(("node", "neighbour"), ends, strict=True)), "kind": kinds, "topics": pa.array(graphs.shared)}
    draft = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns), draft, compression="zstd")
    draft.replace(path)
