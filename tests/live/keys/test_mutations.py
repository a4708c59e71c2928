"""Whatever is changed about a record, a grant, a list, a certificate or a proof, it is refused, and nothing worse."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import Struct, msgpack
from msgspec.structs import asdict, replace

from gossamer.core.errors import PeerFault
from gossamer.live.keys.grants import Grant, open_grant
from gossamer.live.keys.keyring import Keyring, record_text
from gossamer.live.keys.revoked import Revocations
from gossamer.live.keys.sealed import Sealed
from gossamer.live.keys.trust import Record
from gossamer.wire.proof import Proof, leaf
from live.keys.making import NOW, certificate, introduce, member, network, prove

LEAVES = [leaf(b"%d" % i, b"payload") for i in range(11)]


class World(NamedTuple):
    one: Keyring
    two: Keyring
    record: bytes
    grant: bytes
    revoked: bytes
    certificate: bytes


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    net = network(tmp_path_factory.mktemp("keys"))
    one, two = member(net, "node-1"), member(net, "node-2", owner="ACME")
    member(net, "bad")
    net.revoke("bad", now_s=NOW)
    introduce(one, two)
    revoked = (net.folder / "revoked").read_bytes()
    return World(one, two, two.record(["127.0.0.1:7400"], 7), two._papers.sealed, revoked, certificate(two))


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Ways to spoil bytes: bits flipped, pieces cut out, doubled, put in, swapped."""
    kind = draw(st.sampled_from(["flip", "cut", "double", "insert", "overwrite", "truncate", "append"]))
    at, length = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(1, 40))
    bit, noise = draw(st.integers(0, 7)), draw(st.binary(min_size=1, max_size=40))

    def mutate(data: bytes) -> bytes:
        i = int(at * len(data))
        match kind:
            case "flip":
                return data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :]
            case "cut":
                return data[:i] + data[i + length :]
            case "double":
                return data[:i] + data[i : i + length] + data[i:]
            case "insert":
                return data[:i] + noise + data[i:]
            case "overwrite":
                return data[:i] + noise + data[i + len(noise) :]
            case "truncate":
                return data[:i]
        return data + noise

    return mutate


def refused(ask: Callable[[], object]) -> None:
    with pytest.raises(PeerFault):
        ask()


@given(mutations())
def test_a_spoiled_record_is_refused(world: World, mutate: Callable[[bytes], bytes]) -> None:
    changed = mutate(world.record)
    assume(changed != world.record)
    refused(lambda: world.one.admit(changed, NOW))
    assert world.one.admit(world.record, NOW)


@given(mutations())
def test_a_spoiled_grant_is_refused_although_its_node_signs_the_record(
    world: World, mutate: Callable[[bytes], bytes]
) -> None:
    changed = mutate(world.grant)
    assume(changed != world.grant)
    refused(lambda: open_grant(changed, world.one._papers.authorities))
    record = replace(msgpack.decode(world.record, type=Record), grant=changed)
    signed = replace(record, signature=world.two._signer.sign(record_text(record)))
    refused(lambda: world.one.admit(msgpack.encode(signed), NOW))


@given(mutations())
def test_a_spoiled_list_is_refused_and_changes_nothing(world: World, mutate: Callable[[bytes], bytes]) -> None:
    before = world.one.revocations()
    changed = mutate(world.revoked)
    assume(changed != world.revoked)
    refused(lambda: world.one.revoke(changed))
    assert world.one.revocations() == before


@given(mutations())
def test_a_spoiled_certificate_is_at_most_another_s(world: World, mutate: Callable[[bytes], bytes]) -> None:
    """TLS has checked the signature before; here it must not be more than a name and a key, or a PeerFault."""
    try:
        found = world.one.caller(mutate(world.certificate))
    except PeerFault:
        return
    msgspec.convert(found.name, str)
    assert len(found.key) == 32


@given(st.integers(0, len(LEAVES) - 1), mutations())
def test_a_spoiled_proof_is_refused(world: World, index: int, mutate: Callable[[bytes], bytes]) -> None:
    true = PROOFS.setdefault("all", prove(world.two, LEAVES))[index]
    world.one.check(world.two.peer, LEAVES[index], true, NOW)
    try:
        changed = msgpack.decode(mutate(msgpack.encode(true)), type=Proof)
    except msgspec.DecodeError:
        return
    assume(changed != true)
    refused(lambda: world.one.check(world.two.peer, LEAVES[index], changed, NOW))


PROOFS: dict[str, list[Proof | None]] = {}


@given(st.binary(max_size=300))
def test_noise_is_refused(world: World, noise: bytes) -> None:
    for ask in (world.one.admit, open_noise(world)):
        refused(lambda ask=ask: ask(noise, NOW))  # type: ignore[misc]
    refused(lambda: world.one.revoke(noise))
    refused(lambda: world.one.caller(noise))


def open_noise(world: World) -> Callable[[bytes, float], object]:
    return lambda data, now_s: open_grant(data, world.one._papers.authorities)


# -- the same, field by field: well-formed, and still not what was signed ------------------------------------------


def changed_fields(true: Struct, other: dict[str, Any]) -> list[Any]:
    assert set(other) == set(asdict(true))
    return [replace(true, **{name: value}) for name, value in other.items()]


def test_no_field_of_a_grant_can_be_changed_under_its_seal(world: World) -> None:
    sealed = msgpack.decode(world.grant, type=Sealed)
    grant = msgpack.decode(sealed.content, type=Grant)
    others: dict[str, Any] = {
        "network": "other",
        "node": "node-3",
        "key": bytes(32),
        "publish": (".",),
        "subscribe": (".",),
        "not_before_s": 0,
        "not_after_s": 2**39,
        "owner": "",
        "serial": 2**62,
        "address": (2, 0, 1),
        "client": True,
    }
    for lie in changed_fields(grant, others):
        forged = msgpack.encode(replace(sealed, content=msgpack.encode(lie)))
        refused(lambda forged=forged: open_grant(forged, world.one._papers.authorities))  # type: ignore[misc]


def test_no_field_of_a_list_can_be_changed_under_its_seal(world: World) -> None:
    sealed = msgpack.decode(world.revoked, type=Sealed)
    true = msgpack.decode(sealed.content, type=Revocations)
    for lie in changed_fields(true, {"network": "other", "version": 9, "issued_s": 0, "revoked": ()}):
        forged = msgpack.encode(replace(sealed, content=msgpack.encode(lie)))
        refused(lambda forged=forged: world.one.revoke(forged))  # type: ignore[misc]


def test_no_field_of_a_record_can_be_changed_under_its_signature(world: World) -> None:
    record = msgpack.decode(world.record, type=Record)
    others: dict[str, Any] = {
        "name": "node-1",
        "addresses": ("127.0.0.1:1",),
        "version": 8,
        "grant": world.one._papers.sealed,
        "signature": bytes(64),
        "life": 1,
    }
    for lie in changed_fields(record, others):
        refused(lambda lie=lie: world.one.admit(msgpack.encode(lie), NOW))  # type: ignore[misc]
