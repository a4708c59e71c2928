"""What an authority has signed. The content is read only once the signature is found genuine."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import PeerFault
from gossamer.live.keys.signing import SHORT, Signer, short, text, verify
from gossamer.live.keys.trust import Stranger


class Sealed(Struct, frozen=True, array_like=True):
    """Bytes under an authority's signature."""

    content: bytes
    authority: Annotated[bytes, Meta(min_length=SHORT, max_length=SHORT)]
    "The short form of its key."
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Sealed)


def seal(kind: bytes, content: bytes, authority: Signer) -> bytes:
    return _encoder.encode(Sealed(content, authority.short, authority.sign(text(kind, content))))


class Authorities:
    """Those whose seals are good: one, or two while one takes over from the other."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.keys = {short(key): key for key in keys}

    def opened(self, kind: bytes, data: bytes, bytes_max: int) -> Sealed:
        """The seal, once it is found genuine; PeerFault otherwise."""
        if len(data) > bytes_max:
            raise PeerFault(f"a {kind.decode()} of {len(data)} bytes is too long")
        try:
            sealed = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            raise PeerFault(f"not a {kind.decode()}: {wrong}") from None
        if _encoder.encode(sealed) != data:
            raise PeerFault(f"a {kind.decode()} has one spelling, and this is another")
        if (key := self.keys.get(sealed.authority)) is None:
            raise Stranger(f"a {kind.decode()} by authority {sealed.authority.hex()}, which this node does not trust")
        if not verify(key, sealed.signature, text(kind, sealed.content)):
            raise PeerFault(f"a {kind.decode()} that the authority did not sign")
        return sealed
