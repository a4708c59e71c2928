"""Handshakes: members of one network prove themselves to each other, and nobody else gets a word in."""

import asyncio
import ssl
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gossamer.core.errors import PeerFault
from gossamer.live.keys.certificates import node_certificate
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.signing import Signer
from gossamer.live.keys.trust import Caller
from live.keys.making import DAY, certificate, handshake, member, network

LOOPS = {"asyncio": asyncio.new_event_loop}
if find_spec("uvloop"):
    LOOPS["uvloop"] = import_module("uvloop").new_event_loop


async def call(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[bytes, bytes] | None:
    """A call over loopback: the certificates each side was shown (of the client, of the server); None: refused."""
    taken: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(shown_to(writer))
        writer.write(b"welcome")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(take, "127.0.0.1", 0, ssl=server) as listening:
        port = listening.sockets[0].getsockname()[1]
        with suppress(OSError):  # a refusal is an alert or, if the line closes first, none
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="")
            try:
                heard, of_server = await reader.read(), shown_to(writer)
                if heard == b"welcome":
                    return taken[0], of_server
            finally:
                writer.close()
                await writer.wait_closed()
    assert not taken
    return None


def shown_to(writer: asyncio.StreamWriter) -> bytes:
    line = writer.get_extra_info("ssl_object")
    assert line.version() == "TLSv1.3"
    shown: bytes = line.getpeercert(binary_form=True)
    return shown


def calling(taker: Keyring, caller: Keyring | ssl.SSLContext, loop: str = "asyncio") -> tuple[bytes, bytes] | None:
    client = caller if isinstance(caller, ssl.SSLContext) else caller.contexts()[1]
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(call(taker.contexts()[0], client))


@pytest.mark.parametrize("loop", LOOPS)
def test_members_of_a_network_know_each_other_by_name_and_key(loop: str, tmp_path: Path) -> None:
    net = network(tmp_path, time.time())
    one, two = member(net, "node-1", time.time()), member(net, "node-2", time.time())
    shown = calling(one, two, loop)
    assert shown is not None
    of_client, of_server = shown
    assert one.caller(of_client) == Caller("node-2", two.grant.key)
    assert two.caller(of_server) == Caller("node-1", one.grant.key)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_caller_without_a_certificate_is_refused(loop: str, tmp_path: Path) -> None:
    one = member(network(tmp_path, time.time()), "node-1", time.time())
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
    assert calling(one, nobody, loop) is None


def test_a_caller_from_another_network_is_refused_and_so_is_calling_there(tmp_path: Path) -> None:
    ours = member(network(tmp_path, time.time(), "ours"), "node-1", time.time())
    theirs = member(network(tmp_path, time.time(), "theirs"), "node-2", time.time())
    assert calling(ours, theirs) is None
    trusting = theirs.contexts()[1]
    trusting.verify_mode = ssl.CERT_NONE  # so that it is the server who refuses
    assert calling(ours, trusting) is None


def test_a_certificate_out_of_date_is_refused(tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, old = member(net, "node-1", now_s), member(net, "node-2", now_s - 10 * DAY, days=9)
    assert calling(one, old) is None


@pytest.mark.parametrize("late_s", [0, 280])
def test_clocks_may_differ_by_five_minutes(late_s: int, tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, early = member(net, "node-1", now_s), member(net, "node-2", now_s + late_s)
    ended = member(net, "node-3", now_s - DAY - late_s, days=1)
    for each in (early, ended):
        assert handshake(one.contexts()[0], each.contexts()[1])


def test_a_revoked_key_may_finish_a_handshake_but_is_nobody(tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, two = member(net, "node-1", now_s), member(net, "node-2", now_s)
    record = two.record([], 1)
    net.revoke("node-2")
    one.reload()
    of_client, _ = handshake(one.contexts()[0], two.contexts()[1])
    with pytest.raises(PeerFault, match="the key of node-2 is revoked"):
        one.caller(of_client)
    with pytest.raises(PeerFault, match="the key of node-2 is revoked"):
        one.admit(record, now_s)


def test_nothing_older_than_tls_1_3_is_spoken(tmp_path: Path) -> None:
    one = member(network(tmp_path, time.time()), "node-1", time.time())
    old = one.contexts()[1]
    old.minimum_version = ssl.TLSVersion.TLSv1_2
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        handshake(one.contexts()[0], old)


def test_a_node_s_certificate_issues_no_others(tmp_path: Path) -> None:
    """A member that plays authority: its own certificate is genuine, what it signs is not."""
    net, now_s = network(tmp_path, time.time()), time.time()
    one, liar = member(net, "node-1", now_s), member(net, "liar", now_s)
    child, grant = Signer.new(), liar.grant
    genuine = x509.load_der_x509_certificate(certificate(liar))
    forged = x509.load_pem_x509_certificate(node_certificate(grant, liar._signer))
    made = (
        x509.CertificateBuilder()
        .subject_name(forged.subject)
        .issuer_name(genuine.subject)
        .public_key(child.private.public_key())
        .serial_number(7)
        .not_valid_before(forged.not_valid_before_utc)
        .not_valid_after(forged.not_valid_after_utc)
        .sign(liar._signer.private, None)
    )
    child.write(tmp_path / "key")
    (tmp_path / "chain").write_bytes(made.public_bytes(Encoding.PEM) + genuine.public_bytes(Encoding.PEM))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(tmp_path / "chain", tmp_path / "key")
    with pytest.raises(ssl.SSLError):
        handshake(one.contexts()[0], client)


# -- changes of keys while a node listens -------------------------------------------------------------------------


@pytest.mark.parametrize("host", [None, "node.example"])
def test_a_server_that_listens_already_shows_its_new_key_after_a_reload(host: str | None, tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, two = member(net, "node-1", now_s), member(net, "node-2", now_s)
    listening, before = one.contexts()[0], one.grant.key
    net.grant("node-1", new_key=True)
    assert two.caller(handshake(listening, two.contexts()[1], host)[1]).key == before
    one.reload()
    assert two.caller(handshake(listening, two.contexts()[1], host)[1]).key == one.grant.key != before
    assert one.contexts()[0] is listening


def test_authorities_change_without_a_moment_at_which_two_members_cannot_talk(tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, two = member(net, "node-1", now_s), member(net, "node-2", now_s)
    listening = one.contexts()[0]

    def all_talk() -> None:
        handshake(listening, two.contexts()[1])
        handshake(two.contexts()[0], one.contexts()[1])
        one.admit(two.record([], 1), now_s)
        two.admit(one.record([], 1), now_s)

    for step in (net.rotate_authority, net.refresh, net.retire_authority):
        step()
        all_talk()
        one.reload()
        all_talk()
        two.reload()
        all_talk()


def test_what_a_retired_authority_signed_opens_no_door(tmp_path: Path) -> None:
    net, now_s = network(tmp_path, time.time()), time.time()
    one, late = member(net, "node-1", now_s), member(net, "node-2", now_s)
    listening, record = one.contexts()[0], late.record([], 1)
    one.admit(record, now_s)
    net.rotate_authority()
    net.refresh()
    net.retire_authority()
    handshake(listening, late.contexts()[1])
    one.reload()
    trusting = late.contexts()[1]
    trusting.verify_mode = ssl.CERT_NONE
    with pytest.raises(ssl.SSLError):
        handshake(listening, trusting)
    with pytest.raises(PeerFault, match="which this node does not trust"):
        one.admit(record, now_s)
    assert not one.may(late.peer, "publish", ".soccer", now_s)
