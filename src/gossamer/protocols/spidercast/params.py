"""What can be tuned in SpiderCast; the letters are the paper's."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.errors import Misuse

Selection: TypeAlias = Literal["coverage", "similarity", "random", "ring"]
View: TypeAlias = Literal["full"] | int | float

COVERAGE_MAX = 64
MARGIN_MAX = 1 << 10
QUARANTINE_MAX = 64


class Params(Struct, frozen=True, kw_only=True):
    """How neighbours are chosen."""

    greedy: int = 3
    "K_g: neighbours that want each of one's topics, chosen for wanting many of them at once."
    random: int = 0
    "K_r: the same, chosen by chance. Each costs a link for about every topic; makes lopsided interests connect."
    margin: int = 5
    "Neighbours beyond L^max that are accepted before others are sent on."
    adaptive: bool = False
    "Whether each node raises its own K_r, from 0, where greedy coverage left it with few links (3.3.1)."
    view: View = "full"
    "Whose interests a node knows: everybody's, those of a share of all nodes (0.05), or of so many (500)."
    selection: Selection = "coverage"
    """How candidates are compared: by the topics they would cover; by the topics they share (`greedy` of those links,
    and `random` to anybody); by chance alone; `ring`: not at all, every topic's nodes make a ring."""
    rendezvous: bool = False
    "Whether nodes that know nobody for a topic ask its home, where others who looked have left their names."
    quarantine: int = 8
    "Rounds until a candidate that was asked may be asked again."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        view = self.view
        yield not 0 <= self.greedy <= COVERAGE_MAX, f"greedy must be 0 to {COVERAGE_MAX}"
        yield not 0 <= self.random <= COVERAGE_MAX, f"random must be 0 to {COVERAGE_MAX}"
        yield not 0 <= self.margin <= MARGIN_MAX, f"margin must be 0 to {MARGIN_MAX}"
        yield not 1 <= self.quarantine <= QUARANTINE_MAX, f"quarantine must be 1 to {QUARANTINE_MAX} rounds"
        yield self.adaptive and self.selection != "coverage", 'adaptive is for selection = "coverage"'
        yield self.adaptive and self.random > 0, "adaptive nodes choose random themselves: leave it at 0"
        yield isinstance(view, float) and not 0 < view <= 1, "a view that is a share must be more than 0, at most 1"
        yield isinstance(view, int) and view < 1, "a view of so many nodes must be at least 1"
