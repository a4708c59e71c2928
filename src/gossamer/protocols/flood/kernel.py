"""Flooding over arrays: a process's neighbours are draws, made again when it is its turn to tell them."""

from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import LOSS, VIEW, fold
from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import ARRIVED, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA
from gossamer.parts.infection import FRESH, ZERO, community_arrays, distinct_into, lands
from gossamer.protocols.flood.params import refuse_tree


class Tables(NamedTuple):
    """A setting as arrays: those of `infection.CommunityArrays`, then one entry per community."""

    start: Any
    size: Any
    crashed: Any
    block_low: Any
    block_high: Any
    block_community: Any
    neighbours: Any
    reach: Any
    wants: Any
    counted: Any


def tables(setting: Setting, publication: Publication, count_arrivals: bool) -> Tables:
    groups = setting.communities
    for group in groups:
        refuse_tree(group.params)
    wants = setting.interested(publication.home)
    return Tables(
        *community_arrays(groups, setting.faults.stillborn),
        neighbours=np.array([min(g.params.neighbours, g.size - 1) for g in groups], np.int64),
        reach=np.array([g.success * (1.0 - setting.faults.unreached) for g in groups], np.float64),
        wants=np.array(wants, np.bool_),
        counted=np.array([count_arrivals or not wanted for wanted in wants], np.bool_),
    )


def picks(setting: Setting) -> int:
    """The most targets one process chooses among at a time."""
    return max(int(g.params.neighbours) for g in setting.communities)


def memory(setting: Setting) -> list[float]:
    """Peers each process of a community knows."""
    return [float(min(g.params.neighbours, g.size - 1)) for g in setting.communities]


def round_of_block(b: Any, mark: Any, base: Any, keys: Any, table: Any, state: Any,
                   picked: Any, stamps: Any, serial: Any, counts: Any) -> Any:  # fmt: skip
    """See `infection.round_of_block`: tell every neighbour."""
    c = table.block_community[b]
    start, others, neighbours = table.start[c], table.size[c] - 1, table.neighbours[c]
    reach, counted = table.reach[c], table.counted[c]
    view_base = fold(base[VIEW], ZERO)
    reached, arrived = 0, 0
    for me in range(table.block_low[b], table.block_high[b]):
        if state[me] != mark:
            continue
        reached += 1
        serial += 1
        loss_key = fold(keys[LOSS], np.uint64(me))
        told = distinct_into(fold(view_base, np.uint64(me)), others, neighbours, picked, stamps, serial)
        for j in range(told):
            peer = start + picked[j] + (picked[j] >= me - start)
            there = state[peer]
            if lands(there, peer, loss_key, reach, counted):
                arrived += 1
                if there == FRESH:
                    state[peer] = mark + 1
    if reached:
        counts[c, REACHED] += reached
        counts[c, ROUNDS_LAST] = mark - 1
        counts[c, SENT_INTRA] += reached * neighbours
        counts[c, ARRIVED] += arrived if counted else 0
        counts[c, PARASITES] += 0 if table.wants[c] else arrived
    return serial
