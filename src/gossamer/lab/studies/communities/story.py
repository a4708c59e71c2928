"""One trial of communities told round by round: who heard of the event, and when."""

import numpy as np
from msgspec import Struct

from gossamer.fast import engine as fast
from gossamer.lab.grid import Point
from gossamer.lab.rows import Outcome
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.trial import run_trials, seed_of
from gossamer.parts.infection import DEAD, FRESH
from gossamer.protocols import CATALOGUE
from gossamer.sim import engine as sim
from gossamer.sim.camcast_world import CommunitiesTown


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
        heard = [np.bincount(state[c.start : c.start + c.size], minlength=DEAD + 1) for c in setting.communities]
        by_group = [counts[FRESH + 1 : DEAD] for counts in heard]
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
