"""The journal of one life of a node: everything its machine was given, so that a fresh machine can be given it again.

A file is a magic word, a head that says what to build the machine from, and records as in trace segments, each a list
of entries. Of the effects an entry has only their number and a digest, which is enough to compare. Topics are spelled
with the network's secret, so an entry has the answers the machine got when it asked: a journal holds no key. It does
hold payloads.

Messages have tags; timers and parameters have none and are named by their class. Only those decode that a node's own
layers hear.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from msgspec import Raw, Struct

from gossamer.core import machine
from gossamer.core.errors import Misuse, PeerFault, SpecError
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Given, Received, SetTimer, Tune
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.wire.codec import Codec
from gossamer.wire.segment import RecordReader, seal

MAGIC = b"GOSSJRNL"
VERSION = 1
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

    def of(self, topic: Topic) -> CamcastParams:
        return self.topics.get(topic, self.camcast)


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
    step: int = 0
    "Steps in the files of this life before this one."
    gossamer: str = ""
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


class Unheard(Struct, frozen=True, tag="journal.unheard"):
    """Stands for a message that no layer hears: a machine refuses it, whatever it says."""


_PLAIN = (
    machine.Started,
    machine.Contacted,
    machine.Known,
    machine.Introduced,
    machine.Publish,
    machine.StartPublishing,
    machine.StopPublishing,
    machine.Subscribe,
    machine.Unsubscribe,
    machine.PeerDown,
    machine.Leave,
)
_PARAMS: tuple[type[Struct], ...] = (CamcastParams, ScampParams, SearchParams)
_encoder = msgspec.msgpack.Encoder()


@cache
def named(kind: type[Any]) -> str:
    """A class by its module and name."""
    return f"{kind.__module__}.{kind.__qualname__}"


def software() -> str:
    """The version of this package, as a head names it."""
    try:
        return version("gossamer")
    except PackageNotFoundError:
        return "unknown"


# -- writing ----------------------------------------------------------------------------------------------------------


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
        data = repr(effects).encode(errors="backslashreplace")
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


# -- reading ----------------------------------------------------------------------------------------------------------


class JournalReader(RecordReader):
    """Entries of one file, record by record; afterwards `problem` says what was left out, if anything was."""

    magic = MAGIC
    what = "journal"

    def read_head(self) -> Head:
        """SpecError if this is no journal, or none that can be read here."""
        with self.path.open("rb") as file:
            return self._head(self._contents(file))

    def __iter__(self) -> Iterator[list[Entry]]:
        with self.path.open("rb") as file:
            contents = self._contents(file)
            self._head(contents)
            for content in contents:
                try:
                    yield _entries.decode(content)
                except (msgspec.DecodeError, UnicodeDecodeError) as wrong:  # its CRC is right: written so
                    self.problem = f"a record holds no entries ({wrong})"
                    return

    def _head(self, contents: Iterator[bytes]) -> Head:
        content = next(contents, b"")
        written = self._read_head(iter([content]), _versions).version
        if written > VERSION:  # the rest of its head may look different
            raise SpecError(f"{self.path.name} was written by a newer version (journal {written}): upgrade to read it")
        try:
            return self._read_head(iter([content]), _heads)
        except Misuse as wrong:
            raise SpecError(f"{self.path.name}: {wrong}") from None


class _Versioned(Struct):
    version: int


class _Received(Struct):
    peer: Peer
    message: Raw


class _Fired(Struct):
    timer: Raw


class _Tune(Struct):
    topic: Topic
    params: Raw


_versions = msgspec.msgpack.Decoder(_Versioned)
_heads = msgspec.msgpack.Decoder(Head)
_entries = msgspec.msgpack.Decoder(list[Entry])
_settings = msgspec.msgpack.Decoder(Settings)
_received = msgspec.msgpack.Decoder(_Received)
_fired = msgspec.msgpack.Decoder(_Fired)
_tune = msgspec.msgpack.Decoder(_Tune)


class Givens:
    """Reads givens for one machine: only the messages and timers its layers hear."""

    def __init__(self, node: Stack) -> None:
        tagged = [kind for kind in node.hearers if kind.__struct_config__.tag is not None]
        self.codec = Codec([*tagged, Unheard])
        self.plain: dict[str, msgspec.msgpack.Decoder[Any]] = {
            kind.__name__: msgspec.msgpack.Decoder(kind) for kind in _PLAIN
        }
        self.timers = {f"Fired {named(kind)}": kind for kind in node.hearers if kind not in tagged}
        self.params = {f"Tune {named(kind)}": kind for kind in _PARAMS}

    def read(self, entry: Entry) -> Given:
        """SpecError if it is nothing this machine could be given."""
        try:
            return self._read(entry.kind, entry.given)
        except (msgspec.DecodeError, UnicodeDecodeError, PeerFault, Misuse) as wrong:
            raise SpecError(f"it holds no {entry.kind}: {wrong}") from wrong

    def _read(self, kind: str, data: Raw) -> Given:
        if (plain := self.plain.get(kind)) is not None:
            return plain.decode(data)  # type: ignore[no-any-return]
        if kind == "Received":
            received = _received.decode(data)
            known = self.codec.knows(received.message)
            return Received(received.peer, self.codec.decode(received.message) if known else Unheard())
        if (timer := self.timers.get(kind)) is not None:
            return Fired(msgspec.msgpack.decode(_fired.decode(data).timer, type=timer))
        if (params := self.params.get(kind)) is not None:
            tune = _tune.decode(data)
            return Tune(tune.topic, msgspec.msgpack.decode(tune.params, type=params))
        raise SpecError(f"it holds {kind}, which no layer of a node hears: replay with the version that wrote it")


def read_settings(entry: Entry) -> Settings:
    try:
        return _settings.decode(entry.given)
    except (msgspec.DecodeError, UnicodeDecodeError, Misuse) as wrong:
        raise SpecError(f"it holds no settings: {wrong}") from wrong
