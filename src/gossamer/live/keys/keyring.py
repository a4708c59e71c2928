"""A node's ring of keys: what the network's authority signed is believed, and nothing else."""

import ssl
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from gossamer.core.errors import Misuse, PeerFault
from gossamer.core.ids import Peer, peer_of
from gossamer.core.topics import Topic
from gossamer.live.keys import tls
from gossamer.live.keys.certificates import caller
from gossamer.live.keys.folder import REVOKED, Papers, read_papers, read_signer
from gossamer.live.keys.grants import SKEW_S, Grant, open_grant
from gossamer.live.keys.kept import KeptFile
from gossamer.live.keys.revoked import Revocations, open_revocations
from gossamer.live.keys.serials import Serials
from gossamer.live.keys.signing import fingerprint, text, verifier, verify
from gossamer.live.keys.standing import Held, Memory, Standing
from gossamer.live.keys.trust import Act, Caller, Outdated, Record, Stranger, check_addresses, decode_record
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.wire.proof import NO_PACK, Levels, Proof, Proofs, Stamp, stamp

GOOD_S = 10.0
"How long a key that was found good is believed without looking at dates again; revocation counts at once."
SIGNERS_MAX = 10_000

_encoder = msgspec.msgpack.Encoder()


class SignerOf(NamedTuple):
    """A publisher's key, found good."""

    node: str
    key: bytes
    verify: Callable[[bytes, bytes], bool]
    until_s: float


