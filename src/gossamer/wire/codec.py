"""Messages ↔ bytes: msgpack of tagged structs, checked once on the way in, trusted from then on."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec import Raw, Struct

from gossamer.core.errors import PeerFault
from gossamer.core.machine import Message


class Codec:
    """Speaks a fixed set of message types."""

    def __init__(self, types: Iterable[type[Struct]]) -> None:
        types = tuple(types)
        union: Any = reduce(or_, types)
        self.tags = {each.__struct_config__.tag: each for each in types}
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(union)

    def encode(self, message: Message) -> bytes:
        return self._encoder.encode(message)

    def decode(self, data: bytes | Raw) -> Message:
        try:
            return self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise PeerFault(f"not a message: {wrong}") from wrong

    def knows(self, data: bytes | Raw) -> bool:
        """Whether the tag is one of ours; a message of a newer version is skipped, one of ours that is wrong is not."""
        try:
            return _tags.decode(data).type in self.tags
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return True


class Tagged(Struct):
    type: str


_tags = msgspec.msgpack.Decoder(Tagged)
