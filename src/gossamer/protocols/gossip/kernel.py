"""Plain gossip over arrays. Every arrival is counted: the copies nobody asked for are the point of these baselines."""

import math
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import CROSS, LOSS, PICK, draw, fold, upper_pick
from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import ARRIVED, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA
from gossamer.parts.infection import FRESH, community_arrays, distinct_into, lands
from gossamer.parts.sampling import fanout
from gossamer.protocols.gossip.rules import cluster_size


class Tables(NamedTuple):
    """A setting as arrays: those of `infection.CommunityArrays`, then one entry per community, one per cluster size."""

    start: Any
    size: Any
    crashed: Any
    block_low: Any
    block_high: Any
    block_community: Any
    offset: Any  # the community's first position in the audience; -1: it takes no part
    reach: Any
    wants: Any
    clusters: Any
    audience: Any
    tells: Any  # by cluster
    crosses: Any


def tables(setting: Setting, publication: Publication, count_arrivals: bool) -> Tables:
    groups = setting.communities
    params = groups[0].params
    wants = setting.interested(publication.home)
    offsets, before = [], 0
    for group, wanted in zip(groups, wants, strict=True):
        takes_part = wanted or params.audience == "everybody"
        offsets.append(before if takes_part else -1)
        before += group.size if takes_part else 0
    sizes = [cluster_size(before, params.clusters, cluster) for cluster in range(params.clusters)]
    return Tables(
        *community_arrays(groups, setting.faults.stillborn),
        offset=np.array(offsets, np.int64),
        reach=np.array([g.success * (1.0 - setting.faults.unreached) for g in groups], np.float64),
        wants=np.array(wants, np.bool_),
        clusters=params.clusters,
        audience=before,
        tells=np.array([fanout(size, params.fanout_extra) for size in sizes], np.int64),
        crosses=fanout(params.clusters, params.cross_extra),
    )


def picks(setting: Setting) -> int:
    """The most targets one process chooses among at a time."""
    params = setting.communities[0].params
    return max(fanout(setting.processes, params.fanout_extra), fanout(params.clusters, params.cross_extra))


def memory(setting: Setting) -> list[float]:
    """Table entries each process of a community keeps: a table per group it is in."""
    params = setting.communities[0].params
    if params.audience == "interested":
        order = setting.hierarchy()
        topics = [g.topic for g in setting.communities]
        grown = {t: sum(g.size for g in setting.communities if order.includes(g.topic, t)) for t in topics}
        return [
            sum(entries(grown[below], params.fanout_extra) for below in topics if order.includes(g.topic, below))
            for g in setting.communities
        ]
    inside = entries(math.ceil(setting.processes / params.clusters), params.fanout_extra)
    across = entries(params.clusters, params.cross_extra)
    return [inside + across] * len(setting.communities)


def entries(size: int, extra: float) -> float:
    """ln N + c, never more than there are others."""
    return max(0.0, min(size - 1.0, math.log(size) + extra)) if size > 1 else 0.0


def process_at(position: Any, offset: Any, start: Any, size: Any) -> Any:
    """(process, community) at a position of the audience."""
    process, community = -1, 0
    for c in range(len(offset)):
        if offset[c] >= 0 and offset[c] <= position < offset[c] + size[c]:
            process, community = start[c] + position - offset[c], c
    return process, community


def round_of_block(b: Any, mark: Any, base: Any, keys: Any, table: Any, state: Any,
                   picked: Any, stamps: Any, serial: Any, counts: Any) -> Any:  # fmt: skip
    """See `infection.round_of_block`: tell some of the cluster, and one process in some others."""
    c = table.block_community[b]
    offset, start, size, wants = table.offset, table.start, table.size, table.wants
    clusters, audience, crosses, reach, all_tells = (
        table.clusters,
        table.audience,
        table.crosses,
        table.reach[c],
        table.tells,
    )
    for me in range(table.block_low[b], table.block_high[b]):
        if state[me] != mark:
            continue
        who = np.uint64(me)
        loss_key = fold(keys[LOSS], who)
        cross_key = fold(keys[CROSS], who)
        mine = offset[c] + me - start[c]
        home = mine % clusters
        near = cluster_size(audience, clusters, home)
        serial += 1
        told = distinct_into(fold(keys[PICK], who), near - 1, all_tells[home], picked, stamps, serial)
        for j in range(told):
            picked[j] = home + clusters * (picked[j] + (picked[j] >= mine // clusters))
        for j in range(told):
            spend(picked[j], loss_key, reach, mark, state, offset, start, size, wants, counts)
        serial += 1
        across = distinct_into(cross_key, clusters - 1, crosses, picked, stamps, serial)
        for j in range(across):
            cluster = picked[j] + (picked[j] >= home)
            there = cluster_size(audience, clusters, cluster)
            if there > 0:
                told += 1
                index = np.int64(upper_pick(draw(cross_key, np.uint64(clusters + cluster)), np.uint64(there)))
                spend(cluster + clusters * index, loss_key, reach, mark, state, offset, start, size, wants, counts)
        counts[c, REACHED] += 1
        counts[c, ROUNDS_LAST] = mark - 1
        counts[c, SENT_INTRA] += told
    return serial


def spend(position: Any, loss_key: Any, reach: Any, mark: Any, state: Any,
          offset: Any, start: Any, size: Any, wants: Any, counts: Any) -> None:  # fmt: skip
    """One message to a position of the audience, counted where it arrives."""
    peer, community = process_at(position, offset, start, size)
    there = state[peer]
    if lands(there, peer, loss_key, reach, True):
        counts[community, ARRIVED] += 1
        counts[community, PARASITES] += 0 if wants[community] else 1
        if there == FRESH:
            state[peer] = mark + 1
