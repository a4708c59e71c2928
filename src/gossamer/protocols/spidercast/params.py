"""What can be tuned in SpiderCast; the letters are the paper's."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US

Selection: TypeAlias = Literal["coverage", "similarity", "random", "ring"]
Parting: TypeAlias = Literal["prose", "figure"]
View: TypeAlias = Literal["full"] | int | float

COVERAGE_MAX = 64
MARGIN_MAX = 1 << 10
QUARANTINE_MAX = 64
TIME_US_MAX = 1 << 53
AT_LEAST_ONE = ("round_us", "rest_us", "beat_us", "beats_missed", "below_max", "alone_us")


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
    parting: Parting = "prose"
    """Which neighbours can be asked to part: the paper says it in two ways. `prose`: those that have as many neighbours
    as they need, or more (section 2.3.1: target <= degree). `figure`: only those that have more (Fig. 3, line 9, as
    printed: degree > target). The figure's way takes far fewer messages, and leaves more links."""
    patient: bool = False
    "Whether a home that can name nobody is asked on and on, at the longest interval; otherwise a few times."
    insist: bool = False
    """Whether connection comes before few links. Random links are kept up to L^max, whoever else covers their topics:
    shedding takes first those that join groups of unlike interests. A node that has L^max neighbours takes some of
    Margin for a topic that none of them wants, and parts from nobody who is the only one to want one."""
    round_us: int = SECOND_US // 5
    "Time between two rounds of a node that has something to do. Shorter: sooner covered. Several round trips."
    rest_us: int = SECOND_US
    "The same at rest: how soon better news of others is noticed."
    beat_us: int = SECOND_US
    """Time between two heartbeats to each neighbour. They tell degree, target, and what is wanted if that changed.
    Shorter: the dead are noticed sooner, at one message per link and end."""
    beats_missed: int = 6
    """A neighbour not heard of for this many heartbeats is given up. A live one is given up by mistake with loss⁶ at
    each: at 10 % loss once in twelve days for each link, and then found again. More: surer, slower."""
    below_max: int = 256
    "Topics below one's own that others are interested in, and that are covered too. More: higher L^max."
    alone_us: int = 3 * SECOND_US
    """A node that found nobody for a topic in this time takes itself for the first. More: surer that a publication is
    not lost for want of a link, slower to found a community."""

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
        for name in AT_LEAST_ONE:
            yield not 1 <= getattr(self, name) <= TIME_US_MAX, f"{name} must be at least 1"
        yield self.rest_us < self.round_us, "rest_us must be no less than round_us: rest is when less is to do"

    @classmethod
    def paper(cls) -> "Params":
        """(3, 0)-coverage, which the paper found enough for all but heavily skewed interests."""
        return cls()

    @classmethod
    def live(cls) -> "Params":
        """(3, 1): a random link for each topic joins groups of like interests that greedy links leave apart, those who
        want a topic and those who want what includes it among them. Those links are kept. Rare topics are found at
        their homes, and there is room for them."""
        return cls(random=1, rendezvous=True, patient=True, insist=True)
