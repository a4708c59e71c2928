"""What `format("gossamer")` is told: which nodes, as whom, and what of theirs is read or written."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.filters import parse
from gossamer.core.reading import convert
from gossamer.live.clients.arguments import subscription_name, topic_of
from gossamer.live.keys.trust import is_loopback, split_address

READ = ("topic", "where", "name", "attributes", "maxrowspertrigger", "partitions", "gaps", "starting", "pushdown")
WRITTEN = ("topic", "run", "window")
ANYWHERE = ("config", "nodes", "keys", "network", "patience")
SPARKS = ("path", "checkpointlocation", "queryname", "outputmode")
"What Spark hands on though it is not for us."


class Attached(Struct, frozen=True):
    """Nodes, and what a client shows them."""

    nodes: tuple[str, ...] = ()
    keys: str | None = None
    network: str = "default"
    patience_s: float = 60.0
    "How long a node may be away before that is an error."


class Reading(Struct, frozen=True):
    """What is read."""

    attached: Attached
    topic: str
    where: str = ""
    name: str = ""
    rows_max: int = 0
    "In a batch of a stream; 0: all there are."
    partitions: int = 1
    "For each node."
    fails_on_gaps: bool = True
    from_start: bool = False
    "Whether a new subscription begins with what the nodes' logs have."
    pushes: bool = False
    """Whether conditions are asked at the nodes. Spark 4.3 keeps what was pushed with the frame, not with the question:
    who asks one frame two things in one query would be given the rows of one of them twice. So it must be wished."""


class Writing(Struct, frozen=True):
    """What is written."""

    attached: Attached
    topic: str = ""
    "Of rows that have no topic of their own."
    run: str = ""
    "A name for this write, by which rows without an id are known."
    window: int = 500
    "Publications under way at once, of one task."


class ClientFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of settings for clients."""

    nodes: tuple[str, ...] = ()
    keys: str = ""
    network: str = "default"


def attached(options: Mapping[str, str], also: tuple[str, ...]) -> Attached:
    """A file's words, and the options that say otherwise."""
    for name in options:
        if name.lower() not in (*ANYWHERE, *also, *SPARKS):
            known = ", ".join((*ANYWHERE, *also))
            raise Misuse(f"format('gossamer') has no option {name!r} here; it has {known}")
    said = ClientFile()
    if "config" in options:
        said = client_file(Path(options["config"]))
    nodes = tuple(filter(None, map(str.strip, options.get("nodes", "").split(",")))) or said.nodes
    keys = options.get("keys") or said.keys or None
    if not nodes:
        raise Misuse("which nodes? Give option('nodes', 'HOST:PORT, …'), or option('config', FILE) with nodes = […]")
    if len({*nodes}) < len(nodes):
        raise Misuse(f"a node stands twice among {', '.join(nodes)}: name each once")
    for address in nodes:
        split_address(address)
        if keys is None and not is_loopback(address):
            raise Misuse(f"{address} may be another machine, and without keys nothing leaves this one: give keys")
    patience_s = number(options, "patience", 60)
    return Attached(nodes, keys, options.get("network") or said.network, patience_s)


def client_file(path: Path) -> ClientFile:
    try:
        said = convert(tomllib.loads(path.read_text()), ClientFile, "")
    except OSError as wrong:
        raise Misuse(f"{path} cannot be read: {wrong.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise Misuse(f"{path} is no TOML: {wrong}") from None
    keys = str((path.parent / said.keys).absolute()) if said.keys else ""
    return ClientFile(said.nodes, keys, said.network)


def reading(options: Mapping[str, str], streams: bool) -> Reading:
    who = attached(options, READ)
    topic, name = topic_of(options.get("topic", ".")), subscription_name(options.get("name", ""))
    if "topic" not in options:
        raise Misuse("which topic? Give option('topic', '.stocks'), or '.' for all")
    if streams and not name:
        raise Misuse("a stream needs option('name', …): the durable subscription that keeps what it has not had yet")
    where = options.get("where", "")
    return Reading(
        who,
        topic,
        parse(where).text if where else "",
        name,
        rows_max=number(options, "maxRowsPerTrigger", 0),
        partitions=max(1, number(options, "partitions", 1)),
        fails_on_gaps=choice(options, "gaps", ("fail", "pass")) == "fail",
        from_start=choice(options, "starting", ("now", "earliest")) == "earliest",
        pushes=choice(options, "pushdown", ("false", "true")) == "true",
    )


def writing(options: Mapping[str, str]) -> Writing:
    topic = options.get("topic", "")
    run, window = options.get("run", ""), max(1, number(options, "window", 500))
    return Writing(attached(options, WRITTEN), topic_of(topic) if topic else "", run, window)


def number(options: Mapping[str, str], name: str, default: int) -> int:
    said = options.get(name, str(default)).strip()
    if not said.isdecimal() or len(said) > 9:
        raise Misuse(f"{name} is a whole number, not {said!r}")
    return int(said)


def choice(options: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    said = options.get(name, known[0]).strip().lower()
    if said not in known:
        raise Misuse(f"{name} is {' or '.join(known)}, not {said!r}")
    return said
