"""What subscribers ask for: a topic with its subtopics, and perhaps a condition on the attributes.

A pattern travels as text and is named by 63 bits: tags count events by pattern, and a name is enough for that.
"""

from hashlib import blake2b
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, Ordinal
from gossamer.core.topics import ANSWERS_MAX, Topic

FILTER_MAX = 8192

Where: TypeAlias = Annotated[str, Meta(max_length=FILTER_MAX)]
"A filter in its canonical form (see `core.filters`); empty: everything."


class Pattern(Struct, frozen=True, array_like=True, order=True, gc=False):
    """One subscription as the network sees it."""

    topic: Topic
    where: Where = ""

    @property
    def signature(self) -> int:
        """63 bits that stand for the pattern; 0 stands for none."""
        known = _signatures.get(self)
        if known is None:
            text = f"{self.topic} {self.where}".encode(errors="replace")
            known = int.from_bytes(blake2b(text, digest_size=8).digest()) >> 1 or 1
            if len(_signatures) >= ANSWERS_MAX:
                _signatures.clear()
            _signatures[self] = known
        return known


_signatures: dict[Pattern, int] = {}


UNCOUNTED = 0
"Stands where a signature would, for the patterns an event matches and is not counted by."


class Tag(Struct, frozen=True, array_like=True, gc=False):
    """Where an event stands among those of its publisher that match one pattern: a gap between two tells of a loss. One
    with UNCOUNTED stands last, and says of how many patterns no gap will tell."""

    pattern: Count
    "The pattern's signature."
    sequence: Ordinal
    "From 1, within one life of the publisher."
    age_ms: Count = 0
    """How long before it the first event of the count was published, rounded up: whoever subscribed earlier should have
    all of them. 0: it is the first, or nobody knows."""
