"""The tables of a node's configuration, each with its defaults and what would be senseless in it."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from gossamer.core.errors import Misuse
from gossamer.core.topics import Hierarchy
from gossamer.core.trace import Level, Values
from gossamer.live.keys.trust import is_loopback, split_address
from gossamer.wire.frame import FRAME_BYTES_MAX

Durability: TypeAlias = Literal["process", "disk", "off"]
OutboxFull: TypeAlias = Literal["wait", "refuse"]

EVENT_BYTES_MAX = 16 << 20
FRAME_BYTES_MIN = 4 << 10
MEMORY_BYTES = 64 << 20
"Delivered events, or publications that wait, where the spool has no folder."


class SpoolConfig(Struct, frozen=True, kw_only=True):
    """[spool]: what is kept, so that neither a crash nor a reader's absence loses an event."""

    folder: Path | None = None
    "Where; none: in memory, and gone with the process. Two nodes never share one."
    durability: Durability = "process"
    """What an accepted publication survives: `process`, the end of the process, SIGKILL too; `disk`, loss of power as
    well, at the price of a sync; `off`, neither: there is no spool, nothing for readers that come later, and nobody who
    would remember keys and names."""
    keep_s: float = 24 * 3600.0
    """How long delivered events are kept for readers that come later, keys of publications are remembered, and what
    nobody takes is offered."""
    keep_bytes: int = 1 << 30
    "How much of them, at most; the oldest go first."
    durable_bytes: int = 1 << 30
    """How much is kept beyond that, however old, because a durable subscription has not acknowledged it. Beyond it the
    oldest go, and that subscription is told how many."""
    forget_s: float = 30 * 24 * 3600.0
    "A durable subscription that nobody read for so long, while the node ran, is forgotten."
    outbox_bytes: int = 256 << 20
    "How much of this node's own publications may wait for members, beside that."
    outbox_full: OutboxFull = "wait"
    "What `publish` does when they come to more: `wait` until there is room, or `refuse` with `Full`."
    copies: int = 3
    """Members that must have a publication on disk before this node forgets it: all that have a disk, if they are
    fewer; where nobody has one, so many in memory. More: surer, and it waits longer in the outbox."""

    def __post_init__(self) -> None:
        as_path(self, "folder")
        above_zero(self, "keep_s", "keep_bytes", "durable_bytes", "forget_s", "outbox_bytes", "copies")
        if self.durability == "disk" and self.folder is None:
            raise Misuse('durability "disk" needs a folder: memory does not survive a loss of power')


def within_memory(spool: SpoolConfig, wanted: int) -> int:
    """So many bytes, or fewer where the spool has no folder: that is memory."""
    return wanted if spool.folder is not None else min(wanted, MEMORY_BYTES)


class TraceConfig(Struct, frozen=True, kw_only=True):
    """[trace]: rows of what happened, for the audit."""

    folder: Path | None = None
    "Where; none: no traces."
    level: Level = "deliveries"
    "`deliveries`, `full` (every send and receive), `journal` (everything, payloads too, for replay) or `off`."
    keep_s: float = 30 * 86_400.0
    "How long files are kept after they were last written to; a former life's journal goes as a whole."
    keep_bytes: int = 1 << 30
    "How many bytes of them: beyond, the oldest go. The journal of this life stays, however long it gets."
    values: Values | Literal["auto"] = "auto"
    """What the audit is told of the attributes of this node's events, to judge filters by: `sealed`, so that only the
    key that audits opens them; `plain`; or `off`. `auto`: sealed where there is such a key, else off."""
    audit_key: Path | None = None
    "The public half of that key. None: `audit.pub` among the node's keys, if it is there."

    def __post_init__(self) -> None:
        as_path(self, "folder")
        as_path(self, "audit_key")
        above_zero(self, "keep_s", "keep_bytes")


class MetricsConfig(Struct, frozen=True, kw_only=True):
    """[metrics]: where /metrics and /healthz are served."""

    bind: str = "127.0.0.1:0"
    "An address (port 0: any free one), or `off`. They have no keys: leave loopback only behind a firewall."

    def __post_init__(self) -> None:
        if self.bind != "off":
            check_address("bind", self.bind)


