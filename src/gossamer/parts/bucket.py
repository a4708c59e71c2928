"""Token buckets: how often somebody may ask something of us. Arithmetic on the time given, no clock.

A bucket holds at most `burst` tokens, is full at first, gains `per_s` of them a second, and each request takes one, or
as many as it costs.
"""

from collections.abc import Hashable

from gossamer.core.ids import Peer


def first_hand(origin: Peer, sender: Peer) -> int:
    """Whose bucket a request of `origin` is taken from. What others pass on in its name has one of its own, or anybody
    could use up what it may ask itself."""
    return origin if origin == sender else ~origin


class Bucket:
    """One bucket."""

    __slots__ = ("burst", "per_us", "since_us", "tokens")

    def __init__(self, per_s: float, burst: float, now_us: int) -> None:
        self.per_us, self.burst = per_s / 1e6, burst
        self.tokens = float(burst)
        self.since_us = now_us

    def take(self, now_us: int, cost: float = 1.0) -> bool:
        """Whether there is enough for this now; if not, nothing is taken."""
        self._fill(now_us)
        if self.tokens < cost:
            return False
        self.tokens -= cost
        return True

    def spend(self, now_us: int, cost: float) -> None:
        """Takes this, also where there is less: what is only known afterwards is owed."""
        self._fill(now_us)
        self.tokens -= cost

    def debt_us(self, now_us: int) -> float:
        """How long until nothing is owed."""
        self._fill(now_us)
        return max(0.0, -self.tokens / self.per_us)

    def _fill(self, now_us: int) -> None:
        if now_us > self.since_us:
            self.tokens = min(self.burst, self.tokens + (now_us - self.since_us) * self.per_us)
            self.since_us = now_us


class Buckets:
    """One for each peer, or whatever else stands for who asks. When there are too many, the one used longest ago is
    forgotten: it is full again, or nearly."""

    def __init__(self, per_s: float, burst: float, most: int = 4096) -> None:
        self.per_s, self.burst, self.most = per_s, burst, most
        self.kept: dict[Hashable, Bucket] = {}

    def take(self, who: Hashable, now_us: int, cost: float = 1.0) -> bool:
        """Whether one more request of this one is to be heard now."""
        bucket = self.kept.pop(who, None) or Bucket(self.per_s, self.burst, now_us)
        self.kept[who] = bucket
        if len(self.kept) > self.most:
            del self.kept[next(iter(self.kept))]
        return bucket.take(now_us, cost)
