"""Reading journals: whole records, and in them only what a machine could have been given."""

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct

from gossamer.core.errors import Misuse, PeerFault, SpecError
from gossamer.core.ids import Peer
from gossamer.core.machine import Fired, Given, Received, Tune
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.protocols.spidercast.params import Params as SpidercastParams
from gossamer.wire.codec import Codec
from gossamer.wire.journal import MAGIC, VERSION, Entry, Head, Settings, named
from gossamer.wire.segment import RecordReader


class Unheard(Struct, frozen=True, tag="journal.unheard"):
    """Stands for a message that no layer hears: a machine refuses it, whatever it says."""


_PLAIN = tuple(kind for kind in get_args(Given) if kind not in (Received, Fired, Tune))
"Givens that say all in their fields; of the others, what they hold must be named."
_PARAMS: tuple[type[Struct], ...] = (
    *(CamcastParams, RecoveryParams, ScampParams, SearchParams),
    *(SpidercastParams, InterestsParams),
    *(HpmcastParams, Upkeep),
)


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
        if written < VERSION:
            raise SpecError(
                f"{self.path.name} was written by an older version (journal {written}): replay it with that one"
            )
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
