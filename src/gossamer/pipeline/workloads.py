"""Workloads generated on Spark: the pairs (node, topic) that `Workload.interests` gives, drawn in parts by its tasks.

Every node's topics are draws of its own, so it makes no difference who draws them, nor in how many parts.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gossamer.protocols.spidercast.experiment.workload import Workload

CELLS_AT_ONCE = 1 << 22
"Nodes times topics that a task holds at a time."
NODES_PER_TASK = 1 << 17
PAIRS = "node long, topic int"


def generate_pairs(spark: SparkSession, workload: Workload, seed: int) -> DataFrame:
    """(node, topic), a row for each subscription. A node without any has no row."""
    at_once = max(1, min(NODES_PER_TASK, CELLS_AT_ONCE // workload.topics))
    parts = spark.range(0, workload.nodes, at_once, numPartitions=-(-workload.nodes // NODES_PER_TASK))
    return parts.mapInArrow(draw_pairs(workload, seed, at_once), PAIRS)


def draw_pairs(
    workload: Workload, seed: int, at_once: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark worker does: each number it is given is the first node of a part."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for first in batch.column(0).to_pylist():
                counts, topics = workload.part(seed, first, min(first + at_once, workload.nodes))
                nodes = np.repeat(np.arange(first, first + len(counts), dtype=np.int64), counts)
                yield pa.RecordBatch.from_arrays([pa.array(nodes), pa.array(topics)], names=["node", "topic"])

    return run
