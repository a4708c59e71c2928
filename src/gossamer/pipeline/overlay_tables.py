"""An overlay as data frames: nodes and topics numbered, degrees of nodes and their statistics, components of topics."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.fast.measures import explore, overlay_graph
from gossamer.pipeline.desk import Desk
from gossamer.pipeline.summary import students

WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
"Names that are numbers: if all are, 10 comes after 9. `01` is a word."
PLACE_BITS = 33
"The bits of Spark's row ids that count within a partition; the others count the partitions."
KINDS = {1: "greedy", 2: "random", 3: "both"}
COMPONENTS = "topic long, subscribers long, links long, components long, largest long"


class Degrees(NamedTuple):
    """Statistics of all nodes' degrees."""

    nodes: int
    mean: float
    ci95: float
    max: int


def number_names(names: DataFrame, whole: bool, desk: Desk, label: str) -> tuple[DataFrame, Any]:
    """(name, id): every name once, numbered from 0 in ascending order; and the names in that order."""
    order = F.col("name").cast("long") if whole else F.col("name")
    placed = names.distinct().orderBy(order).withColumn("place", F.monotonically_increasing_id())
    placed = desk.settle(placed, label)
    there = desk.read_settled(label).sort_by("place")
    parts, counts = np.unique(there["place"].to_numpy() >> PLACE_BITS, return_counts=True)
    before = zip(parts.tolist(), (np.cumsum(counts) - counts).tolist(), strict=True)
    offsets = names.sparkSession.createDataFrame(list(before), "part long, before long")
    numbered = placed.withColumn("part", F.shiftright("place", PLACE_BITS)).join(F.broadcast(offsets), "part")
    within = F.col("place").bitwiseAND(F.lit((1 << PLACE_BITS) - 1))
    return numbered.select("name", (within + F.col("before")).alias("id")), there["name"].combine_chunks()


def number_pairs(pairs: DataFrame, nodes: DataFrame, topics: DataFrame) -> DataFrame:
    """(node, topic) by number."""
    by_node = pairs.join(nodes.select(F.col("name").alias("node"), F.col("id").alias("u")), "node")
    by_both = by_node.join(topics.select(F.col("name").alias("topic"), F.col("id").alias("t")), "topic")
    return by_both.select(F.col("u").alias("node"), F.col("t").alias("topic"))


def degrees_of_nodes(nodes: DataFrame, pairs: DataFrame, links: DataFrame) -> DataFrame:
    """A row per node: its name, how many topics it wants, how many links it has, and of which task."""
    kind = F.col("kind")
    ends = links.select(F.explode(F.array("u", "v")).alias("id"), "kind")
    linked = ends.groupBy("id").agg(
        F.count("*").alias("degree"),
        F.count(F.when(kind.bitwiseAND(1) > 0, True)).alias("greedy"),
        F.count(F.when(kind.bitwiseAND(2) > 0, True)).alias("random"),
    )
    wanted = pairs.groupBy(F.col("node").alias("id")).agg(F.count("*").alias("topics"))
    return (
        nodes.join(wanted, "id", "left")
        .join(linked, "id", "left")
        .select("id", F.col("name").alias("node"), *(F.coalesce(name, F.lit(0)).alias(name) for name in COUNTED))
    )


COUNTED = ("topics", "degree", "greedy", "random")


def degree_statistics(degrees: DataFrame) -> Degrees:
    ci95 = students(F.stddev_samp("degree"), F.count("*"))
    said = degrees.agg(F.count("*"), F.avg("degree"), ci95, F.max("degree")).first()
    nodes, mean, half, most = said or (0, None, None, None)
    return Degrees(nodes, mean or 0.0, half or 0.0, most or 0)


def degree_histogram(degrees: DataFrame) -> DataFrame:
    """How many nodes have each degree."""
    return degrees.groupBy("degree").agg(F.count("*").alias("nodes"))


def degree_by_topics(degrees: DataFrame) -> DataFrame:
    """The mean degree of nodes that want so many topics."""
    ci95 = students(F.stddev_samp("degree"), F.count("*"))
    return degrees.groupBy("topics").agg(
        F.count("*").alias("nodes"), F.avg("degree").alias("degree_mean"), ci95.alias("degree_ci95")
    )


def components_of_topics(pairs: DataFrame, links: DataFrame, tasks: int) -> DataFrame:
    """A row per topic: subscribers, links between them, components and the size of the largest. A task is given many
    topics at a time, each whole."""
    here, there = pairs.withColumnRenamed("node", "u"), pairs.withColumnRenamed("node", "v")
    inside = links.select("u", "v").join(here, "u").join(there, ["v", "topic"]).select("topic", "u", "v")
    alone = pairs.select("topic", F.col("node").alias("u"), F.col("node").alias("v"))  # those without a link count too
    bucket = F.pmod(F.hash("topic"), F.lit(tasks)).alias("bucket")
    return inside.unionByName(alone).groupBy(bucket).applyInArrow(count_components(), COMPONENTS)


def count_components() -> Callable[[pa.Table], pa.Table]:
    """What a Spark worker does with its topics' links; where both ends are the same, it is a subscriber."""

    def count(rows: pa.Table) -> pa.Table:
        found = components_of(*(rows[name].to_numpy() for name in ("topic", "u", "v")))
        return pa.table(found)

    return count


def components_of(topic: Any, u: Any, v: Any) -> dict[str, Any]:
    """The vertices are pairs of topic and node: first they are numbered, topic by topic, then their graph explored."""
    nodes, topics = int(max(u.max(), v.max())) + 1, np.unique(topic)
    group = np.searchsorted(topics, topic)  # small numbers: the product below must fit 64 bits
    alone = u == v
    vertices = np.sort(group[alone] * nodes + u[alone])
    ends = [np.searchsorted(vertices, group[~alone] * nodes + end[~alone]) for end in (u, v)]
    firsts = np.concatenate([[0], np.cumsum(np.bincount(group[alone], minlength=len(topics)))])
    graph = overlay_graph(len(vertices), np.stack(ends, axis=1))._replace(firsts=firsts)
    found = explore(graph, -1)
    return {
        "topic": topics,
        "subscribers": np.diff(firsts),
        "links": np.bincount(group[~alone], minlength=len(topics)),
        "components": found.components.astype(np.int64),
        "largest": found.largest.astype(np.int64),
    }
