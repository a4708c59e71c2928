"""The verdict: what the tables of an audit come to. It is summed up from them, so that the two cannot disagree."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from gossamer.pipeline.audit_tables import ALL
from gossamer.pipeline.results import left_out, read_columns
from gossamer.pipeline.traces import Converted, Skipped

OF_TOPICS = (
    *("events", "promised", "expected", "delivered", "missing", "in_doubt", "broken", "parasites", "strays", "relays"),
    *("duplicates", "redelivered", "negative_latencies", "unheard", "missing_unheard"),
    *("unmatched", "untold", "locked", "damaged"),
)
OF_NODES = ("lives", "silenced", "lost_rows", "refused", "gaps", "gaps_told")
TABLES = ("events", "missing", "parasites", "duplicates", "lives", "per_topic", "per_community", "per_node", "recovery")
"Those that may be long."
OF_RECOVERY = ("recovered", "unfilled", "came_late")


Result: TypeAlias = Literal["holds", "broken", "nothing to judge"]


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
    "The node came, went or fell silent within 2 s of the publication, or its filter is `unmatched`."
    unmatched: int
    "Of those in doubt: nobody can tell whether the node's filter matches the event."
    untold: int
    "Events that filters ask for, and whose attributes no trace tells;"
    locked: int
    "whose attributes are sealed to a key that was not given;"
    damaged: int
    "whose attributes do not open, though they are sealed to one that was."
    odd_filters: int
    "Filters of subscriptions that are none to this version."
    parasites: int
    "Events at nodes that neither subscribe to nor publish on the topic or one above, and are no declared relays."
    duplicates: int
    "Deliveries of an event to a node that had it, not marked as repeated."
    holds: bool
    "Whether the promise holds: deliveries were owed, no promised one is missing, no parasite, no duplicate."
    result: Result
    "The same, or that there was nothing to judge: no delivery was owed, and nothing went wrong either."
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
    csv_left_out: dict[str, int]
    "Rows of each table that its CSV file had no room for; its Parquet files have all."


def conclude(
    out: Path, clocks_said: str, converted: Sequence[Converted], foreign: Sequence[Skipped], odd_filters: int
) -> Verdict:
    """The verdict, from the tables."""
    topics, nodes, communities = (read_columns(out, f"per_{each}") for each in ("topic", "node", "community"))
    recovery = read_columns(out, "recovery")
    copies = total(communities, "copies")
    counted = {name: total(topics, name) for name in OF_TOPICS}
    counted |= {name: total(nodes, name) for name in OF_NODES}
    counted |= {name: total(recovery, name) for name in OF_RECOVERY}
    known = not nodes["messages_sent"].null_count
    curves = read_columns(out, "curves")
    latencies, recoveries = overall(curves, "latency"), overall(curves, "recovery")
    result = judge(**{name: counted[name] for name in ("expected", "broken", "parasites", "duplicates")})
    return Verdict(
        **counted,
        holds=result == "holds",
        result=result,
        odd_filters=odd_filters,
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
        runs=len(nodes["run"].unique()),
        nodes=len(nodes),
        torn=sum(1 for each in converted if each.head and each.problem),
        skipped=len(foreign) + sum(1 for each in converted if not each.head),
        csv_left_out=left_out(out, TABLES),
    )


def judge(expected: int, broken: int, parasites: int, duplicates: int) -> Result:
    if broken or parasites or duplicates:
        return "broken"
    return "holds" if expected else "nothing to judge"


def total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table[column]).as_py() or 0)


def overall(curves: pa.Table, figure: str) -> dict[float, float]:
    """What a figure shows of all topics together: microseconds by share."""
    shown = curves.filter((pc.field("figure") == figure) & (pc.field("series") == ALL))
    return dict(zip(shown["y"].to_pylist(), shown["x"].to_pylist(), strict=True))


def in_ms(us: float | None) -> float | None:
    return None if us is None else us / 1e3
