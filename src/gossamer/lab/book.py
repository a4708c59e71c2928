"""Summaries of experiments, and how to look something up in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gossamer.core.errors import Misuse

ALL = "all"
"The group of figures about the whole system."


class Line(Struct, frozen=True, kw_only=True):
    """One row of summary.csv: a metric of one community at one point, over all runs."""

    point: dict[str, Any]
    group: str
    metric: str
    mean: float
    ci95: float
    p50: float
    p99: float
    max: float
    runs: int


class Book:
    """The summaries of several experiments, by name."""

    def __init__(self, lines: Mapping[str, Sequence[Line]]) -> None:
        self.lines = lines

    def find(self, experiment: str, group: str, metric: str, **swept: Any) -> Line:
        """The one line at these swept values (a field's last word is enough to name it)."""
        found = self.series(experiment, group, metric, **swept)
        if len(found) != 1:
            raise Misuse(f"{experiment} has {len(found)} lines for {group} {metric} at {swept}, not one")
        return found[0]

    def series(self, experiment: str, group: str, metric: str, **swept: Any) -> list[Line]:
        """Every such line, in the order of the sweep."""
        return [
            line
            for line in self.lines[experiment]
            if line.group == group
            and line.metric == metric
            and all(last_word(line.point).get(field) == value for field, value in swept.items())
        ]

    def __iter__(self) -> Any:
        return (line for lines in self.lines.values() for line in lines)


def last_word(point: Mapping[str, Any]) -> dict[str, Any]:
    return {field.rpartition(".")[2]: value for field, value in point.items()}
