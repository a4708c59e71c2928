"""What a node wants, told to others in few bytes and without the names of topics.

A topic stands as its *chain*: a word of 48 bits for each topic that includes it, the widest first, and one for itself.
Whoever knows a topic can make its word; where the network has a key, nobody else can (`spell` is then a keyed hash). A
chain tells both that a node wants a topic and that what it wants lies below a topic of ours. The root includes
everything, stands in no chain, and is itself the empty one.

Packed, chains are sorted, and each is written as how many words it has in common with the one before, how many follow,
and those. There is one way only to pack the same wants, so two of them are equal where their bytes are.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.topics import ROOT, Hierarchy, Topic

WORD_BYTES = 6
CHAIN_MAX = 128
"Words of one chain: no name has more segments, and further super-topics make it little longer."
WANTS_BYTES_MAX = 262_144
"What a node may want in all: 32,000 topics below none or one, or 10,000 of three segments with nothing in common."
WORDS_MAX = 131_072
"The same, unpacked: a word that chains have in common is written once and held by each of them."
PART_BYTES_MAX = 16_384
"Of what a third node wants, or who looks for one topic: where that is longer, those that matter are told."
FEW_BYTES = 1024
"So much is told whole."

Chain: TypeAlias = tuple[int, ...]
Spell: TypeAlias = Callable[[Topic], str]
Packed: TypeAlias = Annotated[bytes, Meta(max_length=WANTS_BYTES_MAX)]
"Wants as they travel, bounded where they come in."
PackedPart: TypeAlias = Annotated[bytes, Meta(max_length=PART_BYTES_MAX)]


def word_of(spelled: str) -> int:
    """48 bits that stand for a topic."""
    return int.from_bytes(blake2b(spelled.encode(errors="replace"), digest_size=WORD_BYTES).digest())


def chain_of(topic: Topic, hierarchy: Hierarchy, spell: Spell) -> Chain:
    """A topic's words, the widest first; those of topics with more super-topics than a chain may hold are left out."""
    if topic == ROOT:
        return ()
    above = [each for each in hierarchy.ancestors(topic) if each != ROOT][: CHAIN_MAX - 1]
    return tuple(word_of(spell(each)) for each in (*reversed(above), topic))


