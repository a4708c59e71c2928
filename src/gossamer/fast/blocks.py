"""One event among blocks of processes: what a block does in a round, and all of them in one process.

What a block does depends on the run, the event, the round, the block and what came to it, and on nothing else. In
whatever order they act, in however many tasks, on however many machines, all ends the same (`pipeline/blocks.py`).
"""

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from gossamer.core.draws import BLOCK, STILLBORN, fold
from gossamer.core.setting import Publication, Setting, event_id
from gossamer.core.tally import ARRIVED, ARRIVED_UP, COLUMNS, LIVE, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.fast.compile import compiled
from gossamer.fast.dividing import Counts, dice, divided, hypergeometric, survivors
from gossamer.parts.blocks import Cut, cut
from gossamer.parts.infection import BATCH, REASONS, STAMPS, cut_keys

Bits = np.ndarray[Any, np.dtype[np.uint8]]
Names = np.ndarray[Any, np.dtype[np.uint32]]


class Mail(NamedTuple):
    """What comes to a block in one round."""

    told: Counts
    "How many senders of its community have h targets in it, for h from 0."
    told_own: Counts
    "The same of its own processes, who never tell themselves."
    named: Names
    "Positions of processes told by name, from below."


class Kept(NamedTuple):
    """A block that was reached: who was, and what its processes did so far, as columns of `core.tally`."""

    bits: Bits
    counts: Counts


class Sent(NamedTuple):
    """What a block sends after a round: by block, how many senders have h targets there; and ids."""

    around: dict[int, Counts]
    own: Counts
    up: dict[int, Names]


