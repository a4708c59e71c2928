"""The journal of one life of a node: everything its machine was given, so that a fresh machine can be given it again.

A file is a magic word, a head that says what to build the machine from, and records as in trace segments, each a list
of entries. Of the effects an entry has only their number and a digest, which is enough to compare. Topics are spelled
with the network's secret, so an entry has the answers the machine got when it asked: a journal holds no key. It does
hold payloads.

Messages have tags; timers and parameters have none and are named by their class. Only those decode that a node's own
layers hear.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from gossamer.core import machine
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Given, SetTimer, Tune
from gossamer.core.topics import Topic
from gossamer.protocols.assemble import Design
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.wire.segment import seal

MAGIC = b"GOSSJRNL"
VERSION = 2
"2: events that came together are one given. What answers look like changed with it, so that of 1 none compare."
OPEN, SEALED = ".journaling", ".journal"
"How the name of a file ends that is being written, and of one that is finished."
SETTINGS = "Settings"
"The kind of an entry that is no step: these parameters hold from here on."
DIGEST_BYTES = 8


class Settings(Struct, frozen=True):
    """Parameters that the machine asks for while it runs."""

    camcast: CamcastParams
    topics: dict[str, CamcastParams]
    "Those of single topics."
    scamp: ScampParams
    recovery: RecoveryParams = RecoveryParams(method="none")
    recovery_topics: dict[str, RecoveryParams] = {}

    def of(self, topic: Topic) -> CamcastParams:
        return self.topics.get(topic, self.camcast)

    def recovery_of(self, topic: Topic) -> RecoveryParams:
        return self.recovery_topics.get(topic, self.recovery)


class Head(Struct, frozen=True, kw_only=True):
    """Everything needed to build the same machine."""

    network: str
    name: str
    node: Peer
    incarnation: int
    seed: int
    parents: dict[Topic, tuple[Topic, ...]]
    "Super-topics beside those the names tell."
    settings: Settings
    "At the start of this life."
    search: SearchParams
    catchup: CatchUpParams | None = None
    design: Design = Design()
    step: int = 0
    "Steps in the files of this life before this one."
    gossamer: str = ""
    "What wrote it: see `software`."
    version: int = VERSION


class Entry(Struct, frozen=True, array_like=True):
    """One step. New fields go last, with a default."""

    at_us: int
    kind: str
    given: Raw
    effects: int | None
    "How many; None: the step raised."
    digest: bytes
    spelled: dict[Topic, str] = {}
    "Answers to how topics are spelled that this step was the first to get."
    error: str = ""
    "What it raised."


_encoder = msgspec.msgpack.Encoder()


@cache
def named(kind: type[Any]) -> str:
    """A class by its module and name."""
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def software() -> str:
    """The version of this package, and a fingerprint of the code that machines are made of."""
    try:
        ours = version("gossamer")
    except PackageNotFoundError:
        ours = "unknown"
    package, code = Path(machine.__file__).parents[1], blake2b(digest_size=4)
    for path in sorted(path for room in ("core", "parts", "protocols") for path in (package / room).rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return f"{ours} (code {code.hexdigest()})"


def opening(head: Head) -> bytes:
    """What a file begins with."""
    return MAGIC + seal(_encoder.encode(head))


def kind_of(given: Given) -> str:
    if isinstance(given, Fired):
        return f"Fired {named(type(given.timer))}"
    if isinstance(given, Tune):
        return f"Tune {named(type(given.params))}"
    return type(given).__name__


def encoded(what: Given | Settings) -> Raw:
    return Raw(_encoder.encode(what))


def entry(
    at_us: int,
    kind: str,
    given: Raw,
    effects: int | None,
    digest: bytes,
    spelled: dict[Topic, str] | None = None,
    error: str = "",
) -> bytes:
    """An entry as it is written; a tuple is encoded as an `Entry` is, and most need not say the last two fields."""
    if spelled or error:
        return _encoder.encode((at_us, kind, given, effects, digest, spelled or {}, error))
    return _encoder.encode((at_us, kind, given, effects, digest))


def record(entries: Sequence[bytes]) -> bytes:
    """Entries of one turn as one record."""
    return seal(_encoder.encode([*map(Raw, entries)]))


def digest(effects: Sequence[Effect]) -> bytes:
    """Stands for these effects, in their order. Two timers may have the same fields: their names count too."""
    timers = [named(type(effect.timer)) for effect in effects if type(effect) is SetTimer]
    try:
        data = _encoder.encode((timers, effects))
    except (ValueError, OverflowError, TypeError):  # a number of more than 64 bits, half a letter
        data = repr([*effects]).encode(errors="backslashreplace")
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
