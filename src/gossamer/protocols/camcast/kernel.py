"""CAMCAST over arrays, round by round: the same rules and draws as `layer.py`, for 10^3 … 10^8 processes.

Views are not stored: a process's picks and links are draws, made again wherever they are needed.
"""

from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import CLIMB, ELECT, LINKS, LOSS, PICK, chance, fold
from gossamer.core.setting import Publication, Setting
from gossamer.core.tally import ARRIVED, ARRIVED_UP, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.parts.infection import (
    BATCH,
    FRESH,
    WINDOW,
    aim,
    arrivals,
    community_arrays,
    desk,
    distinct_into,
    infect,
    lands,
    lose,
    muster,
)
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.rules import drawn, of_table


class Tables(NamedTuple):
    """A setting as arrays: those of `infection.CommunityArrays`, then one entry per community."""

    start: Any
    size: Any
    crashed: Any
    block_low: Any
    block_high: Any
    block_community: Any
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


def tables(setting: Setting, publication: Publication, count_arrivals: bool) -> Tables:
    groups = setting.communities
    arriving = 1.0 - setting.faults.unreached
    wants = setting.interested(publication.home)
    chosen = [
        rules.election(g.size, g.params.electors, g.params.small) if publication.climb is None else publication.climb
        for g in groups
    ]
    per_link = [rules.per_link(g.size, g.params.targets, g.params.links, g.params.small) for g in groups]
    return Tables(
        *community_arrays(groups, setting.faults.stillborn),
        tells=np.array([rules.tells(g.size, g.params.fanout_extra, g.params.small) for g in groups], np.int64),
        election=np.array(chosen, np.float64),
        per_link=np.array(per_link, np.float64),
        links=np.array([g.params.links for g in groups], np.int64),
        reach=np.array([g.success * arriving for g in groups], np.float64),
        reach_up=np.array([g.success_up * arriving for g in groups], np.float64),
        supers_first=np.cumsum([0] + [len(g.supers) for g in groups]).astype(np.int64),
        supers=np.array([above for g in groups for above in g.supers], np.int64),
        wants=np.array(wants, np.bool_),
        counted=np.array([count_arrivals or not wanted for wanted in wants], np.bool_),
    )


def picks(setting: Setting) -> int:
    """The most targets one process chooses among at a time."""
    told = [rules.tells(g.size, g.params.fanout_extra, g.params.small) for g in setting.communities]
    return max(*told, *(int(g.params.links) for g in setting.communities))


def memory(setting: Setting) -> list[float]:
    """Table entries each process of a community keeps."""
    return [
        rules.table_entries(g.size, g.params.fanout_extra, g.params.table_factor)
        + sum(min(g.params.links, setting.communities[above].size) for above in g.supers)
        for g in setting.communities
    ]


def elects(key: Any, who: Any, ordinal: Any, election: Any) -> Any:
    """Whether a process carries the event to this one of its super-communities."""
    return drawn(chance(fold(key, who), ordinal), election)


def lead(key: Any, table_key: Any, start: Any, size: Any, links: Any, per_link: Any,
         picked: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """Whom an elected process tells of a super-topic table, each link with the same chance; says how many."""
    found = distinct_into(table_key, size, links, picked, stamps, serial)
    told = 0
    for j in range(found):
        peer = start + picked[j]
        if drawn(chance(key, np.uint64(peer)), per_link):
            picked[told] = peer
            told += 1
    return told


def climb(key: Any, table_key: Any, loss_key: Any, start: Any, size: Any, links: Any, per_link: Any, reach: Any,
          mark: Any, state: Any, picked: Any, stamps: Any, serial: Any) -> Any:  # fmt: skip
    """An elected process tells those above; says (sent, arrived)."""
    sent, arrived = lead(key, table_key, start, size, links, per_link, picked, stamps, serial), 0
    for j in range(sent):
        peer = picked[j]
        there = state[peer]
        if lands(there, peer, loss_key, reach, True):
            arrived += 1
            if there == FRESH:
                state[peer] = mark + 1
    return sent, arrived


def elect(actors: Any, acting: Any, c: Any, mark: Any, base: Any, keys: Any, table: Any, state: Any,
          picked: Any, stamps: Any, serial: Any, counts: Any) -> Any:  # fmt: skip
    """Some actors carry the event to a super-community; returns the last serial number used."""
    for s in range(table.supers_first[c], table.supers_first[c + 1]):
        above, ordinal = table.supers[s], np.uint64(s - table.supers_first[c])
        for i in range(actors):
            who = np.uint64(table.start[c] + acting[i])
            if elects(keys[ELECT], who, ordinal, table.election[c]):
                serial += 1
                sent, arrived = climb(of_table(fold(keys[CLIMB], who), ordinal), fold(fold(base[LINKS], ordinal), who),
                                      fold(keys[LOSS], who), table.start[above], table.size[above], table.links[c],
                                      table.per_link[c], table.reach_up[c], mark, state,
                                      picked, stamps, serial)  # fmt: skip
                counts[c, SENT_UP] += sent
                counts[c, ARRIVED_UP] += arrived
                counts[above, ARRIVED] += arrived
                counts[above, PARASITES] += 0 if table.wants[above] else arrived
    return serial


def round_of_block(b: Any, mark: Any, base: Any, keys: Any, table: Any, state: Any,
                   picked: Any, stamps: Any, serial: Any, counts: Any) -> Any:  # fmt: skip
    """See `infection.round_of_block`: first up, then around."""
    c = table.block_community[b]
    start, others, tells, reach = table.start[c], table.size[c] - 1, table.tells[c], table.reach[c]
    told, counted, wanted = min(tells, others), table.counted[c], table.wants[c]
    members, last = state[start : start + table.size[c]], table.block_high[b] - start
    streams, acting, again, targets, spare = desk(picked)
    reached, arrived, actors = 0, 0, 0
    for low in range(table.block_low[b] - start, last, WINDOW):
        actors = muster(mark, low, members[low : min(low + WINDOW, last)], acting, actors)
        if actors > BATCH - WINDOW or low + WINDOW >= last:
            serial = elect(actors, acting, c, mark, base, keys, table, state, spare, stamps, serial, counts)
            serial = aim(keys[PICK], start, others, tells, actors, acting, streams, targets, again,
                         spare, stamps, serial)  # fmt: skip
            if reach < 1.0:
                lose(keys[LOSS], start, reach, told, actors, acting, streams, targets)
            if counted:
                arrived += arrivals(told, actors, acting, targets, members)
            infect(mark, told, actors, targets, members)
            reached += actors
            actors = 0
    if reached:
        counts[c, REACHED] += reached
        counts[c, ROUNDS_LAST] = mark - 1
        counts[c, SENT_INTRA] += reached * told
        counts[c, ARRIVED] += arrived
        counts[c, PARASITES] += 0 if wanted else arrived
    return serial
