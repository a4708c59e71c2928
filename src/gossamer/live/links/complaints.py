"""What the log has been told of a peer: one that calls again and again would fill it with the same words."""

import re

from gossamer.live.running.clock import monotonic_us

AGAIN_US = 600_000_000
"After so long the same is said again."
REMEMBERED_MAX = 256


class Complaints:
    """One node's."""

    def __init__(self) -> None:
        self.said_us: dict[tuple[str, str], int] = {}

    def is_new(self, who: str, what: str) -> bool:
        """Whether this is worth a warning; from then on it has been said. Rubbish is the same with other numbers."""
        now_us, what = monotonic_us(), re.sub("[0-9]+", "0", what)
        before_us = self.said_us.pop((who, what), None)
        if before_us is not None and now_us - before_us < AGAIN_US:
            self.said_us[who, what] = before_us
            return False
        self.said_us[who, what] = now_us
        if len(self.said_us) > REMEMBERED_MAX:
            del self.said_us[next(iter(self.said_us))]
        return True
