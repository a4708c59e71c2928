"""CAMCAST among blocks of processes: what one block does in one round, by the rules of `rules.py` and `kernel.py`.

Inside a community targets are alike, and counts go from block to block. A super-topic table belongs to its process, for
all events of a run: who elects itself, whither its links lead and what gets lost are the kernel's own draws; ids go up.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.core.draws import CLIMB, ELECT, LINKS, LOSS, fold
from gossamer.core.setting import Setting
from gossamer.parts.blocks import BYTE, first_of, hear, hear_by_name, newly
from gossamer.parts.infection import DEAD, FRESH, lands
from gossamer.protocols.camcast import rules
from gossamer.protocols.camcast.kernel import elects, lead
from gossamer.protocols.camcast.rules import of_table

SOURCES = (
    "gossamer.core.draws", "gossamer.core.tally", "gossamer.parts.sampling", "gossamer.parts.infection",
    "gossamer.parts.blocks", "gossamer.protocols.camcast.rules", "gossamer.protocols.camcast.kernel",
)  # fmt: skip
ENTRY = "round_of_one"


def fanouts(setting: Setting) -> Sequence[int]:
    """How many others each process of a community tells."""
    return [
        min(rules.tells(g.size, g.params.fanout_extra, g.params.small), max(0, g.size - 1)) for g in setting.communities
    ]


def electors(c: Any, s: Any, start: Any, fresh: Any, keys: Any, table: Any, who: Any) -> Any:
    """How many of the newly reached elect themselves for a super-community; who, goes into `who`, if it has room."""
    count, ordinal = 0, np.uint64(s - table.supers_first[c])
    for i in range(len(fresh)):
        if fresh[i]:
            for bit in range(BYTE):
                process = start + i * BYTE + bit
                if fresh[i] >> bit & 1 and elects(keys[ELECT], np.uint64(process), ordinal, table.election[c]):
                    if count < len(who):
                        who[count] = process
                    count += 1
    return count


def climb_from(c: Any, s: Any, who: Any, base: Any, keys: Any, table: Any, cut: Any, alive: Any,
               picked: Any, stamps: Any, serial: Any, heard: Any) -> Any:  # fmt: skip
    """These carry the event up; those who hear of it go into `heard`. Says (sent, arrived)."""
    above, ordinal = table.supers[s], np.uint64(s - table.supers_first[c])
    sent, arrived = 0, 0
    for i in range(len(who)):
        one = np.uint64(who[i])
        told = lead(of_table(fold(keys[CLIMB], one), ordinal), fold(fold(base[LINKS], ordinal), one),
                    table.start[above], table.size[above], table.links[c], table.per_link[c],
                    picked, stamps, serial + i + 1)  # fmt: skip
        sent += told
        for j in range(told):
            peer = picked[j]
            block = cut.first[above] + (peer - table.start[above]) // cut.width[above]
            there = FRESH if peer - cut.start[block] < alive[block] else DEAD
            if lands(there, peer, fold(keys[LOSS], one), table.reach_up[c], True):
                heard[arrived] = peer
                arrived += 1
    return sent, arrived


def round_of_one(b: Any, key: Any, told: Any, told_own: Any, named: Any, bits: Any, before: Any, base: Any, keys: Any,
                 table: Any, cut: Any, alive: Any, picked: Any, stamps: Any) -> Any:  # fmt: skip
    """Block `b` hears what came, and who is newly reached may carry it up; what they tell around is drawn elsewhere.

    Says who is reached now (`bits`; who newly, `before`), and (newly, arrived, sent up, who above hears of it)."""
    c, start, size, live = cut.community[b], cut.start[b], cut.size[b], alive[b]
    around, serial = hear(fold(key, np.uint64(0)), told, size, size, live, bits, picked, stamps, 0)
    # A sender is never its own target. Whoever it is, it was reached before, so any other such one may stand for it.
    own, serial = hear(fold(key, np.uint64(1)), told_own, size - 1, first_of(before), live, bits,
                       picked, stamps, serial)  # fmt: skip
    hear_by_name(named, bits)
    new = newly(bits, before)
    first, last = table.supers_first[c], table.supers_first[c + 1]
    none, links = np.zeros(0, np.int64), 0
    chosen = np.zeros(last - first, np.int64)
    for s in range(first, last):
        if new and table.election[c] > 0.0:
            chosen[s - first] = electors(c, s, start, before, keys, table, none)
            links += chosen[s - first] * min(table.links[c], table.size[table.supers[s]])
    heard, arrived_up, sent_up = np.zeros(links, np.int64), 0, 0
    for s in range(first, last):
        if chosen[s - first]:
            who = np.zeros(chosen[s - first], np.int64)
            electors(c, s, start, before, keys, table, who)
            sent, arrived = climb_from(c, s, who, base, keys, table, cut, alive, picked, stamps, serial,
                                       heard[arrived_up:])  # fmt: skip
            serial, sent_up, arrived_up = serial + len(who), sent_up + sent, arrived_up + arrived
    return new, around + own + len(named), sent_up, heard[:arrived_up]
