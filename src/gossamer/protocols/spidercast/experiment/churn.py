"""Nodes that come and go: how long they stay, how long they are away, and what is looked at."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from gossamer.core.draws import CHURN, chance, fold
from gossamer.core.errors import Misuse
from gossamer.protocols.spidercast.experiment.setting import InterestArrays

ROUNDS_MAX = 1 << 30
COMES, GOES = 1, 0


class Churn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times up and down are exponential. Whoever comes back has other interests."""

    up_s: float = 100.0
    "Mean time a node stays."
    down_s: float | None = None
    "Mean time it is away; a quarter of the time it stays, if not given."
    seconds: float = 1000.0
    snapshot_every_s: float = 200.0
    young_s: float = 2.0
    "Whoever came so shortly before a snapshot is not in it."
    round_s: float = 0.1
    "Time from round to round."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        times = (self.up_s, self.away_s, self.seconds, self.snapshot_every_s, self.round_s)
        yield not all(0 < each < float("inf") for each in times), "times of churn must be more than 0 seconds"
        yield not self.young_s >= 0, "young_s must not be negative"
        yield (
            self.seconds / self.round_s > ROUNDS_MAX,
            f"there can be at most {ROUNDS_MAX:,} rounds: longer ones, or less",
        )

    @property
    def away_s(self) -> float:
        return self.up_s / 4 if self.down_s is None else self.down_s

    def rounds(self, seconds: float) -> int:
        return round(seconds / self.round_s)

    def snapshots(self) -> list[float]:
        """When they are taken."""
        count = int(self.seconds / self.snapshot_every_s + 1e-9)
        return [self.snapshot_every_s * (i + 1) for i in range(count)]

    def schedule(self, nodes: int, seed: int) -> tuple[Any, Any, Any]:
        """Who comes or goes and when, in order of time: times in seconds, nodes, COMES or GOES.

        Each node is up at the start with the chance with which it is at any time."""
        key = np.array([fold(seed, CHURN)], np.uint64)
        keys = fold(key, np.arange(nodes, dtype=np.uint64))
        up = chance(keys, np.zeros(1, np.uint64)) < self.up_s / (self.up_s + self.away_s)
        at = np.zeros(nodes)
        times, who, what = [at[up]], [np.flatnonzero(up)], [np.ones(int(up.sum()), np.int64)]
        step = 1
        while (at <= self.seconds).any():
            luck = chance(keys, np.full(1, step, np.uint64))
            at = at - np.log1p(-luck) * np.where(up, self.up_s, self.away_s)
            up = ~up
            now = at <= self.seconds
            times.append(at[now])
            who.append(np.flatnonzero(now))
            what.append(up[now].astype(np.int64))
            step += 1
        everything = np.concatenate(times), np.concatenate(who), np.concatenate(what)
        order = np.lexsort((everything[1], everything[0]))
        return everything[0][order], everything[1][order], everything[2][order]


class Snapshot(Struct, frozen=True, kw_only=True):
    """The overlay at one moment, without the young. Nodes are numbered anew, from 0."""

    at_s: float
    nodes: Any
    "Their numbers in the workload."
    interests: InterestArrays
    links: Any
    "As in Overlay."
    kinds: Any
    one_sided: int
    over_limit: int


class Churned(Struct, frozen=True, kw_only=True):
    """What came of a run with churn."""

    snapshots: list[Snapshot]
    joins: int
    leaves: int
    messages: dict[str, int]
    "By kind, from beginning to end."

    @property
    def messages_per_change(self) -> float:
        return sum(self.messages.values()) / max(1, self.joins + self.leaves)