class Plan(Struct, frozen=True, dict=True):
    """One event of one run: all that a block must know to act."""

    setting: Setting
    publication: Publication
    seed: int
    block_processes: int

    @cached_property
    def kernel(self) -> Any:
        return import_module("gossamer.protocols.camcast.blocks")

    @cached_property
    def cut(self) -> Cut:
        return cut([community.size for community in self.setting.communities], self.block_processes)

    @cached_property
    def table(self) -> Any:
        return import_module("gossamer.protocols.camcast.kernel").tables(self.setting, self.publication, True)

    @cached_property
    def fanouts(self) -> list[int]:
        return list(self.kernel.fanouts(self.setting))

    @cached_property
    def room(self) -> tuple[Any, Any]:
        """Working room of one block at a time: picks, stamps."""
        most = max(*self.fanouts, *(int(community.params.links) for community in self.setting.communities), 1)
        return np.zeros(BATCH * (2 + most + 1), np.int64), np.zeros(STAMPS, np.int32)

    @cached_property
    def alive(self) -> Counts:
        """Live processes of each block: the same for all events of a run."""
        live: Counts = self.cut.size.copy()
        for c, community in enumerate(self.setting.communities):
            throw = dice(int(fold(fold(self.seed, STILLBORN), c)))
            dead, rest = int(self.table.crashed[c]), community.size
            for b in self.blocks_of(c):
                size = int(self.cut.size[b])
                gone = hypergeometric(dead, size, rest - size, throw)
                live[b], dead, rest = size - gone, dead - gone, rest - size
        return live

    def blocks_of(self, c: int) -> range:
        first = self.cut.first
        return range(int(first[c]), int(first[c + 1]) if c + 1 < len(first) else len(self.cut.size))

    @cached_property
    def publisher(self) -> int | None:
        """The first live process of the community; None if all are dead."""
        home = (b for b in self.blocks_of(self.publication.home) if self.alive[b])
        return next((int(self.cut.start[b]) for b in home), None)

    @cached_property
    def keys(self) -> tuple[Any, Any]:
        """For every reason to draw: the run's key, and the event's."""
        base, keys = np.zeros(REASONS, np.uint64), np.zeros(REASONS, np.uint64)
        with np.errstate(over="ignore"):
            cut_keys(np.uint64(self.seed), self.publisher, self.publication.sequence, base, keys)
        return base, keys

    def key(self, number: int, b: int) -> int:
        """Of what happens to a block in a round."""
        assert self.publisher is not None
        word = event_id(self.publisher, self.publication.sequence).word()
        return int(fold(fold(fold(fold(self.seed, BLOCK), word), number), b))

    def nothing(self, b: int) -> Counts:
        return np.zeros(self.fanouts[self.cut.community[b]] + 1, np.int64)

    def untouched(self, b: int) -> Kept:
        return Kept(np.zeros(-(-int(self.cut.size[b]) // 8), np.uint8), np.zeros(len(COLUMNS), np.int64))

    def publish(self) -> dict[int, Mail]:
        """What comes before the first round: the publisher has its own event."""
        if self.publisher is None:
            return {}
        b = int(np.searchsorted(self.cut.start, self.publisher, "right")) - 1
        return {b: Mail(self.nothing(b), self.nothing(b), np.zeros(1, np.uint32))}

    def live_by_community(self) -> list[int]:
        return [community.size - int(gone) for community, gone in zip(self.setting.communities, self.table.crashed)]


class Acted(NamedTuple):
    """One block after one round."""

    kept: Kept
    new: int
    sent: Sent


def act(plan: Plan, number: int, b: int, kept: Kept, mail: Mail) -> Acted:
    """Round `number` of block b: those whom the mail reaches first tell others, around and above."""
    key, c = plan.key(number, b), int(plan.cut.community[b])
    bits, before, counts = kept.bits.copy(), kept.bits.copy(), kept.counts.copy()
    new, arrived, sent_up, heard = compiled(plan.kernel.__name__)(
        b, np.uint64(key), mail.told, mail.told_own, mail.named, bits, before, *plan.keys, plan.table, plan.cut,
        plan.alive, *plan.room,
    )  # fmt: skip
    around, own = tell(plan, b, c, new, key)
    came = arrived if number else 0  # nobody sent the publisher what it published
    counts[ARRIVED] += came
    counts[PARASITES] += 0 if plan.table.wants[c] else came
    if new:
        counts[REACHED] += new
        counts[ROUNDS_LAST] = number
        counts[SENT_INTRA] += new * plan.fanouts[c]
        counts[SENT_UP] += sent_up
        counts[ARRIVED_UP] += len(heard)
    return Acted(Kept(bits, counts), new, Sent(around, own, by_block(plan, heard)))


def tell(plan: Plan, b: int, c: int, new: int, key: int) -> tuple[dict[int, Counts], Counts]:
    """How many of those newly reached have how many targets in which block of their community; apart, in their own."""
    if not new:
        return {}, plan.nothing(b)
    throw = dice(fold(key, 2))
    having = survivors(new, plan.fanouts[c], float(plan.table.reach[c]), throw)
    others = [other for other in plan.blocks_of(c) if other != b]
    sizes = [int(plan.cut.size[other]) for other in others]
    own, *parts = divided(having, int(plan.cut.size[b]) - 1, sizes, throw)
    return {other: told for other, told in zip(others, parts, strict=True) if told[1:].any()}, own


def by_block(plan: Plan, heard: Counts) -> dict[int, Names]:
    """Processes by name, as positions in their blocks."""
    if not len(heard):
        return {}
    blocks = np.searchsorted(plan.cut.start, heard, "right") - 1
    positions = (heard - plan.cut.start[blocks]).astype(np.uint32)
    order = np.argsort(blocks, kind="stable")
    found, starts = np.unique(blocks[order], return_index=True)
    return {int(b): part for b, part in zip(found, np.split(positions[order], starts[1:]), strict=True)}


def merged(plan: Plan, came: Iterator[tuple[int, Sent]]) -> dict[int, Mail]:
    """What blocks sent in one round, by the block it comes to."""
    told: dict[int, Counts] = {}
    own: dict[int, Counts] = {}
    named: dict[int, list[Names]] = {}
    for b, sent in came:
        own[b] = sent.own
        for to, counts in sent.around.items():
            told[to] = told[to] + counts if to in told else counts
        for to, positions in sent.up.items():
            named.setdefault(to, []).append(positions)
    return {
        b: Mail(
            told.get(b, plan.nothing(b)),
            own.get(b, plan.nothing(b)),
            np.concatenate(named[b]) if b in named else np.zeros(0, np.uint32),
        )
        for b in sorted({*told, *own, *named})
    }


def rounds(plan: Plan) -> Iterator[dict[int, Acted]]:
    """All rounds of an event in this process, until nobody new is reached: what those blocks did that were told."""
    kept: dict[int, Kept] = {}
    mail, number = plan.publish(), 0
    while mail:
        acted = {b: act(plan, number, b, kept.get(b) or plan.untouched(b), came) for b, came in mail.items()}
        kept |= {b: each.kept for b, each in acted.items()}
        yield acted
        mail = merged(plan, ((b, each.sent) for b, each in acted.items() if each.new))
        number += 1


def tally(plan: Plan, counts: dict[int, Counts]) -> Counts:
    """A row per community, from the last that each block said."""
    rows = np.zeros((len(plan.setting.communities), len(COLUMNS)), np.int64)
    rows[:, LIVE] = plan.live_by_community()
    for b, counted in counts.items():
        c = plan.cut.community[b]
        last = max(rows[c, ROUNDS_LAST], counted[ROUNDS_LAST])
        rows[c] += counted
        rows[c, ROUNDS_LAST] = last
    return rows


def spread(plan: Plan) -> Counts:
    """The tally of one event, all in this process."""
    counts: dict[int, Counts] = {}
    for acted in rounds(plan):
        counts |= {b: each.kept.counts for b, each in acted.items()}
    return tally(plan, counts)
