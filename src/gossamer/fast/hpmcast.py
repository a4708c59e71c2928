"""Runs the kernel of hpmcast: many seeded runs of one setting."""

from collections.abc import Sequence

import numpy as np

from gossamer.fast.compile import compiled
from gossamer.protocols.hpmcast.experiment.results import HierarchyResult, summed_up
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.kernel import arrays
from gossamer.protocols.hpmcast.kernel.arrays import RunArrays, prepare

KERNEL = "gossamer.protocols.hpmcast.kernel.run"


def run(setting: HierarchySetting, seeds: Sequence[int]) -> list[HierarchyResult]:
    """One result per seed."""
    return [result(setting, seed, play(setting, seed)) for seed in seeds]


def play(setting: HierarchySetting, seed: int) -> RunArrays:
    """One run; what is left when it is over."""
    room = prepare(setting, seed)
    compiled(KERNEL)(*room)
    return room


def result(setting: HierarchySetting, seed: int, room: RunArrays) -> HierarchyResult:
    ground, levels = room.ground, setting.levels
    wants, known = ground.wants.astype(bool), room.state.known
    counted = known != arrays.DOWN
    counted[room.how[arrays.PUBLISHER]] = False
    has, n = known == arrays.KNOWN, len(wants)
    members = np.diff(np.append(ground.start, n))
    members[members <= 0] += n  # the last group of a level ends where the participants do
    return summed_up(
        {
            "seed": seed,
            "participants": n,
            "interested": int((counted & wants).sum()),
            "delivered": int((counted & wants & has).sum()),
            "uninterested": int((counted & ~wants).sum()),
            "spurious_count": int((counted & ~wants & has).sum()),
            "rounds": int(room.counts[arrays.ROUNDS]),
            "steps": int(room.counts[arrays.STEPS]),
            "view_size": float((members * ground.size).sum() / n),
            "matches": int(room.counts[arrays.MATCHES]),
            "matches_picked": int(room.counts[arrays.MATCHES_PICKED]),
            "sent": tuple(room.sent[1:].tolist()),
            "load": tuple(room.load[1:].tolist()),
            "ranks": tuple(np.bincount(ground.top, minlength=levels + 1)[1:].tolist()),
        }
    )
