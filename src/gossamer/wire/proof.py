"""The publisher's proof: one signature over a Merkle root stands for a small batch of events.

Every event carries the signature and its own path to the root, so that it can be checked alone, after any relay,
cache or spool. Under that root, beside the tree over the events, is the hash of the pack they travel in: whoever has
all of them hashes them at once. Leaves, packs and inner nodes are hashed under different prefixes, so that none can be
taken for another.
"""

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct

BATCH_MAX = 128
"Events under one signature at most: a path is then no longer than PATH_MAX."
PATH_MAX = 8
REMEMBERED = 20_000
"Nodes of verified trees remembered; siblings of a verified path are genuine too, so later leaves need few hashes."
ROOT = -1
"The spot of a tree's root."
Tree: TypeAlias = dict[int, tuple[bytes, bytes]]
"Nodes by spot, each with its path from there to the root: the siblings of every way taken so far."
NOTHING: Tree = {}
Levels: TypeAlias = list[Sequence[bytes]]
"The tree over the events, from the leaves to its top."

HASH_BYTES = 16
"""Bytes of SHA-256 that stand for an event or a pair: nobody finds another text for a given 128 bits. A publisher may
well find two texts of its own for the same ones, and gains nothing it could not do with two signatures."""


NO_PACK = bytes(HASH_BYTES)
"Stands for the pack where events are too large for one."
PACK = BATCH_MAX * PATH_MAX
"The spot of a pack: after all others."


class Stamp(NamedTuple):
    """Who signed a root, and how."""

    key: bytes
    signature: bytes


class Proof(Struct, frozen=True, array_like=True, gc=False):
    """What stands beside an event or a pack: who signed, the signature of the root, and the way from there to it."""

    key: Annotated[bytes, Meta(min_length=8, max_length=8)]
    "The first bytes of the SHA-256 of the signer's public key."
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]
    count: Annotated[int, Meta(ge=1, le=BATCH_MAX)]
    "Events under the signature."
    index: Annotated[int, Meta(ge=0, le=BATCH_MAX)]
    "Which of them this is; `count`: the pack."
    path: Annotated[bytes, Meta(max_length=PATH_MAX * HASH_BYTES)]
    "The siblings on the way up, one after the other."


def leaf(head: bytes, payload: bytes) -> bytes:
    """The hash that stands for an event: its encoded head (with its length) and its payload."""
    return sha256(b"\x00%d:%b%b" % (len(head), head, payload)).digest()[:HASH_BYTES]


def whole(events: bytes) -> bytes:
    """The hash that stands for a pack: of all its events as they travel in it."""
    return sha256(b"\x02" + events).digest()[:HASH_BYTES]


def parent(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()[:HASH_BYTES]


def levels(leaves: Sequence[bytes]) -> Levels:
    """The tree over some leaves. A node without a sibling rises unchanged."""
    level, all_levels = leaves, [leaves]
    while len(level) > 1:
        pairs = [sha256(b"\x01" + left + right).digest()[:HASH_BYTES] for left, right in zip(level[::2], level[1::2])]
        level = [*pairs, level[-1]] if len(level) % 2 else pairs
        all_levels.append(level)
    return all_levels


def paths(tree: Levels, pack: bytes) -> list[bytes]:
    """The ways from the leaves to the root: every sibling there is, then the way from the parent on, past the pack."""
    above = [pack]
    for level in reversed(tree[:-1]):
        beside = [level[i ^ 1] if i ^ 1 < len(level) else b"" for i in range(len(level))]
        above = [sibling + above[i >> 1] for i, sibling in enumerate(beside)]
    return above


def stamp(tree: Levels, pack: bytes, key: bytes, sign: Callable[[bytes], bytes]) -> Stamp:
    """One signature for all leaves of a tree, and for the pack."""
    count = len(tree[0])
    if not 0 < count <= BATCH_MAX:
        raise ValueError(f"a batch holds 1 to {BATCH_MAX} events, not {count}")
    return Stamp(key, sign(signed_text(count, parent(tree[-1][0], pack))))


def proofs(tree: Levels, pack: bytes, stamp: Stamp | None) -> Sequence[Proof | None]:
    """What of the stamp belongs beside each leaf; nothing where nobody signs."""
    count = len(tree[0])
    if stamp is None:
        return [None] * count
    return [Proof(stamp.key, stamp.signature, count, i, path) for i, path in enumerate(paths(tree, pack))]


def proof_of_pack(tree: Levels, stamp: Stamp | None) -> Proof | None:
    count = len(tree[0])
    return stamp and Proof(stamp.key, stamp.signature, count, count, tree[-1][0])


def signed_text(count: int, root: bytes) -> bytes:
    """What is signed: nothing else this key ever signs looks like it."""
    return b"gossamer batch %d:" % count + root


@cache
def way(count: int, index: int) -> tuple[tuple[int, int], ...]:
    """From a leaf, or from the pack, to the root: the spots of the node and of its sibling, wherever it has one,
    numbered level by level."""
    spots, level, is_pack = [], 0, index == count
    while count > 1:
        if (beside := index ^ 1) < count:
            spots.append((level + index, level + beside))
        count, index, level = (count + 1) >> 1, index >> 1, level + BATCH_MAX
    return ((PACK, level),) if is_pack else (*spots, (level, PACK))


class Proofs:
    """Checks proofs, and remembers genuine trees so that a batch costs one signature check and each node one hash.

    A proof holds only if all of it is right, also where memory would know better: it will be forwarded as it is, to
    others who know less.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self.remembered = remembered
        self.trees: dict[tuple[bytes, bytes, int], Tree] = {}
        "What is known of genuine trees, by signer, signature and number of leaves, oldest first."
        self.nodes = 0
        "In all trees together."

    def holds(self, leaf: bytes, proof: Proof, verify: Callable[[bytes, bytes], bool], signer: bytes = b"") -> bool:
        """Whether the leaf or pack stands under the signed root; `verify(signature, text)` is asked once per batch.

        `signer` is whose key `verify` uses (the key's short form if not given): what one signer's tree holds, a leaf
        in another's name included, says nothing under another key.
        """
        path, spots = proof.path, way(proof.count, proof.index)
        if proof.index > proof.count or len(path) != HASH_BYTES * len(spots):
            return False
        name = (signer or proof.key, proof.signature, proof.count)
        tree = self.trees.get(name, NOTHING)
        met: Tree = {}
        node, genuine = leaf, False
        for here, beside in spots:
            known = tree.get(here)
            if known is not None:
                if known != (node, path):
                    return False
                genuine = True
                break
            sibling, path = path[:HASH_BYTES], path[HASH_BYTES:]
            met[beside] = (sibling, node + path)  # whoever comes this way next comes through the sibling
            node = parent(node, sibling) if here < beside else parent(sibling, node)
        if not genuine and not self._is_root(node, proof, tree, verify):
            return False
        if met or not genuine:
            met[ROOT] = tree.get(ROOT) or (node, b"")
            self._keep(name, met)
        return True

    def _is_root(self, node: bytes, proof: Proof, tree: "Tree", verify: Callable[[bytes, bytes], bool]) -> bool:
        if ROOT in tree:  # a signature stands for one root
            return tree[ROOT][0] == node
        return verify(proof.signature, signed_text(proof.count, node))

    def _keep(self, name: tuple[bytes, bytes, int], met: "Tree") -> None:
        tree = self.trees.setdefault(name, {})
        self.nodes -= len(tree)
        tree |= met
        self.nodes += len(tree)
        while self.nodes > self.remembered:
            self.nodes -= len(self.trees.pop(next(iter(self.trees))))