class Keyring:
    """`live.keys.trust.Trust` from a node's folder. Never needs the authority's key, nor the network's folder."""

    def __init__(self, papers: Papers, now_s: float) -> None:
        self.name = papers.grant.node
        self.peer: Peer = peer_of(self.name)
        self._standing = Standing()
        self._serials = Serials(papers.folder)
        self._list = KeptFile(papers.folder / REVOKED, "the list of revoked keys")
        self._grants: Memory[Held] = Memory()
        self._records: Memory[tuple[Record, Held]] = Memory()
        self._proofs = Proofs()
        self._signers: dict[tuple[Peer, bytes], SignerOf] = {}
        self._revocations, self._revoked = papers.revocations, papers.revoked
        self._take(papers, now_s)
        self._door, _ = self._contexts
        tls.follow(self._door, lambda: self._contexts[0])

    @classmethod
    def load(cls, folder: Path | str, now_s: float | None = None) -> "Keyring":
        return cls(read_papers(Path(folder)), time.time() if now_s is None else now_s)

    def reload(self, now_s: float | None = None) -> None:
        """Takes what the folder holds now; Misuse if that is no good, and all but a newer list stays as it was."""
        papers = read_papers(self._papers.folder)
        if (papers.grant.node, papers.grant.network) != (self.name, self.grant.network):
            raise Misuse(f"{papers.folder} is now of {papers.grant.node}, not of {self.name}: start that node instead")
        if papers.revocations.version > self._revocations.version:
            self._revocations, self._revoked = papers.revocations, papers.revoked
            self._signers.clear()
        elif papers.revoked != self._revoked:
            self._list.keep(lambda: self._revoked)
        self._take(papers, time.time() if now_s is None else now_s)

    def _take(self, papers: Papers, now_s: float) -> None:
        signer, contexts = read_signer(papers), tls.contexts(papers)
        refuse_unusable(papers.grant, self._revocations, now_s)
        self._papers, self._signer, self._contexts = papers, signer, contexts
        self._grants.clear()
        self._records.clear()
        self._signers.clear()
        self._standing.keep_only(papers.authorities.keys)
        self._own = Held.of(papers.grant, papers.authority)
        self._standing.add(self.peer, self._own)

    @property
    def grant(self) -> Grant:
        """What this node may do."""
        return self._papers.grant

    def contexts(self) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        return self._door, self._contexts[1]

    def caller(self, der: bytes) -> Caller:
        found = caller(der)
        if self.is_revoked(found.key):
            raise PeerFault(f"the key of {found.name} is revoked")
        return found

    def is_revoked(self, key: bytes) -> bool:
        """Whether a public key (raw) is worth nothing any more: a link that was proved by it is to be closed."""
        return fingerprint(key) in self._revocations.keys

    # -- records ------------------------------------------------------------------------------------------------

    def record(self, addresses: Sequence[str], version: int, life: int = 0) -> bytes:
        bare = Record(self.name, tuple(addresses), version, self._papers.sealed, life=life)
        return _encoder.encode(replace(bare, signature=self._signer.sign(record_text(bare))))

    def admit(self, data: bytes, now_s: float) -> Record:
        question = sha256(data).digest()
        record, held = self._records.get(question) or self._records.put(question, self._genuine(data))
        if held.grant.not_before_s - SKEW_S <= now_s:  # one that ran out has replaced those before it all the same
            self._standing.add(record.peer, held)
            self._serials.met(record.peer, held.grant.serial)
        if not held.grant.in_date(now_s):
            raise Outdated(f"the grant of {record.name} is out of date")
        if held.fingerprint in self._revocations.keys:
            raise Outdated(f"the key of {record.name} is revoked")
        return record

    def _genuine(self, data: bytes) -> tuple[Record, Held]:
        record = decode_record(data)
        if _encoder.encode(record) != data:
            raise PeerFault(f"a record of {record.name} in a spelling of its own")
        held = self._held(record.grant)
        if (held.grant.network, held.grant.node) != (self.grant.network, record.name):
            raise PeerFault(f"a record of {record.name} with the grant of {held.grant.node} in {held.grant.network}")
        if not verify(held.grant.key, record.signature, record_text(record)):
            raise PeerFault(f"a record of {record.name} that it did not sign")
        return check_addresses(record), held

    def _held(self, sealed: bytes) -> Held:
        question = sha256(sealed).digest()
        known = self._grants.get(question)
        return known or self._grants.put(question, Held.of(*open_grant(sealed, self._papers.authorities)))

    def matches(self, record: Record, caller: Caller) -> bool:
        keys = [each.grant.key for each in self._standing.of(record.peer)]
        return record.name == caller.name and caller.key in keys and not self.is_revoked(caller.key)

    # -- grants -------------------------------------------------------------------------------------------------

    def _is_good(self, held: Held, now_s: float) -> bool:
        return held.grant.in_date(now_s) and held.fingerprint not in self._revocations.keys

    def may(self, peer: Peer, act: Act, topic: Topic, now_s: float) -> bool:
        newest = self._newest(peer)
        return newest is not None and newest.grant.covers(act, topic) and self._is_good(newest, now_s)

    def owner(self, peer: Peer) -> str:
        newest = self._newest(peer)
        return newest.grant.owner if newest is not None else ""

    def lives_at(self, peer: Peer) -> Address:
        newest = self._newest(peer)
        return newest.grant.address if newest is not None else ()

    def is_client(self, peer: Peer) -> bool:
        newest = self._newest(peer)
        return newest is not None and newest.grant.client

    def _newest(self, peer: Peer) -> Held | None:
        """The grant that counts; None: it was not met, though older ones may have been."""
        if peer == self.peer:
            return self._own
        held = next(iter(self._standing.of(peer)), None)
        return held if held is not None and held.grant.serial >= self._serials.of(peer) else None

    # -- proofs -------------------------------------------------------------------------------------------------

    def stamp(self, tree: Levels, pack: bytes = NO_PACK) -> Stamp:
        return stamp(tree, pack, self._signer.short, self._signer.sign)

    def check(self, publisher: Peer, leaf: bytes, proof: Proof | None, now_s: float) -> None:
        if proof is None:
            raise PeerFault("events without their publisher's proof")
        signer = self._signer_of(publisher, proof.key, now_s)
        if not self._proofs.holds(leaf, proof, signer.verify, signer.key):
            raise PeerFault(f"events that {signer.node} did not sign")

    def _signer_of(self, publisher: Peer, short: bytes, now_s: float) -> SignerOf:
        """Whose key a proof names, if it is good; believed for a while, because it is asked for every event."""
        signer = self._signers.get((publisher, short))
        return signer if signer is not None and signer.until_s >= now_s else self._find_signer(publisher, short, now_s)

    def _find_signer(self, publisher: Peer, short: bytes, now_s: float) -> SignerOf:
        grants = self._standing.of(publisher) if publisher != self.peer else (self._own, *self._standing.of(publisher))
        newest = next((held for held in grants if held.short == short), None)
        if newest is None:
            raise Stranger(f"an event by key {short.hex()}, of which no record was admitted")
        node, key = newest.grant.node, newest.grant.key
        if not self._is_good(newest, now_s):
            raise Outdated(f"an event of {node} by a key that is revoked or out of date")
        if len(self._signers) >= SIGNERS_MAX:
            self._signers.clear()
        found = self._signers[publisher, short] = SignerOf(node, key, verifier(key), now_s + GOOD_S)
        return found

    def spell(self, topic: Topic) -> str:
        return (
            "#" + blake2b(topic.encode(), digest_size=16, key=self._papers.secret, person=b"gossamer topic").hexdigest()
        )

    # -- revocation ---------------------------------------------------------------------------------------------

    def revocations(self) -> tuple[int, bytes]:
        version = self._revocations.version
        return version, self._revoked if version else b""

    def revoke(self, data: bytes) -> list[Peer]:
        if data == self._revoked:
            return []
        found = open_revocations(data, self._papers.authorities)
        if found.network != self.grant.network:
            raise PeerFault(f"a revocation list of {found.network}")
        if found.version <= self._revocations.version:
            return []
        self._revocations, self._revoked = found, data
        self._signers.clear()
        self._list.keep(lambda: self._revoked)
        return self.shut_out()

    def shut_out(self) -> list[Peer]:
        """Whom the list shuts out: nodes on it of whom no newer key is known."""
        named = dict.fromkeys(peer_of(each.node) for each in self._revocations.revoked)
        return [peer for peer in named if self._is_out(peer)]

    def _is_out(self, peer: Peer) -> bool:
        """Whether the newest key of a peer is revoked, as far as one knows."""
        newest = self._newest(peer)
        return newest is None or newest.fingerprint in self._revocations.keys

    def settled(self) -> None:
        """Waits until what was learnt while running is on disk, or could not be written."""
        self._list.settled()
        self._serials.settled()


def record_text(record: Record) -> bytes:
    """What a node signs: all of its record but the signature."""
    return text(b"record", _encoder.encode(replace(record, signature=b"")))


def refuse_unusable(grant: Grant, revocations: Revocations, now_s: float) -> None:
    """A node whose grant nobody would accept is better told than started."""
    again = f"gossamer keys grant NETWORK --node {grant.node}"
    if fingerprint(grant.key) in revocations.keys:
        raise Misuse(f"the key of {grant.node} is revoked: give it another with {again} --new-key")
    if not grant.in_date(now_s):
        when = "has expired" if now_s > grant.not_after_s else "is not valid yet"
        raise Misuse(f"the grant of {grant.node} {when}: renew it with {again}, or set this machine's clock right")
