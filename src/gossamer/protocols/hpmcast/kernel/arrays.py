"""A setting as arrays: who lives where, who stands in which view, who wants the event.

Participants are numbered in the order of their addresses, so every subsystem is a range of numbers and its delegates
are the first of them. Groups of all levels stand in one row: those of level 1, those of level 2, …, the topmost
last.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gossamer.core.draws import ANSWER, GOSSIP, INTEREST, LOOK, LOSS, ORDER, PLACE, STILLBORN, chance, fold
from gossamer.protocols.hpmcast import rules
from gossamer.protocols.hpmcast.experiment.setting import GROUP, LIKE_OTHERS, HierarchySetting
from gossamer.protocols.hpmcast.params import Params

BLOCK = 1 << 20
"Addresses drawn at a time."

FRESH, KNOWN, DOWN = range(3)
"What a participant is to the event."

# Columns of `how`.
FANOUT, HOPS, REPETITIONS, ATTEMPTS, DELEGATES, FLOOR, PUBLISHER, ESTIMATED, UNASKED = range(9)
# Columns of `odds`.
ARRIVES, ARRIVING, RELIABILITY = range(3)
# Columns of `keys`.
GOSSIP_KEY, LOOK_KEY, LOSS_KEY, ANSWER_KEY, ORDER_KEY, WORD = range(6)
# Columns of `counts`.
MATCHES, MATCHES_PICKED, ROUNDS, STEPS = range(4)
COUNTS = 4


class Groups(NamedTuple):
    """The hierarchy. One entry per group, then those of delegates and of participants."""

    level: Any
    start: Any
    "The first participant."
    lines: Any
    "Lines of the group's view."
    below: Any
    "The first group right below; the last one has none after it. Nothing on level 1."
    stands: Any
    "Where in `delegates` those that stand for this group begin."
    first: Any
    "Where in `delegates` the group's view begins; on level 1: the first participant, the view is all members."
    size: Any
    "Participants in that view."
    padding: Any
    "So many of its first participants count as interested, whatever they want."
    prob: Any
    "What GETPROB says."
    limit: Any
    "How many rounds the event is gossiped."
    at_once: Any
    "Whether instead all are told so many times."
    delegates: Any
    "The participants of all views of level 2 and above."
    matched: Any
    "Whether the subsystem each of them stands for wants the event."
    wants: Any
    "Whether each participant does."
    top: Any
    "The highest level on which it stands in a view."


class State(NamedTuple):
    """What participants know. One entry each; a single one where it is not needed."""

    known: Any
    at: Any
    "The group whose view the event is gossiped in; -1: nowhere, not yet or no longer."
    rounds: Any
    own: Any
    "Rounds gossiped oneself on this level."
    hops: Any
    prob: Any
    padding: Any
    "What is said of the view, where that is an estimate."
    inbox: Any
    "From whom it was heard in this step; -1: from nobody."
    active: Any
    "Who gossips; behind them, who heard of it in this step."
    picked: Any
    stamps: Any
    "Room to draw in."


class RunArrays(NamedTuple):
    """All that one run needs."""

    how: Any
    odds: Any
    keys: Any
    ground: Groups
    state: State
    counts: Any
    sent: Any
    "By level, counted from 1."
    load: Any
    "By the receiver's highest level."


def prepare(setting: HierarchySetting, seed: int) -> RunArrays:
    """Everything a seed decides beforehand."""
    places = inhabited(setting, seed)
    n, levels, params = len(places), setting.levels, setting.params
    publisher = setting.publishes(seed, n)
    word = setting.word(publisher)
    who = np.arange(n, dtype=np.uint64)
    wants = _wants(setting, seed, places)
    known = np.zeros(n, np.uint8)
    if setting.crashed:
        known[chance(np.array([fold(seed, STILLBORN)], np.uint64), who) < setting.crashed] = DOWN
        known[publisher] = FRESH
    how = [params.fanout, params.hops, params.repetitions, setting.attempts, params.delegates, params.audience_floor]
    how += [
        publisher,
        params.estimated and params.variant != "rfpbcast",
        params.variant == "rfpbcast" or params.rounds > 0,
    ]
    keys = [fold(seed, GOSSIP), fold(seed, LOOK), *(fold(fold(seed, why), word) for why in (LOSS, ANSWER, ORDER)), word]
    return RunArrays(
        how=np.array(how, np.int64),
        odds=np.array([1.0 - setting.loss, params.arriving, params.reliability], np.float64),
        keys=np.array(keys, np.uint64),
        ground=_ground(places, setting, wants),
        state=_state(n, known, params),
        counts=np.zeros(COUNTS, np.int64),
        sent=np.zeros(levels + 1, np.int64),
        load=np.zeros(levels + 1, np.int64),
    )


def inhabited(setting: HierarchySetting, seed: int) -> Any:
    """`HierarchySetting.inhabited`, as an array."""
    if setting.addresses:
        return np.array(setting.inhabited(seed), np.int64)
    places = math.prod(setting.branching)
    if setting.populated == 1:
        return np.arange(places, dtype=np.int64)
    key = np.array([fold(seed, PLACE)], np.uint64)
    found = []
    for start in range(0, places, BLOCK):  # a sparse hierarchy has many more addresses than participants
        some = np.arange(start, min(start + BLOCK, places), dtype=np.int64)
        found.append(some[chance(key, some.view(np.uint64)) < setting.populated])
    there = np.concatenate(found)
    return there if len(there) else np.zeros(1, np.int64)


def _wants(setting: HierarchySetting, seed: int, places: Any) -> Any:
    """`HierarchySetting.wants`, as an array."""
    key, who = fold(seed, INTEREST), np.arange(len(places), dtype=np.uint64)
    own, alike, group = (np.array([each], np.uint64) for each in (key, fold(key, LIKE_OTHERS), fold(key, GROUP)))
    wants = chance(own, who) < setting.interest
    if setting.local:
        groups = (places // setting.branching[-1]).astype(np.uint64)
        wants = np.where(chance(alike, who) < setting.local, chance(group, groups) < setting.interest, wants)
    return wants.view(np.uint8)


def _state(n: int, known: Any, params: Params) -> State:
    estimated = n if params.estimated else 1
    return State(
        known=known,
        at=np.full(n, -1, np.int32),
        rounds=np.zeros(n, np.int32),
        own=np.zeros(n if params.repetitions else 1, np.int32),
        hops=np.zeros(n if params.hops else 1, np.int32),
        prob=np.zeros(estimated, np.float64),
        padding=np.zeros(estimated, np.int32),
        inbox=np.full(n, -1, np.int32),
        active=np.zeros(n, np.int32),
        picked=np.zeros(params.fanout + 1, np.int64),
        stamps=np.zeros(1 << 10, np.int64),
    )


def _ground(places: Any, setting: HierarchySetting, wants: Any) -> Groups:
    """Level by level, from the lowest to the topmost."""
    params, n = setting.params, len(places)
    floors = [_Floor(1, np.zeros(0, np.int64), wants, _starts(places, setting, 1), None, params)]
    top = np.ones(n, np.uint8)
    for level in range(2, setting.levels + 1):
        floors.append(_Floor(level, floors[-1].starts, wants, _starts(places, setting, level), floors[-1], params))
        top[floors[-1].delegates] = level
    groups = np.cumsum([0, *(len(floor.starts) for floor in floors)])
    seats = np.cumsum([0, *(len(floor.delegates) for floor in floors)])
    joined = {
        "level": [np.full(len(floor.starts), floor.level, np.uint8) for floor in floors],
        "start": [floor.starts for floor in floors],
        "lines": [floor.lines for floor in floors],
        "below": [floor.first_line + groups[max(i - 1, 0)] for i, floor in enumerate(floors)],
        "stands": [floor.stands + seats[i] for i, floor in enumerate(floors[1:], 1)] + [np.zeros(1, np.int64)],
        "first": [floor.first + seats[i] for i, floor in enumerate(floors)],
        "size": [floor.size for floor in floors],
        "padding": [floor.padding for floor in floors],
        "prob": [floor.prob for floor in floors],
        "limit": [floor.limit for floor in floors],
        "at_once": [floor.at_once for floor in floors],
        "delegates": [floor.delegates for floor in floors],
        "matched": [floor.matched for floor in floors[1:]] or [np.zeros(1, np.uint8)],
    }
    return Groups(**{name: np.concatenate(parts) for name, parts in joined.items()}, wants=wants, top=top)


def _starts(places: Any, setting: HierarchySetting, level: int) -> Any:
    """The first participant of each group of a level."""
    if level == setting.levels:
        return np.zeros(1, np.int64)
    branch = places // math.prod(setting.branching[len(setting.branching) - level :])
    return np.flatnonzero(np.concatenate([[True], branch[1:] != branch[:-1]]))


class _Floor:
    """The views of one level, and what is thought of the event in each."""

    def __init__(self, level: int, lines: Any, wants: Any, starts: Any, under: "_Floor | None", params: Params) -> None:
        self.level, self.starts = level, starts
        ends = np.append(starts[1:], len(wants))
        if under is None:
            self.first_line = self.first = starts
            self.lines = self.size = ends - starts
            self.delegates = self.stands = np.zeros(0, np.int64)
            matched = wants
        else:
            self.first_line = np.searchsorted(lines, starts)
            self.lines = np.searchsorted(lines, ends) - self.first_line
            members = np.append(lines[1:], len(wants)) - lines
            standing = np.minimum(members, params.delegates)
            self.stands = np.cumsum(standing) - standing
            self.delegates = np.repeat(lines - self.stands, standing) + np.arange(int(standing.sum()))
            self.first = self.stands[self.first_line]
            self.size = np.append(self.first[1:], len(self.delegates)) - self.first
            self.matched = matched = np.repeat(under.wanted, standing)
        before = np.concatenate([[0], np.cumsum(matched, dtype=np.int32)])
        hits = before[self.first + self.size] - before[self.first]
        self.wanted: Any = (hits > 0).view(np.uint8)
        self._decide(params, hits, before)

    def _decide(self, params: Params, hits: Any, before: Any) -> None:
        """GETPROB and ROUNDS, once for all views that are alike."""
        everybody = params.variant == "rfpbcast"
        hits = self.size.astype(np.int64) if everybody or params.rounds else hits.astype(np.int64)
        floor = 0 if everybody else params.audience_floor  # where all are told, there is nobody to add
        kinds, which = np.unique(np.column_stack([self.size, hits]), axis=0, return_inverse=True)
        kept = [(min(1, int(hit)) * rules.at_once(self.level, int(hit), int(size), params.direct, params.lan),
                 rules.padding(int(hit), floor, int(size))) for size, hit in kinds]  # fmt: skip
        at_once, padding = np.array(kept, np.int64).reshape(-1, 2)[which.ravel()].T
        self.at_once = at_once.astype(np.uint8)
        self.padding = np.where(self.at_once, 0, padding)
        hits += self.padding - (before[self.first + self.padding] - before[self.first])
        self.padding = self.size if everybody else self.padding
        self.prob = hits / self.size
        kinds, which = np.unique(np.column_stack([self.size, hits]), axis=0, return_inverse=True)
        how = (params.fanout, params.arriving, params.rounds, params.reliability)
        found = [rules.limit(int(size), hit / size, *how) for size, hit in kinds.tolist()]
        copies = rules.copies(params.expected_loss)
        self.limit = np.where(self.at_once, copies, np.array(found, np.int64)[which.ravel()])
