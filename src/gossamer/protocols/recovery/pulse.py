"""The timer of everything that gossips here: it runs while there is something to say, and waits twice as long each time
nobody cared.

Its beats lie on a grid, so that no timer need run while there is nothing to say: whenever it is set again, it meets the
same beats.
"""

from collections.abc import Callable

from msgspec import Struct

from gossamer.core.draws import ROUND
from gossamer.core.stack import Stack
from gossamer.protocols.recovery import rules


class Pulse:
    """One of them. `timer` makes its timers, given when each is due."""

    __slots__ = ("busy", "due_us", "interval_us", "least_us", "node", "origin_us", "timer")

    def __init__(self, node: Stack, timer: Callable[[int], Struct], least_us: int) -> None:
        self.node, self.timer = node, timer
        self.least_us = self.interval_us = self.origin_us = 0
        self.pace(least_us)
        self.due_us: int | None = None
        "When its next beat is; None: nothing to say."
        self.busy = True
        "Whether the last beat, or what happened since, was not in vain."

    def pace(self, least_us: int) -> None:
        """Its grid is another from now on; 0: there is none."""
        if least_us != self.least_us:
            self.least_us, self.interval_us = least_us, max(least_us, self.interval_us)
            self.origin_us = int(rules.phase(self.node.key(ROUND, 0), least_us)) if least_us else 0

    def hurry(self) -> None:
        """There is something to say: the next beat of the grid is for that."""
        self.busy = True
        if self.due_us is None or self.interval_us > self.least_us:
            self.interval_us = self.least_us
            self.wait()

    def wait(self) -> None:
        now_us = self.node.now_us
        following_us = rules.next_round_us(now_us, self.origin_us, self.least_us)
        self.due_us = following_us + self.interval_us - self.least_us
        self.node.out.timer(self.due_us - now_us, self.timer(self.due_us))

    def under_way(self) -> list[Struct]:
        """Its timer, while there is something to say."""
        return [] if self.due_us is None else [self.timer(self.due_us)]

    def beats(self, due_us: int) -> bool:
        """Whether a timer that went off is the one that is waited for. Then nothing is, until it is set again."""
        if due_us != self.due_us:
            return False
        self.due_us = None
        return True

    def number(self, due_us: int) -> int:
        """Which beat of the grid this is."""
        return rules.round_at(due_us, self.origin_us, self.least_us)

    def slow_down(self) -> None:
        """A beat is over: in vain, or not."""
        self.interval_us = rules.next_interval(self.interval_us, self.least_us, self.busy)
        self.busy = False
