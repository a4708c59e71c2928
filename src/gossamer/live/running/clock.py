"""Time for a node: wall time when it starts, then steady; a jump of the machine's clock is noticed, not followed."""

import logging
import time

log = logging.getLogger("gossamer.clock")

JUMP_US = 1_000_000


def monotonic_us() -> int:
    return time.monotonic_ns() // 1000


class Clock:
    """Microseconds since 1970, never backwards."""

    def __init__(self) -> None:
        self.offset_us = time.time_ns() // 1000 - monotonic_us()
        self.skew_us = 0
        self.jumps = 0

    def now_us(self) -> int:
        return monotonic_us() + self.offset_us

    def check(self) -> None:
        """Compares with the machine's clock, now and then."""
        skew_us = time.time_ns() // 1000 - self.now_us()
        if abs(skew_us - self.skew_us) > JUMP_US:
            self.jumps += 1
            log.warning(
                "the machine's clock jumped by %.1f s: events, traces and spool go on by the time it had, grants are "
                "judged by the new one; restart the node if that is right, and minutes away from the old one",
                (skew_us - self.skew_us) / 1e6,
            )
            self.skew_us = skew_us
