"""The list of revoked keys: signed as a whole and numbered, so that everybody ends with the newest."""

from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import PeerFault
from gossamer.live.keys.grants import Key, Seconds
from gossamer.live.keys.sealed import Authorities, seal
from gossamer.live.keys.signing import Signer
from gossamer.live.keys.trust import Name

KEYS_MAX = 1000
"Keys whose grants have run out leave the list, so this bounds revocations within the validity of grants."
BYTES_MAX = 110_000
"Of a sealed list with that many keys of nodes with the longest names."


class Revoked(Struct, frozen=True, array_like=True):
    """One key that is worth nothing any more."""

    key: Key
    "The fingerprint of the key."
    node: Name


class Revocations(Struct, frozen=True, array_like=True, dict=True):
    """All of them."""

    network: Annotated[str, Meta(min_length=1, max_length=64)]
    version: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    "Counts from 0, an empty list: a higher one replaces a lower one."
    issued_s: Seconds
    revoked: Annotated[tuple[Revoked, ...], Meta(max_length=KEYS_MAX)]

    @cached_property
    def keys(self) -> frozenset[bytes]:
        return frozenset(each.key for each in self.revoked)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Revocations)


def seal_revocations(revocations: Revocations, authority: Signer) -> bytes:
    return seal(b"revocation list", _encoder.encode(revocations), authority)


def open_revocations(data: bytes, authorities: Authorities) -> Revocations:
    """The list; PeerFault unless it is genuine."""
    sealed = authorities.opened(b"revocation list", data, BYTES_MAX)
    try:
        return _decoder.decode(sealed.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise PeerFault(f"not a revocation list: {wrong}") from None
