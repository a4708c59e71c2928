"""What a tree delivers by itself: a pair d links apart gets an event with probability (1 - loss)^d."""

from typing import Any

import numpy as np

from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.experiment.topology import Edge, edges, neighbours
from gossamer.protocols.recovery.experiment.workload import workload


def distances(links: list[Edge], dispatchers: int) -> Any:
    """Links between any two dispatchers."""
    beside = neighbours(links, dispatchers)
    far = np.zeros((dispatchers, dispatchers), np.int64)
    for start in range(dispatchers):
        walk, came = [start], {start: start}
        for here in walk:
            for other in beside[here]:
                if other != came[here]:
                    came[other] = here
                    far[start, other] = far[start, here] + 1
                    walk.append(other)
    return far


def readers(setting: EpidemicSetting, seed: int) -> tuple[Any, Any]:
    """For each event of the window its publisher, and which dispatchers subscribed to a pattern it matches."""
    wants = np.zeros((setting.patterns + 1, setting.dispatchers), bool)  # the last row: no pattern, nobody
    for who, patterns in enumerate(setting.subscribed(seed)):
        wants[patterns, who] = True
    published = workload(setting, seed)
    first_us, last_us = setting.window_us
    counted = (published.at_us >= first_us) & (published.at_us < last_us)
    return published.source[counted], wants[published.patterns[counted]].any(axis=1)


def applies(setting: EpidemicSetting) -> bool:
    """Whether each message is lost independently of the others, on a tree that stays."""
    return setting.burst == 1 and not setting.loss_period_s and not setting.reconfigure_every_s


def unaided(setting: EpidemicSetting, sources: Any, wanted: Any, seed: int) -> float:
    """The expected share of pairs that are delivered without recovery; 1 if nothing is expected."""
    arrives = (1 - setting.loss) ** distances(edges(setting, seed), setting.dispatchers)
    return float(arrives[sources][wanted].mean()) if wanted.any() else 1.0
