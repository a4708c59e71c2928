"""The overlay by itself, in simulation: `python -m benchmarks.grid --peers 1000`.

Peers come one after the other, each with a topic by Zipf(1), some of them in three further communities. Then: what they
store, what upkeep costs, whether searches find somebody, in how many hops, evenly; with a fifth of all peers dead, and
while peers come and go. Each number stands beside what it should be; it exits with 1 if one is not. Seconds are the
processor's.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

from gossamer.core.draws import distinct, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.protocols.pgrid import theory
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.sim.overlay_peers import OverlayPeers

SEVEN, HUNDRED, LARGE = ".c.seven", ".c.hundred", ".c.large"


def zipf_topic(key: int, topics: int) -> Topic:
    """One of the topics, the i-th i times as rare as the first."""
    total = sum(1 / rank for rank in range(1, topics + 1))
    left = draw(key, 0) / 2**64 * total
    for rank in range(1, topics + 1):
        left -= 1 / rank
        if left < 0:
            return f".t.{rank}"
    return f".t.{topics}"


def settled(peers: int, seed: int, start_s: float, settle_s: float) -> OverlayPeers:
    town = OverlayPeers(seed)
    large = distinct(fold(seed, 3), peers, min(5000, peers // 2))
    further: dict[Peer, list[Topic]] = {}
    for topic, members in (
        (SEVEN, distinct(fold(seed, 1), peers, 7)),
        (HUNDRED, distinct(fold(seed, 2), peers, 100)),
        (LARGE, large),
    ):
        for peer in members:
            further.setdefault(peer, []).append(topic)
    for peer in range(peers):
        town.start(peer, zipf_topic(fold(fold(seed, 4), peer), max(10, peers // 10)), *further.get(peer, ()))
        town.run(start_s / peers)
    town.run(settle_s)
    return town


def succeeded(town: OverlayPeers, found: Sequence[Lookup | None]) -> tuple[int, int]:
    """Searches that named a member that is up, and how many there were."""
    good = sum(
        any(said.member in town.world.up for said in lookup.found) if lookup is not None else False for lookup in found
    )
    return good, len(found)


def p_value(counts: Sequence[int]) -> float:
    """That evenly drawn counts differ at least as much (chi-square, by Wilson and Hilferty's cube root)."""
    mean, free = sum(counts) / len(counts), len(counts) - 1
    chi = sum((count - mean) ** 2 for count in counts) / mean
    z = ((chi / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
    return math.erfc(z / math.sqrt(2)) / 2


def evenness(town: OverlayPeers, topic: Topic, k: int, per_member: int) -> float:
    members = town.members(topic)
    rounds = per_member * len(members) // k
    drawn = Counter(
        said.member for each in town.searches([topic], rounds, k, over_s=30) if each for said in each.found[:k]
    )
    return p_value([drawn[member] for member in members])


def churn(town: OverlayPeers, seconds: int, per_minute: float) -> None:
    """Every second some crash, and as many that did before come back after ten seconds."""

    def turn(second: int) -> None:
        gone = town.some_up(round(len(town.topics) * per_minute / 60))
        for peer in gone:
            town.world.crash(peer)
        town.world.at(town.world.now_us + 10_000_000, lambda: [town.start(peer) for peer in gone])

    for second in range(seconds):
        town.world.at(town.world.now_us + second * 1_000_000, lambda second=second: turn(second))  # type: ignore[misc]


class Findings:
    """What is found is told as it is found, with what it should be; what falls short is remembered."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.short: list[str] = []

    def say(self, what: str, met: bool = True) -> None:
        self.tell(what if met else f"{what}  NOT MET")
        if not met:
            self.short.append(what)

    def found(self, when: str, searched: tuple[int, int], least: float) -> None:
        good, of = searched
        self.say(f"{when}: {good} of {of} found (at least {least:.1%})", good >= least * of)


def measure(findings: Findings, peers: int, seed: int, searches: int, start_s: float, settle_s: float) -> float:
    """Everything about so many peers; what upkeep costs each of them."""
    town = settled(peers, seed, start_s, settle_s)
    upkeep = look_at_rest(findings, town)
    search_at_rest(findings, town, searches)
    lose_and_churn(findings, town, searches)
    return upkeep


def look_at_rest(findings: Findings, town: OverlayPeers) -> float:
    grids = town.grids()
    leaves = Counter(grid.trie.path for grid in grids)
    stored = [len(grid.store) for grid in grids]
    findings.say(f"{len(grids)} peers, {len(leaves)} leaves of {min(leaves.values())} to {max(leaves.values())} peers")
    mean, most = fmean(stored), max(stored)
    findings.say(
        f"stored per peer: {mean:.1f}, at most {most}: {most / mean:.2f} times even (3 at most)", most <= 3 * mean
    )
    before, levels = town.counted.all, fmean(len(grid.trie.levels) for grid in grids)
    town.run(20)
    upkeep = (town.counted.all - before) / 20 / len(grids)
    reckoned = theory.upkeep_per_s(levels, town.params.keep_every_us)
    findings.say(
        f"messages per peer and second, idle: {upkeep:.2f}, with {levels:.1f} levels (meetings alone {reckoned:.2f})"
    )
    return upkeep


def search_at_rest(findings: Findings, town: OverlayPeers, searches: int) -> None:
    loads = {grid.trie.path: grid.store.load(grid.trie.path) for grid in town.grids()}
    found = town.searches(topics_in(town), searches, 3, over_s=20)
    findings.found("searches", succeeded(town, found), 0.999)
    hops = fmean(lookup.hops for lookup in found if lookup is not None)
    most, even = theory.hops(len(loads)) + 1, theory.hops_by_load([*loads.values()])
    findings.say(f"{hops:.2f} hops (at most {most:.2f}, reckoned {even:.2f})", hops <= most)
    for topic, k, per_member in ((SEVEN, 2, 100), (HUNDRED, 4, 40), (LARGE, 8, 8)):
        p = evenness(town, topic, k, per_member)
        findings.say(f"evenly drawn from {len(town.members(topic))} members: p = {p:.3f} (above 0.01)", p > 0.01)


def lose_and_churn(findings: Findings, town: OverlayPeers, searches: int) -> None:
    for peer in town.some_up(len(town.topics) // 5):
        town.world.crash(peer)
    held = [topic for topic in topics_in(town) if town.members(topic)]
    found = town.searches(held, searches, 8, over_s=5)
    findings.found("a fifth of the peers just died", succeeded(town, found), 0.99)
    for peer in [peer for peer in town.topics if peer not in town.world.up]:
        town.start(peer)
    town.run(60)
    churn(town, 90, 0.2)
    town.run(30)
    big = [topic for topic in topics_in(town) if len(town.members(topic)) >= 4]
    found = town.searches(big, searches, 8, over_s=50)
    findings.found("a fifth comes and goes every minute", succeeded(town, found), 0.98)


def topics_in(town: OverlayPeers) -> list[Topic]:
    return sorted({topic for some in town.topics.values() for topic in some})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=int, action="append", help="repeatable, the fewest first (1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--start", type=float, default=60.0, help="seconds in which the peers come")
    parser.add_argument("--settle", type=float, default=120.0, help="seconds until all is measured")
    options = parser.parse_args()
    sizes: list[int] = options.peers or [1000]
    if min(sizes) < 100:
        parser.error("--peers must be at least 100: one of the communities has so many members")
    findings = Findings(lambda what: print(f"{time.process_time():7.0f} s  {what}", flush=True))
    upkeep = [measure(findings, size, options.seed, options.searches, options.start, options.settle) for size in sizes]
    for one, other in pairwise(range(len(sizes))):
        grew, may = upkeep[other] / upkeep[one], math.log(sizes[other]) / math.log(sizes[one])
        findings.say(
            f"from {sizes[one]} to {sizes[other]} peers upkeep is {grew:.2f} times as much ({may:.2f} at most)",
            grew <= may,
        )
    sys.exit(bool(findings.short))


if __name__ == "__main__":
    main()
