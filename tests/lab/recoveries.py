"""A study of recovery that takes milliseconds."""

from gossamer.lab.studies.epidemic.tables import METRICS, Epidemic
from lab.small_studies import SmallStudy

SOURCE = "tree.toml"
TEXT = """
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

RECOVERIES = SmallStudy(Epidemic, METRICS, SOURCE, TEXT, "machine", "gossamer.fast.recovery.run", SWEPT)
small, point, spec = RECOVERIES.raw, RECOVERIES.point, RECOVERIES.spec
