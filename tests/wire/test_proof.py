"""Proofs: every event of a batch is proved by one signature, alone and for good, and nothing near a proof is one."""

import hmac
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec import DecodeError, msgpack
from msgspec.structs import replace

from gossamer.wire.proof import (
    BATCH_MAX,
    HASH_BYTES,
    NO_PACK,
    PATH_MAX,
    Proof,
    Proofs,
    leaf,
    levels,
    parent,
    proof_of_pack,
    proofs,
    signed_text,
    stamp,
    whole,
)

KEY = b"8 bytes."
SECRET = b"the publisher's"
SIZES = range(1, BATCH_MAX + 1)
PACK_HASH = whole(b"all of them")


def sign(text: bytes, secret: bytes = SECRET) -> bytes:
    """Stands for a signature where only the trees matter, and is a hundred times quicker."""
    return hmac.digest(secret, text, "sha512")


def verify(signature: bytes, text: bytes) -> bool:
    return hmac.compare_digest(signature, sign(text))


class Verifier:
    """Counts how often a signature was looked at."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, signature: bytes, text: bytes) -> bool:
        self.asked += 1
        return verify(signature, text)


def prove(leaves: Sequence[bytes], key: bytes, sign: Callable[[bytes], bytes]) -> list[Proof]:
    """One proof per leaf, under one signature."""
    tree = levels(leaves)
    return [proof for proof in proofs(tree, PACK_HASH, stamp(tree, PACK_HASH, key, sign)) if proof is not None]


@cache
def batch(size: int, name: str = "event") -> tuple[list[bytes], list[Proof]]:
    """So many events, and the pack after them."""
    leaves = [leaf(b"%s %d" % (name.encode(), i), b"payload") for i in range(size)]
    tree = levels(leaves)
    pack = proof_of_pack(tree, stamp(tree, PACK_HASH, KEY, sign))
    assert pack is not None
    return [*leaves, PACK_HASH], [*prove(leaves, KEY, sign), pack]


# -- what holds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_every_event_of_a_batch_is_proved_alone_and_in_any_company(size: int) -> None:
    leaves, proofs = batch(size)
    for each, proof in zip(leaves, proofs):
        assert Proofs().holds(each, proof, verify)
    forwards, backwards = Proofs(), Proofs()
    assert all(forwards.holds(each, proof, verify) for each, proof in zip(leaves, proofs))
    assert all(backwards.holds(each, proof, verify) for each, proof in zip(leaves[::-1], proofs[::-1]))


@pytest.mark.parametrize("size", SIZES)
def test_a_batch_costs_one_signature_check_in_any_order(size: int) -> None:
    leaves, proofs = batch(size)
    order = sorted(range(size + 1), key=lambda i: sha256(b"%d %d" % (size, i)).digest())
    checked, verifier = Proofs(), Verifier()
    for i in [*order, *order]:
        assert checked.holds(leaves[i], proofs[i], verifier)
    assert verifier.asked == 1


@pytest.mark.parametrize("size", SIZES)
def test_a_proof_travels_and_its_path_is_as_short_as_promised(size: int) -> None:
    _, proofs = batch(size)
    for proof in proofs:
        assert msgpack.decode(msgpack.encode(proof), type=Proof) == proof
        assert len(proof.path) <= HASH_BYTES * min(PATH_MAX, size.bit_length() + 1)


def test_a_real_signature_holds_and_another_key_s_does_not() -> None:
    ours, theirs = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()

    def by(key: Ed25519PrivateKey, signature: bytes, text: bytes) -> bool:
        try:
            key.public_key().verify(signature, text)
        except InvalidSignature:
            return False
        return True

    leaves = batch(5)[0][:5]
    proofs = prove(leaves, KEY, ours.sign)
    assert Proofs().holds(leaves[3], proofs[3], lambda signature, text: by(ours, signature, text))
    assert not Proofs().holds(leaves[3], proofs[3], lambda signature, text: by(theirs, signature, text))


@pytest.mark.parametrize("size", [0, BATCH_MAX + 1])
def test_a_batch_of_no_or_too_many_events_is_not_proved(size: int) -> None:
    with pytest.raises(ValueError, match="a batch holds 1 to 128 events"):
        prove([leaf(b"head", b"")] * size, KEY, sign)


# -- what does not ------------------------------------------------------------------------------------------------


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(changed)


def pieces(path: bytes) -> list[bytes]:
    return [path[i : i + HASH_BYTES] for i in range(0, len(path), HASH_BYTES)]


def tampered(each: bytes, proof: Proof, bit: int) -> Iterator[tuple[bytes, Proof]]:
    """A leaf and its proof with one thing changed, in every way there is."""
    yield flipped(each, bit), proof
    yield each, replace(proof, signature=flipped(proof.signature, bit))
    yield from ((each, replace(proof, index=i)) for i in range(BATCH_MAX + 1) if i != proof.index)
    yield from ((each, replace(proof, count=n)) for n in SIZES if n != proof.count)
    path = pieces(proof.path)

    def along(*siblings: bytes) -> tuple[bytes, Proof]:
        return each, replace(proof, path=b"".join(siblings))

    for i in range(len(path)):
        yield along(*path[:i], flipped(path[i], bit), *path[i + 1 :])
        yield along(*path[:i], *path[i + 1 :])
        yield along(*path[:i], each, *path[i:])
        yield along(*path[:i], path[i][:-1], *path[i + 1 :])
    yield along(*path, each)
    yield along(*path, b"x")
    if len(set(path)) > 1:
        yield along(*path[::-1])


@pytest.mark.parametrize("size", SIZES)
def test_a_proof_with_anything_changed_never_holds_whatever_is_remembered(size: int) -> None:
    leaves, proofs = batch(size)
    everything = Proofs()
    assert all(everything.holds(each, proof, verify) for each, proof in zip(leaves, proofs))
    some = Proofs()
    assert some.holds(leaves[size // 2], proofs[size // 2], verify)
    for i in {0, size // 3, size // 2, size - 1, size}:
        for each, proof in tampered(leaves[i], proofs[i], bit=size * 7 + i):
            for memory in (Proofs(), some, everything):
                assert not memory.holds(each, proof, verify), (i, proof)


@given(st.integers(1, BATCH_MAX), st.data())
def test_no_bit_of_a_proof_may_change(size: int, data: st.DataObject) -> None:
    leaves, proofs = batch(size)
    index = data.draw(st.integers(0, size))
    encoded = msgpack.encode(proofs[index])
    memory = Proofs()
    assert memory.holds(leaves[index], proofs[index], verify)
    changed = flipped(encoded, data.draw(st.integers(0, 8 * len(encoded) - 1)))
    try:
        proof = msgpack.decode(changed, type=Proof)
    except DecodeError:
        return
    if replace(proof, key=KEY) == proofs[index]:
        return  # the key is only a hint as to whose signature it is
    assert not memory.holds(leaves[index], proof, verify)
    assert not Proofs().holds(leaves[index], proof, verify)


def known_trees() -> Iterator[tuple[bytes, Proof, bytes]]:
    """Every leaf and pack of a few batches with its proof and its signer: some of the same events, one by another
    signer, one with a pack of other events, one without a pack."""
    for size, name, pack, signer in [
        (1, "a", PACK_HASH, b"one"),
        (2, "a", PACK_HASH, b"one"),
        (3, "a", PACK_HASH, b"one"),
        (3, "a", PACK_HASH, b"other"),
        (3, "a", whole(b"a lie"), b"one"),
        (3, "a", NO_PACK, b"one"),
        (5, "b", PACK_HASH, b"one"),
    ]:
        tree = levels([leaf(b"%s %d" % (name.encode(), i), b"payload") for i in range(size)])
        signed = stamp(tree, pack, KEY, lambda text, signer=signer: sign(text, signer))
        for each, proof in zip([*tree[0], pack], [*proofs(tree, pack, signed), proof_of_pack(tree, signed)]):
            assert proof is not None
            yield each, proof, signer


TREES = [*known_trees()]
HASHES = sorted({each for each, _, _ in TREES} | {piece for _, proof, _ in TREES for piece in pieces(proof.path)})


def mixed(each: bytes, proof: Proof, signer: bytes) -> Iterator[tuple[bytes, Proof, bytes]]:
    """A genuine proof, with one thing in it from elsewhere, in every way there is."""
    path = pieces(proof.path)
    yield from ((other, proof, signer) for other in HASHES)
    yield from ((each, proof, other) for other in (b"one", b"other"))
    changes: list[dict[str, Any]] = [{"count": count} for count in range(1, 7)]
    changes += [{"index": index} for index in range(7)]
    changes += [{"signature": other.signature} for _, other, _ in TREES]
    changes += [{"path": other.path} for _, other, _ in TREES]
    changes += [{"path": b"".join(path[:-1])}, {"path": b"".join([*path, path[-1]])}]
    for i in range(len(path)):
        changes += [{"path": b"".join([*path[:i], other, *path[i + 1 :]])} for other in HASHES]
    yield from ((each, replace(proof, **change), signer) for change in changes)


MIXED = [*dict.fromkeys(near for tree in TREES for near in mixed(*tree))]


def holds_as_if_nothing_was_met(memory: Proofs, each: bytes, proof: Proof, signer: bytes) -> bool:
    def ask(signature: bytes, text: bytes) -> bool:
        return signature == sign(text, signer)

    return memory.holds(each, proof, ask, signer) == Proofs().holds(each, proof, ask, signer)


def test_with_everything_met_the_same_proofs_hold() -> None:
    memory = Proofs()
    assert all(holds_as_if_nothing_was_met(memory, *each) for each in TREES)
    assert [each for each in MIXED if not holds_as_if_nothing_was_met(memory, *each)] == []


@given(st.lists(st.sampled_from(TREES) | st.sampled_from(MIXED), max_size=30), st.sampled_from([3, 12, 20_000]))
def test_whatever_was_met_the_same_proofs_hold(met: list[tuple[bytes, Proof, bytes]], remembered: int) -> None:
    memory = Proofs(remembered)
    for each in met:
        assert holds_as_if_nothing_was_met(memory, *each)
        assert memory.nodes == sum(map(len, memory.trees.values())) <= remembered


def test_an_inner_node_is_not_taken_for_an_event() -> None:
    leaves, proofs = batch(4)
    memory = Proofs()
    assert all(memory.holds(each, proof, verify) for each, proof in zip(leaves, proofs))
    left = parent(leaves[0], leaves[1])
    short = Proof(KEY, proofs[0].signature, 2, 0, parent(leaves[2], leaves[3]))
    assert not memory.holds(left, short, verify)
    assert not Proofs().holds(left, short, verify)
    assert len({left, leaf(b"", leaves[0] + leaves[1]), whole(leaves[0] + leaves[1])}) == 3


def test_the_tree_over_the_events_is_not_taken_for_a_pack_nor_a_pack_for_an_event() -> None:
    leaves, proofs = batch(4)
    top, pack = proofs[-1].path, leaves[-1]
    for memory in (Proofs(), remembering(leaves, proofs)):
        assert memory.holds(pack, proofs[-1], verify)
        assert not memory.holds(top, replace(proofs[-1], path=pack), verify)
        assert not memory.holds(pack, replace(proofs[-1], index=0), verify)
        assert not memory.holds(pack, replace(proofs[-1], count=1, index=0), verify)
        assert not memory.holds(top, replace(proofs[-1], count=1, index=0, path=pack), verify)


def remembering(leaves: list[bytes], proofs: list[Proof]) -> Proofs:
    memory = Proofs()
    assert all(memory.holds(each, proof, verify) for each, proof in zip(leaves, proofs))
    return memory


def test_head_and_payload_do_not_flow_into_each_other() -> None:
    assert leaf(b"head", b"payload") != leaf(b"headpay", b"load")
    assert leaf(b"", b"4:head") != leaf(b"head", b"")


def test_what_one_signer_s_tree_holds_is_not_believed_of_another() -> None:
    """A liar puts a leaf in another's name into a tree of its own, then names the other as the signer."""
    leaves = batch(2)[0][:2]
    lie = prove(leaves, b"the liar", lambda text: sign(text, b"liar"))
    memory = Proofs()
    assert memory.holds(leaves[0], lie[0], lambda signature, text: signature == sign(text, b"liar"))
    assert not memory.holds(leaves[1], replace(lie[1], key=KEY), verify)
    # The short form of a key could be met by a second key of the liar's; the whole one could not.
    alike = Proofs()
    assert alike.holds(leaves[0], lie[0], lambda signature, text: signature == sign(text, b"liar"), b"liar's whole key")
    assert not alike.holds(leaves[1], lie[1], verify, b"the other's whole key")


