"""What nodes say of themselves and others pass on: entries of the interest view, rows of a hierarchy's views, and
registrations in the overlay. Each is signed by its author as it leaves it, and checked before the machine hears of it.
Whoever passes one on passes on the seal."""

import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import chain, repeat
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.live.keys.trust import Outdated, Stranger, Trust
from gossamer.live.links.link import Link
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.messages import LaterRows as RowsTell
from gossamer.protocols.hpmcast.messages import PlaceRequest as RowJoin
from gossamer.protocols.hpmcast.messages import RowDigest as RowsDigest
from gossamer.protocols.hpmcast.messages import SubsystemRow, in_rows
from gossamer.protocols.interests.messages import Entry, TellWants
from gossamer.protocols.pgrid.messages import Answer, Give, Registration, Reply
from gossamer.wire.proof import HASH_BYTES, NO_PACK, Proof, levels, proofs

Signed: TypeAlias = Entry | SubsystemRow | Registration
T = TypeVar("T", Entry, SubsystemRow, Registration)

SEALED_MAX = 256
"Seals of our own that are kept, so that nothing is signed twice: more than a node has to say of itself."
CHECKED_MAX = 20_000
"Registrations found genuine that are not checked again when they come by once more."

_encoder = msgspec.msgpack.Encoder()
_proofs = msgspec.msgpack.Decoder(Proof)


def leaf_of(said: Signed) -> bytes:
    """What is signed: everything but the seal, and the age, which others change."""
    if isinstance(said, Registration):
        text = _encoder.encode((said.name, said.place, said.member, said.stamp, said.gone))
        return sha256(b"gossamer registration:" + text).digest()[:HASH_BYTES]
    if isinstance(said, SubsystemRow):
        text = _encoder.encode((said.about, said.author, said.stamp, said.delegates, said.interest, said.count))
        return sha256(b"gossamer rows:" + text).digest()[:HASH_BYTES]
    mark = said.mark
    text = _encoder.encode((mark.peer, mark.incarnation, mark.version, said.wants))
    return sha256(b"gossamer interests:" + text).digest()[:HASH_BYTES]


def author_of(said: Signed) -> Peer:
    if isinstance(said, Registration):
        return said.member
    return said.author if isinstance(said, SubsystemRow) else said.mark.peer


def members_in(answer: Answer) -> Iterator[Registration]:
    return (said for reply in answer.replies for said in reply.members)