class Limits(Struct, frozen=True, kw_only=True):
    """[limits]: what one peer, reader or publisher can make this node hold."""

    event_bytes_max: int = EVENT_BYTES_MAX
    "Larger events are refused before they are accepted; at most 16 MiB, which every node can take."
    frame_bytes: int = 256 << 10
    "Bytes of messages that go into one frame before it is sent; 4 KiB to 1 MiB."
    link_queue_bytes: int = 8 << 20
    "Bytes waiting to leave for one peer; above it, copies for that peer are dropped."
    links_max: int = 1_000
    "Links open at once; further callers are turned away."
    clients_max: int = 64
    "Clients attached at once; a quarter of them of one identity."
    client_readers: int = 256
    "Readers one client identity has open, over all its connections."
    client_topics: int = 256
    "Topics one client identity publishes on within two minutes."
    client_requests_per_s: float = 100_000.0
    "Requests of one client identity; a publication counts once more for each KiB. Beyond it, it is not read from."
    inbox_items: int = 10_000
    "Events one reader has in memory; further ones wait in the spool."
    inbox_bytes: int = 64 << 20
    "The same in bytes."
    records_max: int = 10_000
    "Peers in the address book."
    requests_per_s: float = 100.0
    "Joins and searches taken from one origin, on average."
    requests_burst: int = 1000
    "And at once."

    def __post_init__(self) -> None:
        above_zero(self, *self.__struct_fields__)
        if self.event_bytes_max > EVENT_BYTES_MAX:
            raise Misuse(f"event_bytes_max must be at most {EVENT_BYTES_MAX} (16 MiB), not {self.event_bytes_max}")
        if not FRAME_BYTES_MIN <= self.frame_bytes <= FRAME_BYTES_MAX:
            raise Misuse(f"frame_bytes must be {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX}, not {self.frame_bytes}")


class Timeouts(Struct, frozen=True, kw_only=True):
    """[timeouts], in seconds."""

    dial_s: float = 5.0
    "To open a connection."
    handshake_s: float = 5.0
    "To prove a name and say hello, for either side."
    idle_s: float = 300.0
    "A link that carried nothing for so long is closed."
    ack_s: float = 2.0
    "A publication that too few acknowledged by then is spread again; the next time it may take twice as long."
    handle_s: float = 30.0
    """A reader of a durable subscription that has events and acknowledges nothing for so long loses them: they come
    again, marked, to it or to another."""
    silent_s: float = 30.0
    "A client that answers nothing, or reads nothing of what it is told, for so long gives its place up."
    leave_s: float = 5.0
    "To say goodbye and send what is queued."

    def __post_init__(self) -> None:
        above_zero(self, *self.__struct_fields__)


class FaultsConfig(Struct, frozen=True, kw_only=True):
    """[faults]: losses made on purpose, to see what a network does about them. Not for networks in use."""

    loss: float = 0.0
    "The share of events and messages that this node does not hear, though they arrived."
    burst: float = 1.0
    "How many in a row from one peer, on average; 1: each by itself."
    seed: int = 0
    "Another one: other losses."

    def __post_init__(self) -> None:
        if not 0 <= self.loss < 1:
            raise Misuse(f"loss must be at least 0 and below 1, not {self.loss}")
        if not (self.burst >= 1 and math.isfinite(self.burst)):
            raise Misuse(f"burst must be at least 1, not {self.burst}")
        if not 0 <= self.seed < 2**63:
            raise Misuse(f"seed must be between 0 and 2^63 - 1, not {self.seed}")


class HierarchyConfig(Struct, frozen=True, kw_only=True):
    """[hierarchy]: super-topics beside those the names tell. Every node of a network should say the same."""

    parents: dict[str, tuple[str, ...]] = {}

    def __post_init__(self) -> None:
        with about("parents"):
            self.order()

    def order(self) -> Hierarchy:
        return Hierarchy(self.parents)


# Checks that tables share


def above_zero(table: Struct, *fields: str) -> None:
    for field in fields:
        value = getattr(table, field)
        if not (value > 0 and math.isfinite(value)):
            raise Misuse(f"{field} must be above 0, not {value}")


def as_path(table: Struct, field: str) -> None:
    """Text for a path is as good: who makes a table in Python may write either."""
    if isinstance(value := getattr(table, field), str):
        structs.force_setattr(table, field, Path(value) if value else None)


def as_tuple(table: Struct, field: str) -> None:
    """A list is as good as a tuple; text would fall into letters."""
    if isinstance(value := getattr(table, field), str):
        raise Misuse(f"{field} must be a list, not the text {value!r}")
    structs.force_setattr(table, field, tuple(value))


def check_address(field: str, address: str, port_min: int = 0) -> None:
    if not address.startswith("memory:"):
        with about(field):
            _, port = split_address(address)
        if port < port_min:
            raise Misuse(f"{field}: {address} has no port that could be called")


def is_wildcard(address: str) -> bool:
    """Whether an address means every address of the machine."""
    try:
        return ip_address(split_address(address)[0]).is_unspecified
    except (Misuse, ValueError):
        return False


@contextlib.contextmanager
def about(field: str) -> Iterator[None]:
    """Puts the field before what is said of its value."""
    try:
        yield
    except Misuse as wrong:
        raise Misuse(f"{field}: {wrong}") from None


def check_it_stays_here(bind: str, others: Mapping[str, Sequence[str]]) -> None:
    """Without keys a node calls, and is called by, nobody but this machine. `others`: addresses by field."""
    if not is_loopback(bind):
        raise Misuse(
            f"bind is {bind}, which other machines can reach, but without keys whoever connects is believed: "
            "set keys (made with `gossamer keys`), or bind to 127.0.0.1"
        )
    for field, addresses in others.items():
        for each in addresses:
            if not is_loopback(each):
                raise Misuse(
                    f"{field} names {each}, which is not this machine, but without keys a node stays on loopback: "
                    "set keys (made with `gossamer keys`)"
                )
