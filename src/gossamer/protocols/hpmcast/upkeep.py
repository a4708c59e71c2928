"""What can be tuned in how hpmcast keeps its views."""

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.protocols.hpmcast.messages import AGE_MS_MAX

Grade: TypeAlias = Literal["exact", "attribute", "selective", "type"]
Choice: TypeAlias = Literal["address", "branches", "capacity", "coverage"]
GRADES: tuple[Grade, ...] = get_args(Grade)

SIZE_MAX = 2048
FANOUT_MAX = 1 << 10


class Upkeep(Struct, frozen=True, kw_only=True):
    """One setting for the whole hierarchy, but for `capacity`: all must come to the same delegates."""

    choice: Choice = "address"
    """Who stands for a subsystem: the smallest addresses; the smallest of each subsystem in it by turns, as Fig. 5 has
    it, so that they do not all live in one group; those with the greatest `capacity`; or those whose own interests
    cover most of their group's together, so that fewer events are carried for others only."""
    capacity: int = 0
    "What this node says it can bear, in whatever unit the network agreed on."
    weakest: Grade = "type"
    """How weak filters may get from level to level: exact on level 1, attribute comparisons on level 2, on level 3 only
    those a subsystem agrees on, above only topics. Weaker: smaller rows that change less, more events for nobody."""
    interest_size: int = 64
    "Values, intervals and patterns in a row's filters; beyond, they are made wider until they fit."
    gossip_every_us: int = 1 * SECOND_US
    "How often rows are compared with others. Shorter: changes are known sooner."
    hurry_every_us: int = SECOND_US // 5
    """The same for a few turns after a change, and how soon the silent are asked again. Several round trips: half of it
    is what news is reckoned to take to the next peer."""
    gossip_fanout: int = 2
    "Participants of a level that rows are compared with each time."
    suspect_us: int = 3 * SECOND_US
    """A neighbour on level 1 of which nothing was heard for so long is asked whether it is there; in a group of 16 or
    more later, as log₂ of its size, for news of all takes longer."""
    asks: int = 8
    "Questions in vain after which a neighbour is given up: who is there is silent so often once in 10⁵ at 10 % loss."
    forget_us: int = 15 * SECOND_US
    """A subsystem on level 2 of which nobody heard for this long is forgotten, on level i after i − 1 times as long: it
    has that time to find other delegates below. Longer than news takes to everybody."""
    tries: int = 10
    "Requests to join in vain after which a node takes itself for the first."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        for name in ("gossip_every_us", "hurry_every_us", "gossip_fanout", "suspect_us", "asks", "forget_us", "tries"):
            yield getattr(self, name) < 1, f"{name} must be at least 1, not {getattr(self, name)}"
        yield not 0 <= self.capacity < 1 << 62, f"capacity must be 0 to 2^62, not {self.capacity}"
        yield not 1 <= self.interest_size <= SIZE_MAX, f"interest_size must be 1 to {SIZE_MAX:,}"
        yield self.gossip_fanout > FANOUT_MAX, f"gossip_fanout must be at most {FANOUT_MAX:,}"
        slow = self.forget_us <= 2 * self.gossip_every_us
        yield slow, "forget_us must exceed two of gossip_every_us: every subsystem would be forgotten in between"
        yield self.forget_us // 1000 > AGE_MS_MAX, f"forget_us must be at most {AGE_MS_MAX * 1000}"

    def grade(self, level: int) -> Grade:
        """How exactly rows on a level say what is wanted."""
        return GRADES[min(level - 1, GRADES.index(self.weakest))]

    def forget_on(self, level: int) -> int:
        return self.forget_us * max(1, level - 1)
