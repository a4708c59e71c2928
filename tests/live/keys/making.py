"""Networks, nodes and handshakes, with real keys."""

import ssl
from collections.abc import Sequence
from pathlib import Path

from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.wire.proof import NO_PACK, Proof, levels, proofs

NOW = 1_800_000_000.0
DAY = 86400.0


def network(folder: Path, now_s: float = NOW, name: str = "net") -> Network:
    return Network.init(folder / name, now_s=now_s)


def member(of: Network, name: str, now_s: float = NOW, days: float = 30, **wanted: object) -> Keyring:
    """A node that was just let in; on .soccer, unless told otherwise."""
    topics = (
        wanted
        if {"publish", "subscribe"} & set(wanted)
        else {"publish": [".soccer"], "subscribe": [".soccer"], **wanted}
    )
    of.grant(name, days=days, now_s=now_s, **topics)  # type: ignore[arg-type]
    return Keyring.load(of.folder_of(name), now_s)


def introduce(*members: Keyring, now_s: float = NOW) -> None:
    """Everybody admits everybody."""
    for here in members:
        for there in members:
            here.admit(there.record(["127.0.0.1:7400"], int(now_s * 1e6)), now_s)


def certificate(ring: Keyring) -> bytes:
    return ssl.PEM_cert_to_DER_cert((ring._papers.folder / "node.crt").read_text())


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str | None = None) -> tuple[bytes, bytes]:
    """TLS without sockets: the certificates each side was shown (of the client, of the server); SSLError if either
    refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    taking = server.wrap_bio(to_server, to_client, server_side=True)
    calling = client.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for each in (calling, taking):
            try:
                each.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert calling.version() == taking.version() == "TLSv1.3"
    taking.write(b"welcome")
    assert calling.read(7) == b"welcome"  # a client learns of a refusal only when it reads
    shown = taking.getpeercert(binary_form=True), calling.getpeercert(binary_form=True)
    assert shown[0] is not None
    assert shown[1] is not None
    return shown[0], shown[1]


def prove(keys: Keyring, leaves: Sequence[bytes]) -> Sequence[Proof | None]:
    """One proof per leaf, under one signature of this keyring's node."""
    tree = levels(leaves)
    return proofs(tree, NO_PACK, keys.stamp(tree))
