"""What is said of an overlay that was built from a table: its summary."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from gossamer.fast import measures
from gossamer.pipeline.results import write_lines
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, Overlay
from gossamer.protocols.spidercast.params import Params


class SetAside(Struct, frozen=True):
    """A row that was not used."""

    file: str
    row: int
    reason: str
    node: str | None
    topic: str | None


class Summary(Struct, frozen=True, kw_only=True):
    """What there is to say of an overlay built from a table."""

    connected: bool
    "Whether the subscribers of every topic can reach each other through subscribers of it."
    nodes: int
    topics_populated: int
    subscriptions: int
    "Pairs of node and topic."
    links: int
    degree_mean: float
    degree_ci95: float
    "Half of the 95 % confidence interval of the mean."
    degree_max: int
    components: int
    "Of all topics together: as many as topics if each is connected."
    topics_partitioned: int
    diameter_topic_max: int
    diameter_topic_exact: bool
    "False: the diameter is a lower bound, as some topic is too large."
    diameter_overlay: int
    diameter_overlay_exact: bool
    components_overlay: int
    topics_per_link: float
    messages_saved: float
    "Share of messages that need not be sent if those of several topics go over a link together."
    tdi: float
    "What a node has in common with the 20 others most like it, in per cent of its topics."
    tdi_sampled: bool
    rounds: int
    at_rest: bool
    "Whether nothing changed any more at the end."
    messages: dict[str, int]
    "What nodes told each other to get there, by kind."
    messages_per_change: float
    "The same for each node that joined."
    one_sided: int
    over_limit: int
    params: Params
    seed: int
    rows: int
    "Of the table."
    set_aside: dict[str, int]
    "Rows that were not used, by reason; they are in quarantine."
    nodes_left_out: int
    "Nodes all of whose rows were set aside."
    examples: list[SetAside]


class Aside(NamedTuple):
    """What was set aside."""

    counts: dict[str, int]
    examples: list[SetAside]
    nodes: int


def summed_up(
    interests: InterestArrays, overlay: Overlay, graphs: measures.Graphs, explored: measures.Explored, aside: Aside,
    params: Params, seed: int,
) -> Summary:  # fmt: skip
    degrees, partitioned = measures.degrees(interests.nodes, overlay.links), explored.components > 1
    whole = measures.explore(measures.overlay_graph(interests.nodes, overlay.links))
    alike = measures.tdi(interests.starts, interests.topics, interests.topic_count)
    saving = measures.compounding(graphs.shared)
    return Summary(
        connected=not bool(partitioned.any()),
        nodes=interests.nodes,
        topics_populated=int(np.count_nonzero(explored.components)),
        subscriptions=len(interests.topics),
        links=len(overlay.links),
        degree_mean=degrees.mean,
        degree_ci95=degrees.ci95,
        degree_max=degrees.max,
        components=int(explored.components.sum()),
        topics_partitioned=int(np.count_nonzero(partitioned)),
        diameter_topic_max=int(explored.diameters.max(initial=0)),
        diameter_topic_exact=bool(explored.exact.all()),
        diameter_overlay=int(whole.diameters[0]),
        diameter_overlay_exact=bool(whole.exact[0]),
        components_overlay=int(whole.components[0]),
        topics_per_link=saving.topics_per_link,
        messages_saved=saving.saved,
        tdi=alike.mean,
        tdi_sampled=alike.sampled,
        rounds=overlay.rounds,
        at_rest=overlay.at_rest,
        messages=overlay.messages,
        messages_per_change=sum(overlay.messages.values()) / interests.nodes,
        one_sided=overlay.one_sided,
        over_limit=overlay.over_limit,
        params=params,
        seed=seed,
        rows=len(interests.topics) + sum(aside.counts.values()),
        set_aside=aside.counts,
        nodes_left_out=aside.nodes,
        examples=aside.examples,
    )


def write_summary(out: Path, summary: Summary) -> None:
    """summary.json has all, summary.csv the numbers."""
    text = msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n"
    (out / "summary.json").write_bytes(text)
    said = msgspec.structs.asdict(summary)
    numbers = {name: value for name, value in said.items() if isinstance(value, int | float)}
    lines = [
        (name, str(value).lower() if isinstance(value, bool) else f"{value:.9g}") for name, value in numbers.items()
    ]
    write_lines(out / "summary.csv", [("metric", "value"), *lines])
