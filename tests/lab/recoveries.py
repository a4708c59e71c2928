"""A study of recovery that takes milliseconds, and ways to change it."""

import tomllib
from typing import Any

from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies.epidemic.tables import Epidemic

SOURCE = "tree.toml"
SMALL = """
network = {dispatchers = 8, degree = 3, loss = 0.2}
workload = {patterns = 4, subscriptions = 1, patterns_per_event = 2, rate = 10.0}
recovery = {method = "combined", interval_s = 0.05, cache = 50}
time = {seconds = 3.0, measure_from = 0.5, measure_to = 2.0}

[experiment]
name = "tree"
protocol = "recovery"
engine = "ENGINE"
runs = 2
about = "A few dispatchers."
"""
SWEPT = """
[sweep]
"recovery.method" = ["push", "combined"]
"network.loss" = [0.0, 0.2]

[[figures]]
name = "delivery"
title = "Delivery"
metric = "delivery"
x = "network.loss"
by = "recovery.method"
"""


def small(changes: dict[str, Any] | None = None, *, engine: str = "machine", **tables: Any) -> dict[str, Any]:
    """The small study as raw TOML, with some fields set and whole tables added."""
    raw = tomllib.loads(SMALL.replace("ENGINE", engine))
    for dotted, value in (changes or {}).items():
        put(raw, dotted, value, SOURCE)
    return {**raw, **tables}


def point(changes: dict[str, Any] | None = None, *, engine: str = "machine", **tables: Any) -> Point:
    (only,) = points(small(changes, engine=engine, **tables), SOURCE)
    return only


def spec(changes: dict[str, Any] | None = None) -> Epidemic:
    said = point(changes).spec
    assert isinstance(said, Epidemic)
    return said
