"""The verdict: what the tables of an audit come to. It is summed up from the files, so that the two cannot disagree."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gossamer.pipeline.audit_tables import ALL
from gossamer.pipeline.desk import read_csv
from gossamer.pipeline.traces import Converted, Skipped

OF_TOPICS = (
    *("events", "promised", "expected", "delivered", "missing", "in_doubt", "broken", "parasites", "strays", "relays"),
    *("duplicates", "redelivered", "negative_latencies", "unheard", "missing_unheard"),
)
OF_NODES = ("lives", "silenced", "lost_rows", "refused", "gaps", "gaps_told")
OF_RECOVERY = ("recovered", "unfilled", "came_late")


class Verdict(Struct, frozen=True, kw_only=True):
    """What the audit says of the runs in a folder. A delivery is a pair of an event and a node."""

    events: int
    expected: int
    "Deliveries owed: the node was subscribed from 2 s before the publication until 2 s after."
    delivered: int
    "Of those expected."
    missing: int
    "Of those expected: missing.csv says where each event was last seen."
    in_doubt: int
    "The node came, went or fell silent within 2 s of the publication: it may have the event or not."
    parasites: int
    "Events at nodes that neither subscribe to nor publish on the topic or one above, and are no declared relays."
    duplicates: int
    "Deliveries of an event to a node that had it, not marked as repeated."
    holds: bool
    "Whether the promise holds: no promised delivery missing, no parasite, no duplicate."
    promised: int
    "Events whose publisher survived or came back."
    broken: int
    "Missing deliveries of promised events."
    parasites_declared: int
    "Parasites the nodes themselves told of."
    parasites_found: int
    "Parasites that other rows gave away."
    strays: int
    "Events that came to a node within 2 s of its interest: on their way as it came or went. Not counted as parasites."
    relays: int
    "Events at nodes that carry them for others by a declared role."
    redelivered: int
    "Deliveries repeated after a crash and marked so."
    refused: int
    "Messages, events and peers that nodes turned away."
    unheard: int
    "Events whose publisher was killed for good before any other node had them: nobody could find those again."
    missing_unheard: int
    "Missing deliveries of those."
    gaps: int
    "Times a node noticed that events of a publisher had not come."
    recovered: int
    "Deliveries that came by recovery, after their absence was noticed. They count as delivered."
    came_late: int
    "Events noticed to be missing that came by themselves: they were only slower than those behind them."
    unfilled: int
    "Missing deliveries at nodes that had noticed a gap in the publisher's events."
    recovery_ms_p50: float | None
    recovery_ms_p99: float | None
    recovery_ms_max: float | None
    "From noticing that an event is missing to having it; none where nothing was recovered."
    gaps_told: int
    "Times a reader was told of events it did not get."
    latency_us_p50: float | None
    latency_us_p90: float | None
    latency_us_p99: float | None
    latency_us_max: float | None
    "From publication to delivery at another node; none where nothing was delivered."
    negative_latencies: int
    "Deliveries before their publication: so far are the clocks apart at least."
    clocks: str
    "How the clocks of different hosts were brought together."
    messages: int | None
    "Copies and other messages sent; none unless every node traced at level full."
    bytes: int | None
    efficiency: float | None
    "Useful copies by all copies received, as CAMCAST defines it; none where no node traced at level full."
    runs: int
    nodes: int
    lives: int
    silenced: int
    "Lives that ended without a stop: killed, or still going on."
    lost_rows: int
    "Rows that should be there by their numbers: a missing delivery may be one of them."
    torn: int
    "Segments that were not whole; what could be read was."
    skipped: int
    "Files that are no segments; skipped.csv names them, and the torn ones."


def conclude(out: Path, clocks_said: str, converted: Sequence[Converted], foreign: Sequence[Skipped]) -> Verdict:
    """The verdict, from the tables."""
    topics, nodes = read_csv(out / "per_topic.csv"), read_csv(out / "per_node.csv")
    communities = [each for each in read_csv(out / "per_community.csv") if each["copies"]]
    copies = total(communities, "copies")
    counted = {name: total(topics, name) for name in OF_TOPICS}
    counted |= {name: total(nodes, name) for name in OF_NODES}
    counted |= {name: total(read_csv(out / "recovery.csv"), name) for name in OF_RECOVERY}
    known = all(each["messages_sent"] is not None for each in nodes)
    curves = read_csv(out / "curves.csv")
    latencies, recoveries = overall(curves, "latency"), overall(curves, "recovery")
    return Verdict(
        **counted,
        holds=not (counted["broken"] or counted["parasites"] or counted["duplicates"]),
        parasites_declared=total(topics, "declared"),
        parasites_found=total(topics, "found"),
        latency_us_p50=latencies.get(0.5),
        latency_us_p90=latencies.get(0.9),
        latency_us_p99=latencies.get(0.99),
        latency_us_max=latencies.get(1.0),
        recovery_ms_p50=in_ms(recoveries.get(0.5)),
        recovery_ms_p99=in_ms(recoveries.get(0.99)),
        recovery_ms_max=in_ms(recoveries.get(1.0)),
        clocks=clocks_said,
        messages=total(nodes, "messages_sent") if known else None,
        bytes=total(nodes, "bytes_sent") if known else None,
        efficiency=total(communities, "useful") / copies if copies else None,
        runs=len({each["run"] for each in nodes}),
        nodes=len(nodes),
        torn=sum(1 for each in converted if each.head and each.problem),
        skipped=len(foreign) + sum(1 for each in converted if not each.head),
    )


def total(rows: Sequence[Mapping[str, Any]], column: str) -> int:
    return sum(row[column] or 0 for row in rows)


def overall(curves: Sequence[Mapping[str, Any]], figure: str) -> dict[float, float]:
    """What a figure shows of all topics together: microseconds by share."""
    return {each["y"]: each["x"] for each in curves if (each["figure"], each["series"]) == (figure, ALL)}


def in_ms(us: float | None) -> float | None:
    return None if us is None else us / 1e3
