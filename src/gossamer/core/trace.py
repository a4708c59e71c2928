"""What a run leaves behind: one row per thing that happened at a node. Other schemas are derived from this one."""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

VERSION = 1

Kind: TypeAlias = Literal[
    "subscribe",
    "unsubscribe",
    "publish",
    "send",
    "receive",
    "deliver",
    "duplicate",
    "parasite",
    "relay",
    "reject",
    "gap",
    "recover",
    "drop",
    "crash",
    "start",
    "stop",
    "alive",
]
"""What a row can tell. `alive` tells only that the node is still there: without it, one that quietly gets nothing could
not be told from one that was killed."""
KINDS: tuple[str, ...] = get_args(Kind)

Level: TypeAlias = Literal["off", "deliveries", "full", "journal"]
Values: TypeAlias = Literal["sealed", "plain", "off"]
"""What a trace tells of the attributes of events, by which filters are judged: sealed to the one key that audits, as
they are, or nothing."""
Told: TypeAlias = bytes
"Attributes as a row has them."
FULL_ONLY: frozenset[str] = frozenset({"send", "receive", "duplicate", "drop"})
"Kinds that only the `full` level keeps: they cost as much as the run itself."


class Row(Struct, frozen=True, array_like=True):
    """One thing that happened. `seq` counts without gaps per node, so that a lost row is noticed."""

    seq: int
    at_us: int
    kind: Kind
    peer: int | None = None
    topic: str | None = None
    publisher: int | None = None
    incarnation: int | None = None
    sequence: int | None = None
    hops: int | None = None
    bytes: int | None = None
    detail: str | None = None
    attributes: Told | None = None
    "Of a publication, as the head's `values` says (see `wire/values.py`)."


class Head(Struct, frozen=True):
    """What every row of one file shares."""

    run: str
    node: int
    version: int = VERSION
    name: str = ""
    incarnation: int = 0
    "The node's life these rows are from: microseconds of the wall clock at its start."
    level: Level = "deliveries"
    host: str = ""
    "Which clock: nodes with the same text here share one. Empty where nobody knows."
    offset_us: int | None = None
    """The node's clock minus its host's monotonic clock. Rows have the time of the wall clock at the node's start plus
    what the monotonic one has run since, so this says how far the clocks of two nodes of one host differ."""
    values: Values | None = None
    """What its rows tell of attributes. None: it was written before they could, when details of more than 500 letters
    were cut, filters too."""
    sealed_to: bytes = b""
    "Where attributes are sealed: what the key that opens them is known by,"
    sealed_by: bytes = b""
    "and the public half of the pair that was made to seal those of this file."
