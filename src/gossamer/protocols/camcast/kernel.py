"""CAMCAST over arrays, round by round: the same rules and draws as `layer.py`, for 10^3 … 10^8 processes.

Views are not stored: a process's picks and links are draws, made again wherever they are needed.
"""

from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import CLIMB, ELECT, LINKS, LOSS, PICK, chance, fold
from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import ARRIVED, ARRIVED_UP, LIVE, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.parts.infection import (
    BLOCK,
    FRESH,
    LAST_MARK,
    STAMPS,
    crash,
    distinct_into,
    event_key,
    first_live,
    lands,
    prange,
)
from gossamer.parts.sampling import crashed
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.rules import drawn


class Tables(NamedTuple):
    """A setting as arrays; one entry per community unless said otherwise."""

    start: Any
    size: Any
    crashed: Any
    tells: Any
    election: Any
    per_link: Any
    links: Any
    reach: Any
    reach_up: Any
    supers_first: Any  # community c's supers stand at supers[supers_first[c] : supers_first[c + 1]]
    supers: Any
    wants: Any
    counted: Any  # whether arrivals inside the community are counted
    block_low: Any  # one entry per block of processes
    block_high: Any
    block_community: Any


def tables(setting: Setting, publication: Publication, count_arrivals: bool) -> Tables:
    groups = setting.communities
    arriving = 1.0 - setting.faults.unreached
    chosen = [
        rules.election(g.size, g.params.electors, g.params.small) if publication.climb is None else publication.climb
        for g in groups
    ]
    wants = setting.interested(publication.home)
    blocks = [
        (low, min(low + BLOCK, g.start + g.size), index)
        for index, g in enumerate(groups)
        for low in range(g.start, g.start + g.size, BLOCK)
    ]
    whole = np.int64
    return Tables(
        start=np.array([g.start for g in groups], whole),
        size=np.array([g.size for g in groups], whole),
        crashed=np.array([crashed(g.size, setting.faults.stillborn) for g in groups], whole),
        tells=np.array([rules.tells(g.size, g.params.fanout_extra, g.params.small) for g in groups], whole),
        election=np.array(chosen, np.float64),
        per_link=np.array(
            [rules.per_link(g.size, g.params.targets, g.params.links, g.params.small) for g in groups], np.float64
        ),
        links=np.array([g.params.links for g in groups], whole),
        reach=np.array([g.success * arriving for g in groups], np.float64),
        reach_up=np.array([g.success_up * arriving for g in groups], np.float64),
        supers_first=np.cumsum([0] + [len(g.supers) for g in groups]).astype(whole),
        supers=np.array([above for g in groups for above in g.supers], whole),
        wants=np.array(wants, np.bool_),
        counted=np.array([count_arrivals or not wanted for wanted in wants], np.bool_),
        block_low=np.array([low for low, _, _ in blocks], whole),
        block_high=np.array([high for _, high, _ in blocks], whole),
        block_community=np.array([index for _, _, index in blocks], whole),
    )


def scratch(table: Tables) -> tuple[Any, Any, Any]:
    """Working room per block: picks, stamps, counts per community."""
    blocks = len(table.block_low)
    most = int(max(table.tells.max(initial=1), table.links.max(initial=1))) + 1
    return (
        np.zeros((blocks, most), np.int64),
        np.zeros((blocks, STAMPS), np.int32),
        np.zeros((blocks, len(table.size), 8), np.int64),
    )


