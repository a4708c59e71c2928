"""Token buckets: how often each of many may ask something of us. Arithmetic on the time given, no clock.

A bucket holds at most `burst` tokens, gains `per_s` of them a second, and each request takes one. Only those that asked
lately have a bucket: one that would be full again needs none, and when there are too many the one used longest ago is
forgotten.
"""

from gossamer.core.ids import Peer


def first_hand(origin: Peer, sender: Peer) -> int:
    """Whose bucket a request of `origin` is taken from. What others pass on in its name has one of its own, or anybody
    could use up what it may ask itself."""
    return origin if origin == sender else ~origin


class Buckets:
    """One bucket per peer, or whatever number stands for it."""

    def __init__(self, per_s: float, burst: int, most: int = 4096) -> None:
        self.per_us = per_s / 1e6
        self.burst = burst
        self.most = most
        self.left: dict[int, tuple[float, int]] = {}  # tokens, and when they were counted

    def take(self, peer: int, now_us: int) -> bool:
        """Whether one more request of this peer is to be heard now."""
        tokens, since_us = self.left.pop(peer, (float(self.burst), now_us))
        tokens = min(float(self.burst), tokens + max(0, now_us - since_us) * self.per_us)
        allowed = tokens >= 1
        self.left[peer] = (tokens - 1 if allowed else tokens, now_us)
        if len(self.left) > self.most:
            del self.left[next(iter(self.left))]
        return allowed