class Seals:
    """One node's."""

    def __init__(self, me: Peer, trust: Trust, rules: SpreadRules) -> None:
        self.me, self.trust, self.rules = me, trust, rules
        self._sealed: dict[bytes, bytes] = {}
        self._checked: dict[bytes, bytes] = {}

    def forget(self) -> None:
        """There may be another key."""
        self._sealed.clear()
        self._checked.clear()

    def sealed(self, message: Message) -> Message:
        """A message as it may leave: with our seal on what it says of ourselves."""
        if isinstance(message, TellWants) and any(entry.mark.peer == self.me for entry in message.entries):
            return TellWants(tuple(map(self._seal, message.entries)))
        if isinstance(message, RowsTell) and any(row.author == self.me for row in message.rows):
            return RowsTell(tuple(map(self._seal, message.rows)), message.ages_ms)
        if isinstance(message, RowJoin) and message.row.author == self.me:
            return replace(message, row=self._seal(message.row))
        if isinstance(message, Give) and any(said.member == self.me for said in message.registrations):
            return replace(message, registrations=tuple(map(self._seal, message.registrations)))
        if isinstance(message, Answer) and any(said.member == self.me for said in members_in(message)):
            return Answer(
                tuple(replace(each, members=tuple(map(self._seal, each.members))) for each in message.replies)
            )
        return message

    def _seal(self, said: T) -> T:
        if author_of(said) != self.me:
            return said
        leaf = leaf_of(said)
        seal = self._sealed.pop(leaf, None)
        if seal is None:
            tree = levels([leaf])
            (proof,) = proofs(tree, NO_PACK, self.trust.stamp(tree))
            seal = b"" if proof is None else _encoder.encode(proof)
        self._sealed[leaf] = seal
        if len(self._sealed) > SEALED_MAX:
            del self._sealed[next(iter(self._sealed))]
        return replace(said, seal=seal) if seal else said

    def genuine(self, link: Link, message: Message) -> Message | None:
        """A message with what is genuine in it, if anything is. Whoever passes on what nobody signed should have looked
        itself."""
        if isinstance(message, TellWants):
            return TellWants(tuple(entry for entry in message.entries if not link.closed and self._holds(link, entry)))
        if isinstance(message, RowsTell):
            ages = zip(message.rows, chain(message.ages_ms, repeat(0)))
            held = [(row, age_ms) for row, age_ms in ages if not link.closed and self._stands(link, row)]
            return RowsTell(tuple(row for row, _ in held), tuple(age_ms for _, age_ms in held))
        if isinstance(message, Give):
            given = zip(message.registrations, message.ages_ms)
            kept = [(said, age_ms) for said, age_ms in given if not link.closed and self._registers(link, said)]
            return replace(
                message,
                registrations=tuple(said for said, _ in kept),
                ages_ms=tuple(age_ms for _, age_ms in kept),
            )
        if isinstance(message, Answer):
            return Answer(tuple(self._genuine_reply(link, reply) for reply in message.replies))
        if isinstance(message, RowJoin) and not self._stands(link, message.row):
            return None
        if isinstance(message, RowsDigest) and link.peer is not None and not self.lives_at(link.peer, message.address):
            link.blame(link.peer, "not its address", "rows asked for where it does not live")
            return None
        return message

    def _genuine_reply(self, link: Link, reply: Reply) -> Reply:
        held = tuple(said for said in reply.members if not link.closed and self._registers(link, said))
        return reply if len(held) == len(reply.members) else replace(reply, members=held)

    def _registers(self, link: Link, said: Registration) -> bool:
        """Whether a registration is its member's, who may read the topic, as far as this node can read its name. Who
        passes it on need not know that."""
        leaf = leaf_of(said)
        if self._checked.get(leaf) != said.seal:
            if not self._holds(link, said):
                return False
            self._checked[leaf] = said.seal
            if len(self._checked) > CHECKED_MAX:
                del self._checked[next(iter(self._checked))]
        if self.rules.may_register(said.member, said.name):
            return True
        link.blame(said.member, "not granted", "registered for a topic it may not read")
        return False

    def lives_at(self, peer: Peer, address: Address) -> bool:
        """Whether somebody may live there. Who was granted no address says it itself, unless we were."""
        granted = self.trust.lives_at(peer)
        return granted == address if granted else not self.rules.bound

    def _stands(self, link: Link, row: SubsystemRow) -> bool:
        """Whether a row is its author's, and all it names may take part, where it says they live."""
        for peer in in_rows((row,)):
            if not self.rules.takes_part(peer):
                link.blame(peer, "not granted", "a row that names somebody who may not read what it would carry")
                return False
        for seat in row.delegates:
            if not self.lives_at(seat.peer, seat.address):
                link.blame(seat.peer, "not its address", "a row that puts somebody where it was not granted to live")
                return False
        if not self._holds(link, row):
            return False
        self.rules.saw(row)
        return True

    def _holds(self, link: Link, said: Signed) -> bool:
        if not link.may_check():
            link.decline("too many records")
            return False
        try:
            proof = _proofs.decode(said.seal) if said.seal else None
            self.trust.check(author_of(said), leaf_of(said), proof, time.time())
        except Stranger:
            link.decline("unknown publisher")
        except Outdated:
            link.decline("outdated publisher")
        except (PeerFault, msgspec.DecodeError) as wrong:
            link.strike("bad proof", f"what {author_of(said)} did not sign: {wrong}")
        else:
            return True
        return False
