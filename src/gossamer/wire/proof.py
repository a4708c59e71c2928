"""The publisher's proof: one signature over a Merkle root stands for a small batch of events.

Every event carries the signature and its own path to the root, so that it can be checked alone, after any relay,
cache or spool. Leaves and inner nodes are hashed under different prefixes: neither can be taken for the other.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated

from msgspec import Meta, Struct

BATCH_MAX = 64
"Events under one signature at most: a path is then no longer than PATH_MAX."
PATH_MAX = 6
REMEMBERED = 20_000
"Nodes of verified trees remembered; siblings of a verified path are genuine too, so later leaves need few hashes."

Hash = Annotated[bytes, Meta(min_length=32, max_length=32)]


class Proof(Struct, frozen=True, array_like=True):
    """What stands beside an event: who signed, the signature of the root, and the way from the leaf to it."""

    key: Annotated[bytes, Meta(min_length=8, max_length=8)]
    "The first bytes of the SHA-256 of the signer's public key."
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]
    count: Annotated[int, Meta(ge=1, le=BATCH_MAX)]
    "Leaves of the tree."
    index: Annotated[int, Meta(ge=0, lt=BATCH_MAX)]
    "Which of them this event is."
    path: Annotated[tuple[Hash, ...], Meta(max_length=PATH_MAX)]


def leaf(head: bytes, payload: bytes) -> bytes:
    """The hash that stands for an event: its encoded head (with its length) and its payload."""
    return sha256(b"\x00%d:%b%b" % (len(head), head, payload)).digest()


def parent(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def prove(leaves: Sequence[bytes], key: bytes, sign: Callable[[bytes], bytes]) -> list[Proof]:
    """One proof per leaf, under one signature. A node without a sibling rises unchanged."""
    if not 0 < len(leaves) <= BATCH_MAX:
        raise ValueError(f"a batch holds 1 to {BATCH_MAX} events, not {len(leaves)}")
    paths: list[list[bytes]] = [[] for _ in leaves]
    level, places = list(leaves), list(range(len(leaves)))
    while len(level) > 1:
        for i, place in enumerate(places):
            if (sibling := place ^ 1) < len(level):
                paths[i].append(level[sibling])
            places[i] = place >> 1
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [parent(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    signature = sign(signed_text(len(leaves), level[0]))
    return [Proof(key, signature, len(leaves), i, tuple(path)) for i, path in enumerate(paths)]


def signed_text(count: int, root: bytes) -> bytes:
    """What is signed: nothing else this key ever signs looks like it."""
    return b"gossamer batch %d:" % count + root


class Proofs:
    """Checks proofs, and remembers what was found genuine so that a batch costs one signature check."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self.remembered = remembered
        self.genuine: dict[tuple[bytes, bytes], None] = {}
        "(signature, node of its tree) already checked, oldest first."

    def holds(self, leaf: bytes, proof: Proof, verify: Callable[[bytes, bytes], bool]) -> bool:
        """Whether the leaf stands under the signed root; `verify(signature, text)` is asked once per batch."""
        signature, genuine = proof.signature, self.genuine
        if (signature, leaf) in genuine:
            return True
        node, met = leaf, [leaf]
        width, place, path = proof.count, proof.index, iter(proof.path)
        if place >= width:
            return False
        while width > 1:
            if place ^ 1 < width:
                sibling = next(path, None)
                if sibling is None:
                    return False
                node = parent(node, sibling) if place % 2 == 0 else parent(sibling, node)
                met += (sibling, node)
            width, place = (width + 1) >> 1, place >> 1
            if (signature, node) in genuine:
                return self._keep(signature, met)
        if next(path, None) is not None or not verify(signature, signed_text(proof.count, node)):
            return False
        return self._keep(signature, met)

    def _keep(self, signature: bytes, nodes: list[bytes]) -> bool:
        for node in nodes:
            self.genuine[signature, node] = None
        while len(self.genuine) > self.remembered:
            del self.genuine[next(iter(self.genuine))]
        return True
