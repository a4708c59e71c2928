"""What a node believes of others: records, grants and proofs, behind one interface.

`OpenTrust` believes everybody, and is therefore for one machine only; `keys.Keyring` believes what the network's
authority signed.
"""

import re
import ssl
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Meta, Struct

from gossamer.core.errors import Misuse, PeerFault
from gossamer.core.ids import Peer, peer_of
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast.addresses import Address as Place
from gossamer.wire.proof import NO_PACK, Levels, Proof, Stamp

Act: TypeAlias = Literal["publish", "subscribe"]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z")]
IN_PROCESS = "memory:"
"How addresses begin that stay in this process."
Address: TypeAlias = Annotated[str, Meta(min_length=3, max_length=261)]

RECORD_BYTES_MAX = 8192
HOST_MAX = 253
"Letters of a host's name; DNS has no longer ones."
HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
SCOPED = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?")


class Record(Struct, frozen=True, array_like=True):
    """How to reach a node, in its own words."""

    name: Name
    addresses: Annotated[tuple[Address, ...], Meta(max_length=8)]
    "Where it listens, best first; none: it takes no calls (a client, or a node that only publishes)."
    version: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    "When it was made, in microseconds: a newer record replaces an older one."
    grant: bytes = b""
    "What the authority lets this node do, sealed; empty on a network without keys."
    signature: bytes = b""
    life: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    "The same in all records of one process; another: what the process before it asked for is over."

    @property
    def peer(self) -> Peer:
        return peer_of(self.name)


class Caller(Struct, frozen=True):
    """Who is at the other end, as TLS has proved it."""

    name: str
    key: bytes
    "The public key, raw."


class Stranger(PeerFault):
    """Signed by a key this node has not met: it cannot be believed, but perhaps the record or the authority's
    certificate that would vouch for it is still on its way. Nobody is to blame."""


class Outdated(PeerFault):
    """Good once, and revoked or out of date since: it does not count any more, but whoever passes it on may not have
    heard of that. Nobody is to blame."""


class Trust(Protocol):
    """Asked by the node wherever a key could matter. `now_s` is the wall clock in seconds since 1970."""

    name: str

    def contexts(self) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
        """TLS for calls taken and calls made; None: no TLS, loopback only.

        The first follows changes of keys by itself; ask again for the second before every call."""

    def caller(self, der: bytes) -> Caller:
        """Whom a certificate that TLS accepted belongs to."""

    def record(self, addresses: Sequence[str], version: int, life: int = 0) -> bytes:
        """This node's own record, signed."""

    def admit(self, data: bytes, now_s: float) -> Record:
        """A record from outside, once it is found genuine, unrevoked and in date; PeerFault otherwise."""

    def matches(self, record: Record, caller: Caller) -> bool:
        """Whether the record is the caller's own: the same name, and its key or an earlier one of the same node."""

    def may(self, peer: Peer, act: Act, topic: Topic, now_s: float) -> bool:
        """Whether a peer whose record was admitted (or this node itself) may do this to this topic."""

    def owner(self, peer: Peer) -> str:
        """Whoever runs a peer, by its grant; empty: nobody named."""

    def lives_at(self, peer: Peer) -> Place:
        """Where a peer (or this node itself) lives in a hierarchy, by its grant; empty: that does not say."""

    def is_client(self, peer: Peer) -> bool:
        """Whether a peer (or this node itself) is a client and no node, by its grant."""

    def stamp(self, tree: Levels, pack: bytes = NO_PACK) -> Stamp | None:
        """This node's signature for a batch of its events, and for the pack they are in."""

    def check(self, publisher: Peer, leaf: bytes, proof: Proof | None, now_s: float) -> None:
        """PeerFault unless the publisher signed this leaf or pack; Stranger unless a record with that key was
        admitted."""

    def spell(self, topic: Topic) -> str:
        """The topic as it may travel past strangers: a keyed hash on a network with keys."""

    def revocations(self) -> tuple[int, bytes]:
        """Version of the list of revoked keys, and the list as it travels; version 0: there is none."""

    def revoke(self, data: bytes) -> list[Peer]:
        """Takes a list from outside (PeerFault unless genuine), keeps it if it is newer; whom it shuts out."""


