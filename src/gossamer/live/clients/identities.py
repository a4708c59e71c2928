"""What one identity costs its node. It is counted by name, over all its connections, and kept after the last of them
ended: whoever attaches again finds what it has left."""

from collections import deque
from typing import TYPE_CHECKING

from gossamer.core.publications import IDLE_US
from gossamer.core.topics import Topic
from gossamer.live.clients.outbox_share import OutboxShare
from gossamer.live.config.tables import Limits
from gossamer.parts.bucket import Bucket

if TYPE_CHECKING:
    from gossamer.live.clients.session import ClientSession

REQUESTS_BURST_S = 2
"Seconds for which an identity may ask at once."
FILTERS_PER_S = 16_384
FILTERS_BURST = 65_536
"Characters of filters that are read for one identity: every one of them costs a microsecond or two."
FILTERS_HELD = 65_536
"Of those its readers have: every one of them takes a hundred bytes or more."
OPENINGS_PER_S = 20
OPENINGS_BURST = 300
"Readers that one identity may open: each may have the node join a community, and leave it again."
AWAITS_MAX = 16
AWAITED_MAX = 40_000
"Times one identity may wait at once for members to have its publications, and how many of these."
REMEMBERED_MAX = 4_096
"Identities that are known; beyond it, whoever has no connection and was here longest ago begins anew."


class Identity:
    """One of them."""

    def __init__(self, name: str, limits: Limits, now_us: int) -> None:
        self.name = name
        self.sessions = 0
        "Connections."
        self.readers = self.letters = 0
        "And the characters of their filters."
        self.under_way = self.under_way_bytes = 0
        "Requests that are being served."
        self.awaits = self.awaited = 0
        self.outbox = OutboxShare()
        self.topics: dict[Topic, int] = {}
        "What it published on lately, and when last; longest ago first."
        self.requests = self._requests(limits, now_us)
        self.filters = Bucket(FILTERS_PER_S, FILTERS_BURST, now_us)
        self.openings = Bucket(OPENINGS_PER_S, OPENINGS_BURST, now_us)
        self.waiting: deque[ClientSession] = deque()
        "Connections with requests that wait for their turn."
        self.rests = False
        "It asked more than it may, and is not served for a moment."

    def _requests(self, limits: Limits, now_us: int) -> Bucket:
        return Bucket(limits.client_requests_per_s, REQUESTS_BURST_S * limits.client_requests_per_s, now_us)

    def tune(self, limits: Limits, now_us: int) -> None:
        """It may ask more or less from now on: what it owes, or has left, stays."""
        before, self.requests = self.requests, self._requests(limits, now_us)
        self.requests.spend(now_us, max(0.0, self.requests.tokens - before.tokens))

    def opens(self, topic: Topic, most: int, now_us: int) -> bool:
        """Whether it may publish on this topic: those of the last two minutes are its own, up to so many."""
        if self.topics.pop(topic, None) is None:
            while self.topics and now_us - self.topics[idle := next(iter(self.topics))] >= IDLE_US:
                del self.topics[idle]
            if len(self.topics) >= most:
                return False
        self.topics[topic] = now_us
        return True


class Identities:
    """All of them, by name."""

    def __init__(self) -> None:
        self.known: dict[str, Identity] = {}

    def get(self, name: str, limits: Limits, now_us: int) -> Identity:
        identity = self.known.pop(name, None) or Identity(name, limits, now_us)
        self.known[name] = identity
        if identity.requests.burst != REQUESTS_BURST_S * limits.client_requests_per_s:
            identity.tune(limits, now_us)
        if len(self.known) > REMEMBERED_MAX:
            del self.known[next(name for name, each in self.known.items() if not each.sessions)]
        return identity
