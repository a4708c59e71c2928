"""One trial of communities told round by round: who heard of the event, and when."""

from typing import Any

import numpy as np
from msgspec import Struct

from gossamer.fast import blocks
from gossamer.fast import engine as fast
from gossamer.lab.grid import Point
from gossamer.lab.rows import Outcome
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.communities.trials import plan_of
from gossamer.lab.trial import run_trials, seed_of
from gossamer.parts.infection import DEAD, FRESH
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim
from gossamer.sim.camcast_world import CommunitiesTown

PIECE = 1 << 24
"NumPy counts bytes as numbers of eight bytes: not all at once."


class Story(Struct, frozen=True):
    """What one run did."""

    groups: tuple[str, ...]
    rounds: tuple[tuple[int, ...], ...]
    "For each round (in a world: hop) from 0, how many processes of each group heard of the first event then."
    outcomes: tuple[Outcome, ...]


def tell(point: Point, run: int, source: str) -> Story:
    """Runs one trial and keeps when each process heard of its first event."""
    spec = point.spec
    assert isinstance(spec, Communities)
    setting = spec.setting()
    threads = fast.threads_for(setting.processes)
    publication = spec.publications()[0]
    protocol = CATALOGUE[spec.experiment.protocol]
    seed = seed_of(spec.experiment.seed, run)
    outcomes = run_trials(point, [run], source, threads)
    if spec.experiment.engine == "kernel":
        state = fast.history(str(protocol.kernel), setting, publication, seed, threads)
        by_group = [heard_in_rounds(state[c.start : c.members.stop]) for c in setting.communities]
    elif spec.experiment.engine == "blocks":
        by_group = heard_in_blocks(plan_of(spec, publication, seed))
    else:
        if spec.experiment.engine == "machine":
            reached = sim.spread(protocol, setting, publication, seed).delivered
        else:
            town = CommunitiesTown(setting, spec.world, seed)
            reached = town.play(spec.publications())[publication.sequence].reached
        by_group = [
            np.bincount([at for peer, at in reached.items() if peer in c.members], minlength=1)
            for c in setting.communities
        ]
    last = max((int(np.flatnonzero(counts)[-1]) for counts in by_group if counts.any()), default=-1)
    rounds = tuple(tuple(int(counts[at]) if at < len(counts) else 0 for counts in by_group) for at in range(last + 1))
    return Story(tuple(c.topic for c in setting.communities), rounds, tuple(outcomes))


def heard_in_blocks(plan: blocks.Plan) -> list[Any]:
    """By community, how many heard in which round."""
    rounds = [
        np.bincount([plan.cut.community[b] for b in acted], [each.new for each in acted.values()],
                    minlength=len(plan.setting.communities)).astype(np.int64)
        for acted in blocks.rounds(plan)
    ]  # fmt: skip
    return [*np.array(rounds).reshape(-1, len(plan.setting.communities)).T]


def heard_in_rounds(state: fast.Bytes) -> Any:
    """How many heard in which round, of a community's bytes."""
    pieces = [state[low : low + PIECE] for low in range(0, len(state), PIECE)]
    counts = np.sum([np.bincount(piece, minlength=DEAD + 1) for piece in pieces], axis=0)
    return counts[FRESH + 1 : DEAD]
