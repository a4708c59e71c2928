"""Draws one after the other, for tests whose worlds are made up of many choices."""

from collections.abc import Sequence
from typing import TypeVar

import pytest

from gossamer.core.draws import WORKLOAD, chance, draw, fold, upper_pick

Choice = TypeVar("Choice")


class Dice:
    """One stream of draws."""

    def __init__(self, seed: int, why: int = WORKLOAD) -> None:
        self.key, self.count = fold(fold(seed, why), 77), 0

    def below(self, n: int) -> int:
        self.count += 1
        return int(upper_pick(draw(self.key, self.count), n))

    def share(self) -> float:
        self.count += 1
        return float(chance(self.key, self.count))

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        return choices[self.below(len(choices))]


def some(full: int, quick: int) -> list[object]:
    """Seeds: a few in every run, all in the long ones."""
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.slow) for seed in range(full)]
