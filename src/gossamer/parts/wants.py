"""What a node wants, told to others in few bytes and without the names of topics.

A topic stands as its *chain*: a word of 48 bits for each topic that includes it, the widest first, and one for itself.
Whoever knows a topic can make its word; where the network has a key, nobody else can (`spell` is then a keyed hash). A
chain tells both that a node wants a topic and that what it wants lies below a topic of ours. The root includes
everything, stands in no chain, and is itself the empty one.

Packed, chains are sorted, and each is written as how many words it has in common with the one before, how many follow,
and those. There is one way only to pack the same wants, so two of them are equal where their bytes are.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.topics import ROOT, Hierarchy, Topic

WORD_BYTES = 6
CHAIN_MAX = 128
"Words of one chain: no name has more segments, and further super-topics make it little longer."
WANTS_BYTES_MAX = 16_384
"What a node may want in all: 2,000 topics below none, or 200 of ten segments with nothing in common."
WORDS_MAX = 16_384
"The same, unpacked: a word that chains have in common is written once and held by each of them."

Chain: TypeAlias = tuple[int, ...]
Spell: TypeAlias = Callable[[Topic], str]
Packed: TypeAlias = Annotated[bytes, Meta(max_length=WANTS_BYTES_MAX)]
"Wants as they travel, bounded where they come in."


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

    def __init__(self, chains: Iterable[Chain]) -> None:
        self.chains = tuple(sorted(dict.fromkeys(chains)))
        self.words = frozenset(chain[-1] for chain in self.chains if chain)
        self.everything = () in self.chains

    @classmethod
    def of(cls, topics: Sequence[Topic], hierarchy: Hierarchy, spell: Spell) -> "Wants":
        """What a node with these topics wants; as many of them, from the first, as may be told."""
        chains = [chain_of(topic, hierarchy, spell) for topic in topics]
        wants = cls(chains)
        while (excess := max(len(wants.packed) / WANTS_BYTES_MAX, sum(map(len, chains)) / WORDS_MAX)) > 1:
            chains = chains[: int(len(chains) / excess)]
            wants = cls(chains)
        return wants

    @classmethod
    def read(cls, packed: bytes) -> "Wants | None":
        """What was packed; None: no wants are packed like this."""
        chains = _unpack(packed)
        if chains is None:
            return None
        wants = cls(chains)
        return wants if wants.packed == packed else None

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


def _in_common(one: Chain, other: Chain) -> int:
    """How many words two chains begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _unpack(packed: bytes) -> list[Chain] | None:
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
        fresh_words = [int.from_bytes(packed[i : i + WORD_BYTES]) for i in range(at + 2, end, WORD_BYTES)]
        chain = (*chain[:kept], *fresh_words)
        chains.append(chain)
        unpacked += len(chain)
        if unpacked > WORDS_MAX:
            return None
        at = end
    return chains
