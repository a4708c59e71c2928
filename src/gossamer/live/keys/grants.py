"""Grants: what the authority lets a node do, bound to the node's name and its key, for a time."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import Misuse, PeerFault
from gossamer.core.topics import Hierarchy, Topic
from gossamer.live.keys.sealed import Authorities, seal
from gossamer.live.keys.signing import Signer
from gossamer.live.keys.trust import Act, Name
from gossamer.protocols.hpmcast.messages import Digits

SKEW_S = 300
"Clocks may differ by this much."
BYTES_MAX = 4096
"A sealed grant; half a record."
TOPICS_MAX = 64

Key = Annotated[bytes, Meta(min_length=32, max_length=32)]
Seconds = Annotated[int, Meta(ge=0, lt=2**40)]
Topics = Annotated[tuple[Topic, ...], Meta(max_length=TOPICS_MAX)]


class Grant(Struct, frozen=True, array_like=True):
    """Later versions may add fields at the end: they are signed with the rest, and skipped by those who came before."""

    network: Annotated[str, Meta(min_length=1, max_length=64)]
    node: Name
    key: Key
    "The node's public key, raw."
    publish: Topics
    "Where it may publish: these topics and everything below them."
    subscribe: Topics
    not_before_s: Seconds
    not_after_s: Seconds
    owner: Annotated[str, Meta(max_length=64)]
    "Who runs the node; empty: nobody named."
    serial: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    "Of a node's grants the one with the highest counts; microseconds at which it was issued."
    address: Digits = ()
    "Where it lives in a hierarchy, the topmost digit first; none: nothing is said of that."
    client: bool = False
    "It may use nodes and is none: nobody takes its calls for a node's, and no client takes it for one."

    def in_date(self, now_s: float) -> bool:
        return self.not_before_s - SKEW_S <= now_s <= self.not_after_s + SKEW_S

    def covers(self, act: Act, topic: Topic) -> bool:
        granted = self.publish if act == "publish" else self.subscribe
        return any(_names.includes(wide, topic) for wide in granted)


_names = Hierarchy()
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Grant)


def seal_grant(grant: Grant, authority: Signer) -> bytes:
    sealed = seal(b"grant", _encoder.encode(grant), authority)
    if len(sealed) > BYTES_MAX:
        raise Misuse(f"the topics of {grant.node} do not fit a grant of {BYTES_MAX} bytes: grant topics above them")
    return sealed


def open_grant(data: bytes, authorities: Authorities) -> tuple[Grant, bytes]:
    """The grant and the short form of the authority's key; PeerFault unless it is genuine."""
    sealed = authorities.opened(b"grant", data, BYTES_MAX)
    try:
        return _decoder.decode(sealed.content), sealed.authority
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise PeerFault(f"not a grant: {wrong}") from None
