"""Schedules of what goes wrong. Each is a list of things to happen, drawn from a seed before the world starts."""

import math
from collections.abc import Callable, Sequence

from gossamer.core.draws import CHURN, chance, distinct, fold
from gossamer.core.ids import Peer
from gossamer.sim.conditions import Churn, Crash, Partition, us
from gossamer.sim.world import World


def exponential_us(key: int, index: int, mean_s: float) -> int:
    return max(1, us(-math.log1p(-chance(key, index)) * mean_s))


def schedule_churn(
    world: World,
    peers: Sequence[Peer],
    churn: Churn,
    seed: int,
    since_us: int,
    until_us: int,
    start: Callable[[Peer], None],
) -> None:
    """Each chosen process crashes and comes back, over and over, at exponential times of its own."""
    reason = fold(seed, CHURN)
    chosen = distinct(fold(reason, 0), len(peers), round(churn.share * len(peers)))
    for peer in (peers[i] for i in chosen):
        key, at, index = fold(reason, peer + 1), since_us, 0
        while True:
            at += exponential_us(key, index, churn.up_s)
            back = at + exponential_us(key, index + 1, churn.down_s)
            if at >= until_us:
                break
            world.at(at, lambda peer=peer: world.crash(peer))  # type: ignore[misc]
            if back < until_us:
                world.at(back, lambda peer=peer: start(peer))  # type: ignore[misc]
            at, index = back, index + 2


def some_of_each(groups: Sequence[range], share: float, seed: int) -> list[Peer]:
    """Exactly round(share × size) of every group."""
    reason = fold(seed, CHURN)
    return [
        group.start + i
        for number, group in enumerate(groups)
        for i in distinct(fold(reason, number), len(group), round(share * len(group)))
    ]


def schedule_crash(
    world: World, groups: Sequence[range], crash: Crash, seed: int, start: Callable[[Peer], None]
) -> None:
    for peer in some_of_each(groups, crash.fraction, seed):
        world.at(us(crash.at_s), lambda peer=peer: world.crash(peer))  # type: ignore[misc]
        if crash.back_at_s is not None:
            world.at(us(crash.back_at_s), lambda peer=peer: start(peer))  # type: ignore[misc]


def schedule_partition(world: World, groups: Sequence[range], partition: Partition, seed: int) -> None:
    apart = some_of_each(groups, partition.share, seed)
    world.at(us(partition.at_s), lambda: world.network.split([], apart))
    world.at(us(partition.heal_at_s), world.network.heal)