def tell(me: Any, key: Any, loss_key: Any, start: Any, others: Any, tells: Any, reach: Any, mark: Any, counted: Any,
         state: Any, picked: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """A first receiver tells `tells` others of its community; says how many copies arrived."""
    told = distinct_into(key, others, tells, picked, stamps, serial)
    position = me - start
    arrived = 0
    for j in range(told):
        peer = start + picked[j] + (picked[j] >= position)
        there = state[peer]
        if lands(there, peer, loss_key, reach, counted):
            arrived += 1
            if there == FRESH:
                state[peer] = mark + 1
    return arrived


def climb(key: Any, table_key: Any, loss_key: Any, start: Any, size: Any, links: Any, per_link: Any, reach: Any,
          mark: Any, state: Any, picked: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """An elected process tells each link of a super-topic table with the same chance; says how many, and how many arrived."""
    found = distinct_into(table_key, size, links, picked, stamps, serial)
    sent, arrived = 0, 0
    for j in range(found):
        peer = start + picked[j]
        if drawn(chance(key, np.uint64(peer)), per_link):
            sent += 1
            there = state[peer]
            if lands(there, peer, loss_key, reach, True):
                arrived += 1
                if there == FRESH:
                    state[peer] = mark + 1
    return sent, arrived


def round_of_block(b: Any, mark: Any, keys: Any, table: Any, state: Any,
                   picked: Any, stamps: Any, at: Any, counts: Any) -> Any:  # fmt: skip
    """Every process of a block that the event reached in the last round acts, once and for all."""
    # Nothing is taken out of `table` inside the loop: Numba counts references each time, dearer than a dozen messages.
    c = table.block_community[b]
    starts, sizes, supers, wants = table.start, table.size, table.supers, table.wants
    start, others, tells, reach = starts[c], sizes[c] - 1, table.tells[c], table.reach[c]
    election, per_link, links, reach_up = table.election[c], table.per_link[c], table.links[c], table.reach_up[c]
    counted, first_super, last_super = table.counted[c], table.supers_first[c], table.supers_first[c + 1]
    serial, reached, arrived = at, 0, 0
    for me in range(table.block_low[b], table.block_high[b]):
        if state[me] != mark:
            continue
        reached += 1
        who = np.uint64(me)
        loss_key = fold(keys[LOSS], who)
        for s in range(first_super, last_super):
            ordinal = np.uint64(s - first_super)
            if drawn(chance(fold(keys[ELECT], who), ordinal), election):
                above = supers[s]
                serial += 1
                sent, there = climb(fold(keys[CLIMB], who), fold(fold(keys[LINKS], ordinal), who), loss_key,
                                    starts[above], sizes[above], links, per_link, reach_up,
                                    mark, state, picked, stamps, serial)  # fmt: skip
                counts[c, SENT_UP] += sent
                counts[c, ARRIVED_UP] += there
                counts[above, ARRIVED] += there
                counts[above, PARASITES] += 0 if wants[above] else there
        serial += 1
        arrived += tell(me, fold(keys[PICK], who), loss_key, start, others, tells, reach, mark, counted,
                        state, picked, stamps, serial)  # fmt: skip
    if reached:
        counts[c, REACHED] += reached
        counts[c, ROUNDS_LAST] = mark - 1
        counts[c, SENT_INTRA] += reached * min(tells, others)
        counts[c, ARRIVED] += arrived if counted else 0
        counts[c, PARASITES] += 0 if wants[c] else arrived
    return serial


def spread(seed: Any, home: Any, sequence: Any, table: Any, state: Any,
           picked: Any, stamps: Any, counts: Any, tally: Any) -> None:  # fmt: skip
    """One event, from its publisher until nobody new is reached; `tally` gets a row per community."""
    state[:] = FRESH
    stamps[:] = 0
    counts[:] = 0
    for c in range(len(table.size)):
        crash(seed, c, table.start[c], table.size[c], table.crashed[c], state)
        tally[c, LIVE] = table.size[c] - table.crashed[c]
    publisher = first_live(table.start[home], table.size[home], state)
    if publisher < 0:
        return
    state[publisher] = 1
    keys = np.zeros(8, np.uint64)
    for why in (PICK, ELECT, CLIMB, LOSS):
        keys[why] = event_key(seed, why, publisher, sequence)
    keys[LINKS] = fold(seed, np.uint64(LINKS))
    blocks = len(table.block_low)
    serials = np.zeros(blocks, np.int64)
    reached, before = 0, -1
    mark = 1
    while reached > before and mark <= LAST_MARK:
        for b in prange(blocks):
            serials[b] = round_of_block(b, mark, keys, table, state, picked[b], stamps[b], serials[b], counts[b])
        before, reached = reached, 0
        for b in range(blocks):
            reached += counts[b, table.block_community[b], REACHED]
        mark += 1
    gather(counts, tally)


def gather(counts: Any, tally: Any) -> None:
    """Adds up the blocks' counts; the last round is the latest of theirs."""
    for b in range(counts.shape[0]):
        for c in range(counts.shape[1]):
            for column in range(counts.shape[2]):
                if column == ROUNDS_LAST:
                    tally[c, column] = max(tally[c, column], counts[b, c, column])
                elif column != LIVE:
                    tally[c, column] += counts[b, c, column]


def spread_many(seeds: Any, home: Any, sequence: Any, table: Any, state: Any,
                picked: Any, stamps: Any, counts: Any, tallies: Any) -> None:  # fmt: skip
    for run in range(len(seeds)):
        spread(seeds[run], home, sequence, table, state, picked, stamps, counts, tallies[run])


def memory(setting: Setting) -> list[float]:
    """Table entries each process of a community keeps."""
    return [
        rules.table_entries(g.size, g.params.fanout_extra, g.params.table_factor)
        + sum(min(g.params.links, setting.communities[above].size) for above in g.supers)
        for g in setting.communities
    ]
