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
    index: Annotated[int, Meta(ge=0, lt=BATCH_MAX)]
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
    signature = sign(root_text(len(leaves), level[0]))
    return [Proof(key, signature, i, tuple(path)) for i, path in enumerate(paths)]


def root_text(count: int, root: bytes) -> bytes:
    """What is signed: nothing else this key ever signs looks like it."""
    return b"gossamer batch\x00" + root
