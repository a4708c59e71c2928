"""A comparison that takes a second, and ways to change it."""

import tomllib
from typing import Any

from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies.comparison.tables import Comparisons

SOURCE = "few.toml"
SMALL = """
workload = {branching = [2, 2, 3], areas = 2, topics = 2, subscriptions = 2, events = 6, every_s = 0.2, payload = 100}
network = {loss = 0.05, crashed = 0.1, warmup_s = 8.0, settle_s = 4.0}
params = {delegates = 2, direct = 3}

[experiment]
name = "few"
protocol = "comparison"
engine = "world"
runs = 2
about = "A dozen nodes."
"""


def small(changes: dict[str, Any] | None = None, **tables: Any) -> dict[str, Any]:
    """The small comparison as raw TOML, with some fields set and whole tables added."""
    raw = tomllib.loads(SMALL)
    for dotted, value in (changes or {}).items():
        put(raw, dotted, value, SOURCE)
    return {**raw, **tables}


def point(changes: dict[str, Any] | None = None, **tables: Any) -> Point:
    (only,) = points(small(changes, **tables), SOURCE)
    return only


def spec(changes: dict[str, Any] | None = None) -> Comparisons:
    said = point(changes).spec
    assert isinstance(said, Comparisons)
    return said
