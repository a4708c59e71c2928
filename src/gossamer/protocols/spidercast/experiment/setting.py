"""An overlay that is to be built: who is interested in what, and by which rules links are chosen.

Interests are arrays (one row of topics after the other), from a workload or from a table of one's own; machines and
kernel both start from them, so the two cannot disagree.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct, field

from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.params import Params

NODES_MAX = 1 << 31
ROUNDS_MAX = 1 << 30


class InterestArrays(Struct, frozen=True):
    """Node i is interested in topics[starts[i] : starts[i + 1]], in ascending order, each below topic_count."""

    starts: Any
    "int64, one more than there are nodes."
    topics: Any
    "int32."
    topic_count: int

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        starts, topics = self.starts, self.topics
        yield starts.dtype != np.int64 or topics.dtype != np.int32, "interests are int64 starts and int32 topics"
        yield not 1 <= len(starts) <= NODES_MAX, f"there can be at most {NODES_MAX - 1:,} nodes"
        ordered = starts[0] == 0 and starts[-1] == len(topics) and bool((np.diff(starts) >= 0).all())
        yield not ordered, "starts must ascend from 0 to the number of topics given"
        inside = not len(topics) or (topics.min() >= 0 and topics.max() < self.topic_count)
        yield not inside, f"topics are numbers from 0 to {self.topic_count - 1:,}"
        rising = np.ones(len(topics), bool)
        rising[1:] = topics[1:] > topics[:-1]
        rising[starts[:-1][starts[:-1] < len(topics)]] = True
        yield not rising.all(), "a node's topics must be in ascending order, each once"

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    def of(self, node: int) -> list[int]:
        """One node's topics."""
        chosen: list[int] = self.topics[self.starts[node] : self.starts[node + 1]].tolist()
        return chosen


class OverlaySetting(Struct, frozen=True, kw_only=True):
    """Everything that is chosen about an overlay, but for the seed."""

    interests: InterestArrays
    params: Params = field(default_factory=Params)
    rounds_max: int = 1000
    "A run that is not at rest by then ends, and says so."

    def __post_init__(self) -> None:
        if not 1 <= self.rounds_max <= ROUNDS_MAX:
            raise Misuse(f"rounds_max must be 1 to {ROUNDS_MAX:,}")


class Overlay(Struct, frozen=True, kw_only=True):
    """The links that stand at the end, and what it took."""

    links: Any
    "int32, a row each: the lower node, then the higher; rows in ascending order."
    kinds: Any
    "uint8 for each link: 1 greedy, 2 random, 3 both."
    degree_greedy: Any
    "int32 for each node."
    degree_random: Any
    rounds: int
    "Until nothing changed any more."
    at_rest: bool
    "Whether it came to rest; otherwise rounds_max ended it."
    messages: dict[str, int]
    "By kind."
    covered: int = 0
    "Topics that links covered when they were chosen and granted: of those that were not covered well enough."
    one_sided: int = 0
    "Links that only one end knows of."
    over_limit: int = 0
    "Nodes that have more than L^max + Margin neighbours in a task."

    @property
    def degree(self) -> Any:
        """Neighbours of each node, one of both tasks counted once."""
        return np.bincount(self.links.ravel(), minlength=len(self.degree_greedy)).astype(np.int32)
