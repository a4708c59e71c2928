"""Words that the promises need and that users will write: settings, fields, commands. If one is decided otherwise,
it changes here and nowhere else."""

from typing import Any

OUTBOX_BYTES = "outbox_bytes"
"`[spool]`: how many bytes of accepted publications may wait for members."
OUTBOX_FULL = "outbox_full"
'`[spool]`: what `publish` does then, `"wait"` or `"refuse"`.'
DURABLE_BYTES = "durable_bytes"
"`[spool]`: how much retention leaves alone because a durable subscription has not acknowledged it."
COPIES = "copies"
"`[spool]`: how many members must have an event on disk before its publisher forgets it."
TRACE_BYTES = "keep_bytes"
"`[trace]`: how much of the traces is kept."
LAG = "gossamer_subscription_behind"
"Metric, by `owner` and `name`: events a durable subscription has not acknowledged."
ERRORS = "gossamer_failures_total"
"Metric: errors inside the node that nobody expected."
CATCHING_UP = "catchup."
"How tags of the messages begin by which logs are compared."
EXPECTED_NODE = "node"
"Argument of `Client`: the name of the node it expects."


async def bookmark_of(inbox: Any) -> Any:
    """Where a durable subscription stands, as another node understands it."""
    return await inbox.bookmark()


def opened_at(source: Any, topic: str, name: str, bookmark: Any) -> Any:
    """The same subscription at another node."""
    return source.subscribe(topic, name=name, bookmark=bookmark)


def on_disk(told: Any) -> int:
    """What `handed_over()` says of copies that a loss of power would leave."""
    return int(told.on_disk)


def in_memory(told: Any) -> int:
    return int(told.in_memory)


def waiting(told: Any) -> int:
    """Events that too few members have."""
    return int(told.waiting)
