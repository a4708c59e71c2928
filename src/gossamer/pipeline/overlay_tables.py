"""Tables of an overlay, from its arrays: degrees of nodes, their statistics, topics with their components."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gossamer.core.intervals import t95
from gossamer.fast.measures import Explored, Graphs, degree_of_each
from gossamer.pipeline.results import put_in_place
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay

KINDS = {1: "greedy", 2: "random", 3: "both"}


def kinds_of(overlay: Overlay) -> pa.Array:
    """Which task keeps each link."""
    words = pa.array([KINDS[kind] for kind in sorted(KINDS)])
    return pa.DictionaryArray.from_arrays(pa.array(overlay.kinds.astype(np.int8) - 1), words)


def write_degrees(folder: Path, names: pa.Array, interests: InterestArrays, overlay: Overlay) -> None:
    """A row per node: its name, how many topics it wants, how many links it has, and of which task; and what is drawn
    of that."""
    topics, links, kinds = np.diff(interests.starts), overlay.links, overlay.kinds
    degree = degree_of_each(interests.nodes, links)
    of_task = {
        word: degree_of_each(interests.nodes, links[kinds & bit > 0]) for bit, word in ((1, "greedy"), (2, "random"))
    }
    write(folder, "degrees", {"node": names, "topics": topics, "degree": degree, **of_task})
    counts = np.bincount(degree)
    there = np.flatnonzero(counts)
    write(folder, "degree_histogram", {"degree": there, "nodes": counts[there]})
    write(folder, "degree_by_topics", mean_degrees(topics, degree))


def mean_degrees(topics: Any, degree: Any) -> dict[str, Any]:
    """The mean degree of nodes that want so many topics, with its interval."""
    counts = np.bincount(topics)
    there = np.flatnonzero(counts)
    many = counts[there]
    mean = (np.bincount(topics, degree) / np.maximum(counts, 1))[there]
    squares = np.bincount(topics, (degree - mean[np.searchsorted(there, topics)]) ** 2)[there]
    t = np.array([t95(int(count)) if count > 1 else 0.0 for count in many])
    half = t * np.sqrt(squares / np.maximum(many - 1, 1) / many)
    return {"topics": there, "nodes": many, "degree_mean": mean, "degree_ci95": half}


def write_topics(folder: Path, names: pa.Array, graphs: Graphs, explored: Explored) -> None:
    """components: a row per topic, partitioned ones first, then by subscribers."""
    firsts = graphs.firsts
    columns = {
        "topic": names,
        "subscribers": np.diff(firsts),
        "links": (graphs.offsets[firsts[1:]] - graphs.offsets[firsts[:-1]]) // 2,  # each is told at both ends
        "components": explored.components.astype(np.int64),
        "largest": explored.largest.astype(np.int64),
        "diameter": explored.diameters.astype(np.int64),
        "exact": explored.exact,
    }
    table = pa.table(columns).append_column("whole", pa.array((explored.components <= 1).astype(np.int8)))
    order = pc.sort_indices(table, [("whole", "ascending"), ("subscribers", "descending"), ("topic", "ascending")])
    sorted_rows = table.take(order).drop_columns(["whole"])
    write(folder, "components", dict(zip(sorted_rows.column_names, sorted_rows.columns, strict=True)))


def write(folder: Path, name: str, columns: dict[str, Any]) -> None:
    """A table of the result: Parquet for programs, CSV for people."""
    draft = folder / f".{name}.parquet"
    draft.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), draft / "part-0.parquet", compression="zstd")
    put_in_place(draft, folder, name, [*columns])
