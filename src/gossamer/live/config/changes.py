"""What of a configuration may change while a node runs, and what needs a restart."""

from typing import Any

from gossamer.live.config.config import Config
from gossamer.live.config.place import HpmcastConfig
from gossamer.live.config.tables import (
    FaultsConfig,
    HierarchyConfig,
    Limits,
    MetricsConfig,
    SpoolConfig,
    Timeouts,
    TraceConfig,
)
from gossamer.protocols.hpmcast.upkeep import Upkeep

RELOADABLE = (
    "seeds",
    "subscribe",
    "publish",
    "limits",
    "timeouts",
    "camcast",
    "topics",
    "scamp",
    "recovery",
    "recovery_topics",
    "spidercast",
    "interests",
)
"What may change while a node runs; of other tables, these fields:"
RELOADABLE_FIELDS = (
    *("trace.level", "trace.keep_s", "trace.keep_bytes"),
    *("spool.keep_s", "spool.keep_bytes", "spool.durable_bytes", "spool.forget_s"),
    *("spool.outbox_bytes", "spool.outbox_full", "spool.copies"),
    *("hpmcast.fanout", "hpmcast.audience_floor", "hpmcast.direct", "hpmcast.lan", "hpmcast.estimated"),
    *("hpmcast.rounds", "hpmcast.reliability"),
    *("hpmcast.expected_loss", "hpmcast.expected_crashed", "hpmcast.hops", "hpmcast.repetitions", "hpmcast.step_us"),
    *(f"upkeep.{name}" for name in Upkeep.__struct_fields__ if name != "choice"),  # all must come to the same delegates
)

BY_FIELD = (
    *(SpoolConfig, TraceConfig, MetricsConfig, Limits, Timeouts, HierarchyConfig, FaultsConfig),
    *(HpmcastConfig, Upkeep),
)
"Tables whose fields are looked at one by one; a machine is tuned with all parameters of a protocol."


def changes(old: Config, new: Config) -> tuple[dict[str, Any], list[str]]:
    """What a running node can take over, by dotted name with the new value, and what needs a restart."""
    now: dict[str, Any] = {}
    later: list[str] = []
    for name, value in _differences(old, new):
        if name.partition(".")[0] in RELOADABLE or name in RELOADABLE_FIELDS:
            now[name] = value
        else:
            later.append(name)
    return now, later


def _differences(old: Config, new: Config) -> list[tuple[str, Any]]:
    """By field; parameters of a protocol as a whole, because a machine is tuned with all of them."""
    found = []
    for name in Config.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if isinstance(after, BY_FIELD):
            inner = [(each, getattr(before, each), getattr(after, each)) for each in after.__struct_fields__]
            found += [(f"{name}.{each}", value) for each, was, value in inner if was != value]
        else:
            found.append((name, after))
    return found
