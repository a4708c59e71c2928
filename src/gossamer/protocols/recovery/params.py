"""What can be tuned in epidemic recovery; the letters are the paper's."""

from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US

Method: TypeAlias = Literal["none", "push", "subscriber-pull", "publisher-pull", "combined", "exchange"]
Eviction: TypeAlias = Literal["fifo", "random", "subscriber-first"]

CACHE_MAX = 1 << 24
TIME_US_MAX = 1 << 53


class Params(Struct, frozen=True, kw_only=True, cache_hash=True):
    """One topic's settings. `cache`, `eviction`, `cache_relayed`, `store` and `answers_per_s` concern all that a node
    holds: those of the root topic count."""

    method: Method = "combined"
    """Who starts: `push`, whoever has events tells which (finds what nobody noticed, costs as much when nothing is
    lost); `subscriber-pull`, whoever misses some asks subscribers (silent without loss, needs others who want the
    same); `publisher-pull`, asks back along the way events came; `combined`, one or the other pull; `exchange`,
    where events are matched on their way and no gaps show: whoever holds events tells those that want them; `none`."""
    interval_us: int = 30_000
    "T: time between two rounds of one node. Shorter: quicker recovery out of smaller caches, more gossip."
    forward: float = 0.9
    "P_forward, on trees: the chance with which a neighbour is passed a digest. Higher: farther and costlier."
    cache: int = 1500
    "beta: events kept for others. A larger cache allows longer intervals: memory against traffic."
    expiry_us: int = 5 * SECOND_US
    "How long a lost event is asked for. Longer than anybody's cache keeps it is in vain."
    eviction: Eviction = "fifo"
    """What leaves a full cache: the oldest; one drawn by chance (not the same one everywhere); or the oldest of those
    this node neither published nor wants, if there are any."""
    cache_relayed: bool = False
    "Whether events that are only carried for others are kept too: more holders near the publisher, shorter memory."
    publisher_share: float = 0.5
    "The share of combined rounds that ask towards the publisher; the others ask subscribers."
    fanout: int = 3
    "Over links that make cycles: peers a digest goes to. It is passed on by none of them, or it would be a storm."
    adaptive: bool = False
    "Whether the interval doubles, up to 32 T, while rounds are in vain: less idle gossip, a slower start of recovery."
    immediate: bool = False
    "Whether a loss starts a round at once, besides the regular ones: quicker, with one round for every loss."
    push_local: bool = False
    "Whether push tells of what this node's own users want only; otherwise of every pattern it knows."
    patience_us: int = 0
    """How long after it was noticed a gap counts as a loss. Where events overtake each other, most gaps fill by
    themselves: 0 is for links that keep the order."""
    push_every_us: int = 0
    """Besides pulling: time between two push digests while there is news, doubling to 32 times this without; 0: none.
    Only a digest finds what gaps cannot show: an event that no member of a community ever got."""
    tail_after_us: int = 0
    "After so long without a publication its publisher repeats where it stands, less and less often; 0: never."
    store: bool = False
    "Whether events that left the cache are asked of the store."
    answers_per_s: int = 0
    """Events (of up to 4 KiB; larger ones count more) one peer is sent again per second, twice as many at once. Less:
    slower recovery after long outages, less harm by peers that ask for everything. 0: no limit."""

    def __post_init__(self) -> None:
        for name in ("forward", "publisher_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise Misuse(f"{name} is a share between 0 and 1, not {getattr(self, name)}")
        for name, most in (
            ("cache", CACHE_MAX),
            ("fanout", 1000),
            ("interval_us", TIME_US_MAX),
            ("expiry_us", TIME_US_MAX),
        ):
            if not 1 <= getattr(self, name) <= most:
                raise Misuse(f"{name} must be between 1 and {most}, not {getattr(self, name)}")
        for name in ("patience_us", "push_every_us", "tail_after_us", "answers_per_s"):
            if not 0 <= getattr(self, name) <= TIME_US_MAX:
                raise Misuse(f"{name} must be between 0 and {TIME_US_MAX}, not {getattr(self, name)}")

        if self.patience_us >= self.expiry_us:
            raise Misuse(f"patience_us must be less than expiry_us ({self.expiry_us}), not {self.patience_us}")

    @classmethod
    def paper(cls) -> "Params":
        """The paper's algorithms and nothing else: pulls are silent as long as nothing is lost."""
        return cls()

    @classmethod
    def live(cls) -> "Params":
        """For networks in use: events may overtake each other, the last one may be lost, and so may all copies."""
        return cls(
            interval_us=SECOND_US // 10,
            cache=2000,
            expiry_us=60 * SECOND_US,
            patience_us=SECOND_US // 10,
            push_every_us=SECOND_US,
            tail_after_us=SECOND_US // 2,
            store=True,
            answers_per_s=1000,
        )
