"""Messages ↔ bytes: msgpack of tagged structs, checked once on the way in, trusted from then on.

Events travel apart from the messages that carry them, as bytes that were signed. What such a message says beside its
event is encoded by itself, as a list of its other fields.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec import NODEFAULT, Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.events import Carried
from gossamer.core.machine import Message
from gossamer.core.messages import Carrier
from gossamer.wire.wording import wording


class Codec:
    """Speaks a fixed set of message types."""

    def __init__(self, types: Iterable[type[Struct]]) -> None:
        types = tuple(types)
        union: Any = reduce(or_, types)
        self.tags = {each.__struct_config__.tag: each for each in types}
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(union)
        self._beside: dict[type[Struct], Beside] = {each: Beside(each) for each in types if issubclass(each, Carrier)}

    def encode(self, message: Message) -> bytes:
        return self._encoder.encode(message)

    def decode(self, data: bytes | Raw) -> Message:
        try:
            return self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise PeerFault(f"not a message: {wording(wrong)}") from wrong

    def said(self, carrier: Message) -> bytes:
        """What a message says beside the event it carries; nothing, if it has no other fields."""
        names = self._beside[type(carrier)].names
        return self._encoder.encode([getattr(carrier, name) for name in names]) if names else b""

    def says_more(self, kind: type[Struct]) -> bool:
        """Whether such a message has something to say beside its event."""
        return bool(self._beside[kind].names)

    def carrier(self, kind: type[Struct], carried: Carried, said: bytes) -> Message:
        """The message again, around its event."""
        beside = self._beside[kind]
        if not beside.names:
            return kind(carried)
        try:
            told = beside.decoder.decode(said)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise PeerFault(f"not what {kind.__name__} says beside an event: {wording(wrong)}") from wrong
        return kind(carried=carried, **{name: getattr(told, name) for name in beside.names})

    def knows(self, data: bytes | Raw) -> bool:
        """Whether the tag is one of ours; a message of a newer version is skipped, one of ours that is wrong is not."""
        try:
            return _tags.decode(data).type in self.tags
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return True


class Beside:
    """The fields of a message that carries an event, but for the event."""

    def __init__(self, carrier: type[Struct]) -> None:
        fields = [each for each in msgspec.structs.fields(carrier) if each.name != "carried"]
        self.names = [each.name for each in fields]
        required = [(each.name, each.type) for each in fields if each.required]
        optional = [(each.name, each.type, each.default) for each in fields if each.default is not NODEFAULT]
        if len(required) + len(optional) < len(fields):
            raise TypeError(f"{carrier.__name__} has a field with a default that is made anew: give it a plain one")
        kind: Any = msgspec.defstruct(f"{carrier.__name__}Beside", [*required, *optional], array_like=True)
        self.decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(kind)


class Tagged(Struct):
    type: str


_tags = msgspec.msgpack.Decoder(Tagged)