def test_the_text_that_is_signed_says_how_many_leaves_there_are() -> None:
    assert signed_text(1, b"root") != signed_text(2, b"root")


# -- memory -------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_and_what_is_forgotten_is_checked_again() -> None:
    memory, verifier = Proofs(remembered=100), Verifier()
    for i in range(50):
        leaves, proofs = batch(8, f"batch {i}")
        assert all(memory.holds(each, proof, verifier) for each, proof in zip(leaves, proofs))
        assert memory.nodes == sum(map(len, memory.trees.values())) <= 100
    assert verifier.asked == 50
    leaves, proofs = batch(8, "batch 49")
    assert memory.holds(leaves[0], proofs[0], verifier)
    assert verifier.asked == 50
    leaves, proofs = batch(8, "batch 0")
    assert memory.holds(leaves[0], proofs[0], verifier)
    assert verifier.asked == 51


def test_a_memory_smaller_than_one_batch_still_checks_it() -> None:
    memory = Proofs(remembered=3)
    leaves, proofs = batch(BATCH_MAX)
    assert all(memory.holds(each, proof, verify) for each, proof in zip(leaves, proofs))
    assert memory.nodes <= 3


def test_refused_proofs_leave_nothing_in_memory() -> None:
    memory = Proofs()
    leaves, proofs = batch(16)
    for bit in range(200):
        for each, proof in tampered(leaves[3], proofs[3], bit):
            memory.holds(each, proof, verify)
    assert (memory.nodes, memory.trees) == (0, {})