def decode_record(data: bytes) -> Record:
    if len(data) > RECORD_BYTES_MAX:
        raise PeerFault(f"a record of {len(data)} bytes is too long")
    try:
        return _records.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise PeerFault(f"not a record: {wrong}") from wrong


_records = msgspec.msgpack.Decoder(Record)
_encoder = msgspec.msgpack.Encoder()


class OpenTrust:
    """No keys: whoever can connect is believed. Safe only where nobody else can, so the node binds to loopback."""

    def __init__(self, name: str) -> None:
        self.name = name

    def contexts(self) -> None:
        return None

    def caller(self, der: bytes) -> Caller:
        raise PeerFault("this network has no keys, so nobody can prove a name")

    def record(self, addresses: Sequence[str], version: int, life: int = 0) -> bytes:
        return _encoder.encode(Record(self.name, tuple(addresses), version, life=life))

    def admit(self, data: bytes, now_s: float) -> Record:
        record = decode_record(data)
        if strangers := [each for each in record.addresses if not is_loopback(each)]:
            raise PeerFault(f"{strangers[0]} is not on this machine, and the network has no keys")
        return record

    def matches(self, record: Record, caller: Caller) -> bool:
        return record.name == caller.name

    def may(self, peer: Peer, act: Act, topic: Topic, now_s: float) -> bool:
        return True

    def owner(self, peer: Peer) -> str:
        return ""

    def lives_at(self, peer: Peer) -> Place:
        return ()

    def is_client(self, peer: Peer) -> bool:
        return False

    def stamp(self, tree: Levels, pack: bytes = NO_PACK) -> Stamp | None:
        return None

    def check(self, publisher: Peer, leaf: bytes, proof: Proof | None, now_s: float) -> None:
        """Everything is believed."""

    def spell(self, topic: Topic) -> str:
        return topic

    def revocations(self) -> tuple[int, bytes]:
        return 0, b""

    def revoke(self, data: bytes) -> list[Peer]:
        raise PeerFault("this network has no keys, so there is nothing to revoke")


def check_addresses(record: Record) -> Record:
    """What stands in a record is called some day, and shown to people: PeerFault, unless all of it are addresses."""
    try:
        for each in record.addresses:
            if not each.startswith(IN_PROCESS):
                split_address(each)
    except Misuse as wrong:
        raise PeerFault(f"a record of {record.name} in which {wrong}") from None
    return record


def split_address(address: str) -> tuple[str, int]:
    """`host:port`, `[::1]:port` or a DNS name; says what is wrong with anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535 or not host:
        raise Misuse(f"{address!r} is not an address: write host:port, like 127.0.0.1:7400 or [::1]:7400")
    if host.startswith("[") and host.endswith("]") and is_ipv6(host[1:-1]):
        return host[1:-1], int(port)
    if ":" in host:
        raise Misuse(f"{address!r} is not an address: put an IPv6 host in brackets, like [::1]:7400")
    if not is_host(host):
        raise Misuse(f"{address!r} is not an address: {host[:80]!r} cannot be the name of a host")
    return host, int(port)


def is_ipv6(host: str) -> bool:
    try:
        return bool(SCOPED.fullmatch(host)) and ip_address(host).version == 6
    except ValueError:
        return False


def is_host(host: str) -> bool:
    """Whether DNS could know it, in whatever letters: labels of 63 at most, 253 in all, and nothing a screen obeys."""
    try:
        spelled = host.encode("idna").decode()
    except UnicodeError:
        return False
    return len(spelled) <= HOST_MAX and bool(HOST.fullmatch(spelled))


def is_loopback(address: str) -> bool:
    """Whether an address stays on this machine; in-process ones (`memory:…`) do."""
    if address.startswith(IN_PROCESS):
        return True
    try:
        host, _ = split_address(address)
        return host == "localhost" or ip_address(host).is_loopback
    except (Misuse, ValueError):
        return False
