"""What an overlay is worth: degrees, components and diameters of its topics, and what links that serve several save.

Interests come as arrays: `topics[starts[n]:starts[n + 1]]` are those of node n, in ascending order. `links` has a row
(u, v) for each link. `measure` takes all measures; each can be had alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from gossamer.core.intervals import t95
from gossamer.fast.compile import compiled

SHARING = "gossamer.fast.sharing"
DISTANCES = "gossamer.fast.distances"
LIKENESS = "gossamer.fast.likeness"
EXACT_UP_TO = 10_000
"Nodes. Diameters of more are lower bounds, and tdi is that of a sample."
SAMPLE = 500
"Nodes whose top-d-intersections stand for those of all where there are too many."


class Graphs(NamedTuple):
    """Several graphs in one: group g has the vertices firsts[g] … firsts[g + 1] - 1."""

    firsts: Any
    offsets: Any
    "The neighbours of vertex v are ends[offsets[v]:offsets[v + 1]]."
    ends: Any
    shared: Any
    "How many of the graphs each link belongs to."


class Explored(NamedTuple):
    """What was found of each graph: arrays with an entry per group."""

    components: Any
    "0 where the group is empty."
    largest: Any
    "Vertices of the largest component."
    diameters: Any
    "The longest of the shortest ways between two that can reach each other."
    exact: Any
    "False: the diameter is a lower bound."


class Degrees(NamedTuple):
    mean: float
    ci95: float
    "Half of the 95 % confidence interval of the mean."
    max: int
    histogram: Any
    "How many nodes have degree 0, 1, 2 …"


class Compounding(NamedTuple):
    """What one link for several topics saves: in a span in which every topic has an event, each link carries one for
    every topic its ends share, one message each or all in one; and each link is kept alive by itself."""

    separate: int
    "Messages if every topic has its own; heartbeats too, if every topic had an overlay to itself."
    compound: int
    "Messages if a link's go together. Links whose ends share nothing carry none."
    saved: float
    "Share of the separate messages that need not be sent."
    topics_per_link: float


class Intersection(NamedTuple):
    """tdi(d): what a node shares, in per cent, with the d others most like it; the mean over nodes."""

    mean: float
    ci95: float
    "0 unless the nodes are a sample."
    sampled: bool


class Measures(Struct, frozen=True, kw_only=True):
    """An overlay in numbers."""

    nodes: int
    pairs: int
    "Subscriptions."
    links: int
    degree_mean: float
    degree_ci95: float
    degree_max: int
    degree_histogram: Any
    topics_populated: int
    topics_partitioned: int
    components: int
    "Of all topics together: equal to `topics_populated` where every topic is connected."
    components_by_topic: Any
    largest_by_topic: Any
    subscribers_by_topic: Any
    diameter_topic_max: int
    diameter_topic_exact: bool
    diameter_by_topic: Any
    exact_by_topic: Any
    diameter_overlay: int
    diameter_overlay_exact: bool
    components_overlay: int
    tdi: float | None
    tdi_ci95: float | None
    tdi_sampled: bool
    messages_separate: int
    messages_compound: int
    messages_saved: float
    topics_per_link: float


def measure(
    starts: Any, topics: Any, topic_count: int, links: Any, *, tdi_depth: int = 20, exact_up_to: int = EXACT_UP_TO
) -> Measures:
    """All measures of one overlay. Without `tdi_depth` (0) that one, which is of the interests alone, is left out."""
    degree = degrees(len(starts) - 1, links)
    of_topics = topic_graphs(starts, topics, topic_count, links)
    by_topic, saving = explore(of_topics, exact_up_to), compounding(of_topics.shared)
    whole = explore(overlay_graph(len(starts) - 1, links), exact_up_to)
    alike = tdi(starts, topics, topic_count, tdi_depth) if tdi_depth else None
    return Measures(
        nodes=len(starts) - 1,
        pairs=len(topics),
        links=len(links),
        degree_mean=degree.mean,
        degree_ci95=degree.ci95,
        degree_max=degree.max,
        degree_histogram=degree.histogram,
        topics_populated=int(np.count_nonzero(by_topic.components)),
        topics_partitioned=int(np.count_nonzero(by_topic.components > 1)),
        components=int(by_topic.components.sum()),
        components_by_topic=by_topic.components,
        largest_by_topic=by_topic.largest,
        subscribers_by_topic=np.diff(of_topics.firsts),
        diameter_topic_max=int(by_topic.diameters.max(initial=0)),
        diameter_topic_exact=bool(by_topic.exact.all()),
        diameter_by_topic=by_topic.diameters,
        exact_by_topic=by_topic.exact,
        diameter_overlay=int(whole.diameters[0]),
        diameter_overlay_exact=bool(whole.exact[0]),
        components_overlay=int(whole.components[0]),
        tdi=alike and alike.mean,
        tdi_ci95=alike and alike.ci95,
        tdi_sampled=alike is not None and alike.sampled,
        messages_separate=saving.separate,
        messages_compound=saving.compound,
        messages_saved=saving.saved,
        topics_per_link=saving.topics_per_link,
    )


def degree_of_each(nodes: int, links: Any) -> Any:
    """How many links each node has."""
    return np.bincount(np.asarray(links, np.int64).ravel(), minlength=nodes)


def degrees(nodes: int, links: Any) -> Degrees:
    each = degree_of_each(nodes, links)
    if not nodes:
        return Degrees(0.0, 0.0, 0, each)
    ci95 = t95(nodes) * float(each.std(ddof=1)) / math.sqrt(nodes) if nodes > 1 else 0.0
    return Degrees(float(each.mean()), ci95, int(each.max()), np.bincount(each))


def components(starts: Any, topics: Any, topic_count: int, links: Any) -> Any:
    """Components of each topic; 0 for one that nobody wants. A topic is partitioned if it has more than one."""
    return explore(topic_graphs(starts, topics, topic_count, links), -1).components


def topic_graphs(starts: Any, topics: Any, topic_count: int, links: Any) -> Graphs:
    """For each topic the graph of its subscribers and the links between them."""
    order = np.argsort(topics, kind="stable")
    place = np.empty(len(topics), np.int32)
    place[order] = np.arange(len(topics), dtype=np.int32)
    firsts = np.zeros(topic_count + 1, np.int64)
    np.cumsum(np.bincount(topics, minlength=topic_count), out=firsts[1:])
    return joined(firsts, np.asarray(starts, np.int64), np.asarray(topics, np.int32), place, links)


def overlay_graph(nodes: int, links: Any) -> Graphs:
    """The whole overlay, as if everybody wanted the same one topic."""
    each = np.arange(nodes + 1, dtype=np.int64)
    return joined(np.array([0, nodes]), each, np.zeros(nodes, np.int32), each[:-1].astype(np.int32), links)


def joined(firsts: Any, starts: Any, topics: Any, place: Any, links: Any) -> Graphs:
    links = np.ascontiguousarray(links, np.int32).reshape(-1, 2)
    share = compiled(SHARING)
    shared, offsets = np.zeros(len(links), np.int32), np.zeros(len(topics) + 1, np.int64)
    share(starts, topics, place, links, shared, offsets[1:], np.empty(0, np.int32), False)
    np.cumsum(offsets, out=offsets)
    ends = np.empty(int(offsets[-1]), np.int32)
    share(starts, topics, place, links, shared, offsets[:-1].copy(), ends, True)
    return Graphs(firsts, offsets, ends, shared)


def explore(graphs: Graphs, exact_up_to: int = EXACT_UP_TO) -> Explored:
    """Components, and diameters unless `exact_up_to` is negative."""
    groups, vertices = len(graphs.firsts) - 1, len(graphs.offsets) - 1
    queue, stamps = np.empty(vertices, np.int32), np.zeros(vertices, np.int32)
    most = int(np.diff(graphs.firsts).max(initial=0))
    words, fronts = np.empty((3, most), np.uint64), np.empty((2, most), np.int32)
    components, largest, diameters = np.zeros((3, groups), np.int32)
    bounds = np.zeros(groups, np.bool_)
    run = compiled(DISTANCES)
    found = (components, largest, diameters, bounds)
    run(graphs.firsts, graphs.offsets, graphs.ends, exact_up_to, queue, stamps, words, fronts, *found)
    return Explored(components, largest, diameters, ~bounds)


def compounding(shared: Any) -> Compounding:
    """From the number of topics that the ends of each link share."""
    separate, compound = int(shared.sum()), int(np.count_nonzero(shared))
    saved = 1 - compound / separate if separate else 0.0
    return Compounding(separate, compound, saved, separate / len(shared) if len(shared) else 0.0)


def tdi(
    starts: Any, topics: Any, topic_count: int, depth: int = 20, *, exact_up_to: int = EXACT_UP_TO, sample: int = SAMPLE
) -> Intersection:
    """tdi(depth) as section 3.4 defines it. A node without topics has nothing to share and is left out; of more than
    `exact_up_to` nodes a sample, evenly spread, is compared with all."""
    sizes = np.diff(starts)
    nodes = np.flatnonzero(sizes)
    sampled = len(nodes) > exact_up_to
    asked = nodes[np.linspace(0, len(nodes) - 1, sample).astype(np.int64)] if sampled else nodes
    if len(nodes) < 2 or depth < 1:
        return Intersection(0.0, 0.0, False)
    members = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[np.argsort(topics, kind="stable")]
    firsts = np.concatenate([[0], np.cumsum(np.bincount(topics, minlength=topic_count))])
    each, best = np.empty(len(asked)), np.empty(min(depth, len(nodes) - 1))
    shared = np.zeros(len(sizes), np.int32)
    compiled(LIKENESS)(starts, topics, firsts, members, asked, shared, best, each)
    ci95 = t95(len(each)) * float(each.std(ddof=1)) / math.sqrt(len(each)) if sampled else 0.0
    return Intersection(float(each.mean()), ci95, sampled)
