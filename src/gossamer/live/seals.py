"""Entries of the interest view: signed by the node they are about as they leave it, checked before the machine hears of
them. Whoever passes one on passes on the seal."""

import time
from hashlib import sha256

import msgspec

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.live.clock import monotonic_us
from gossamer.live.link import Link
from gossamer.live.trust import Outdated, Stranger, Trust
from gossamer.protocols.interests.messages import Entry, Tell
from gossamer.wire.proof import HASH_BYTES, Proof, levels, proofs

_encoder = msgspec.msgpack.Encoder()
_proofs = msgspec.msgpack.Decoder(Proof)


def leaf_of(entry: Entry) -> bytes:
    """What is signed: everything but the age, which others change."""
    mark = entry.mark
    text = _encoder.encode((mark.peer, mark.incarnation, mark.version, entry.wants))
    return sha256(b"gossamer interests:" + text).digest()[:HASH_BYTES]


class Seals:
    """One node's."""

    def __init__(self, me: Peer, trust: Trust) -> None:
        self.me, self.trust = me, trust

    def sealed(self, message: Message) -> Message:
        """A message as it may leave: with our seal on what it says of ourselves."""
        if type(message) is not Tell or all(entry.mark.peer != self.me for entry in message.entries):
            return message
        return Tell(tuple(self._seal(entry) if entry.mark.peer == self.me else entry for entry in message.entries))

    def _seal(self, entry: Entry) -> Entry:
        tree = levels([leaf_of(entry)])
        (proof,) = proofs(tree, self.trust.stamp(tree))
        return entry if proof is None else Entry(entry.mark, entry.wants, _encoder.encode(proof))

    def genuine(self, link: Link, message: Message) -> Message:
        """A message with what is genuine in it. Whoever passes on what nobody signed should have looked itself."""
        if type(message) is not Tell:
            return message
        return Tell(tuple(entry for entry in message.entries if not link.closed and self._holds(link, entry)))

    def _holds(self, link: Link, entry: Entry) -> bool:
        if not link.checks.take(monotonic_us()):
            link.decline("too many records")
            return False
        try:
            proof = _proofs.decode(entry.seal) if entry.seal else None
            self.trust.check(entry.mark.peer, leaf_of(entry), proof, time.time())
        except Stranger:
            link.decline("unknown publisher")
        except Outdated:
            link.decline("outdated publisher")
        except (PeerFault, msgspec.DecodeError) as wrong:
            link.strike("bad proof", f"wants of {entry.mark.peer} that it did not sign: {wrong}")
        else:
            return True
        return False