class Wants:
    """Topics as chains. A value: nobody changes it."""

    def __init__(self, chains: Iterable[Chain], packed: bytes | None = None) -> None:
        self.chains = tuple(sorted(dict.fromkeys(chains)) if packed is None else chains)
        if packed is not None:
            self.packed = packed
        self.words = frozenset(chain[-1] for chain in self.chains if chain)
        self.everything = () in self.chains[:1]

    @classmethod
    def of(cls, topics: Iterable[Topic], hierarchy: Hierarchy, spell: Spell) -> "Wants":
        """What a node with these topics wants."""
        return cls(chain_of(topic, hierarchy, spell) for topic in topics)

    @classmethod
    def read(cls, packed: bytes) -> "Wants | None":
        """What was packed; None: no wants are packed like this."""
        chains = _unpack(packed)
        return None if chains is None else cls(chains, packed)

    @cached_property
    def weight(self) -> int:
        """Words, with those that chains have in common: what it takes to hold them."""
        return sum(map(len, self.chains))

    @cached_property
    def packed(self) -> bytes:
        parts: list[bytes] = []
        before: Chain = ()
        for chain in self.chains:
            kept = _in_common(before, chain)
            parts.append(bytes((kept, len(chain) - kept)))
            parts += [word.to_bytes(WORD_BYTES) for word in chain[kept:]]
            before = chain
        return b"".join(parts)

    @cached_property
    def nested(self) -> tuple[Chain, ...]:
        """Those that lie below others than the root."""
        return tuple(chain for chain in self.chains if len(chain) > 1)

    @cached_property
    def word(self) -> int:
        """63 bits that stand for these wants: enough to see that they changed."""
        return int.from_bytes(blake2b(self.packed, digest_size=8).digest()) >> 1

    def covers(self, chain: Chain) -> bool:
        """Whether these wants include a topic: it, or one that includes it."""
        return self.everything or not self.words.isdisjoint(chain)

    def about(self, word: int) -> "Wants":
        """Of many, those that lie at or below a topic, as many as a part may have; of few all."""
        if len(self.packed) <= FEW_BYTES:
            return self
        return _part(self.chains[at] for at in self._by_word.get(word, ()))

    def for_one(self, other: "Wants") -> "Wants":
        """Of many, those that concern another, as many as a part may have; of few all."""
        if len(self.packed) <= FEW_BYTES:
            return self
        theirs = {word for chain in other.chains for word in chain}
        return _part(chain for chain in self.chains if other.covers(chain) or not chain or chain[-1] in theirs)

    @cached_property
    def _by_word(self) -> dict[int, list[int]]:
        return by_word(self.chains)

    def shared(self, chains: Iterable[Chain]) -> int:
        """How many of these topics they include."""
        return sum(map(self.covers, chains))

    def names(self, chain: Chain) -> bool:
        """Whether a topic is one of these, and not merely below one."""
        return chain[-1] in self.words if chain else self.everything

    def includes(self, chain: Chain) -> bool:
        """Whether a topic lies below one of these, and is none of them."""
        return (
            bool(chain) and (self.everything or not self.words.isdisjoint(chain[:-1])) and chain[-1] not in self.words
        )

    def touches(self, other: "Wants") -> bool:
        """Whether events of some topic concern both."""
        return any(map(self.covers, other.chains)) or any(map(other.covers, self.chains))

    def below(self, other: "Wants") -> tuple[Chain, ...]:
        """Topics of another that lie below ours."""
        return tuple(chain for chain in (other.chains if self.everything else other.nested) if self.includes(chain))

    def __len__(self) -> int:
        return len(self.chains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wants) and self.chains == other.chains

    def __hash__(self) -> int:
        return self.word

    def __repr__(self) -> str:
        return f"Wants({list(self.chains)})"


NOTHING = Wants(())


def by_word(chains: Iterable[Chain]) -> dict[int, list[int]]:
    """Where each word stands: the places of the chains that have it."""
    found: dict[int, list[int]] = {}
    for at, chain in enumerate(chains):
        for word in chain:
            places = found.setdefault(word, [])
            if not places or places[-1] != at:  # chains of others may say a word twice
                places.append(at)
    return found


def _part(chains: Iterable[Chain]) -> Wants:
    found, size = [], 0
    for chain in chains:
        size += 2 + WORD_BYTES * len(chain)
        if size > PART_BYTES_MAX:
            break
        found.append(chain)
    return Wants(found)


def _in_common(one: Chain, other: Chain) -> int:
    """How many words two chains begin with alike."""
    most = min(len(one), len(other))
    for i in range(most):
        if one[i] != other[i]:
            return i
    return most


def _unpack(packed: bytes) -> list[Chain] | None:
    """The chains, if each comes after the one before it and says no word twice: nobody packs them otherwise."""
    chains: list[Chain] = []
    chain: Chain = ()
    at = unpacked = 0
    while at < len(packed):
        if at + 2 > len(packed):
            return None
        kept, fresh = packed[at], packed[at + 1]
        end = at + 2 + fresh * WORD_BYTES
        if end > len(packed) or kept > len(chain) or kept + fresh > CHAIN_MAX:
            return None
        further = [int.from_bytes(packed[i : i + WORD_BYTES]) for i in range(at + 2, end, WORD_BYTES)]
        if chains and (not further or (kept < len(chain) and further[0] <= chain[kept])):
            return None
        chain = (*chain[:kept], *further)
        chains.append(chain)
        unpacked += len(chain)
        if unpacked > WORDS_MAX:
            return None
        at = end
    return chains
