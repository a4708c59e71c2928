"""A study of an overlay that takes milliseconds."""

from gossamer.lab.studies.overlay.metrics import METRICS
from gossamer.lab.studies.overlay.tables import Overlays
from lab.small_studies import SmallStudy

SOURCE = "overlay.toml"
TEXT = """
workload = {nodes = 60, topics = 12, popularity = "zipf", exponent = 0.8, subscriptions = [2, 5]}
params = {greedy = 3, random = 0, margin = 5, adaptive = false, view = "full", selection = "coverage"}

[experiment]
name = "few"
protocol = "spidercast"
engine = "ENGINE"
runs = 2
about = "A few nodes."
"""
SWEPT = """
[sweep]
"workload.nodes" = [40, 60]

[cases."spidercast"]

[cases."ring"]
"params.selection" = "ring"

[[figures]]
name = "degrees"
title = "Degrees"
metric = "degree_mean"
x = "workload.nodes"
by = "case"
"""

OVERLAYS = SmallStudy(Overlays, METRICS, SOURCE, TEXT, "kernel", "gossamer.fast.spidercast.build", SWEPT)
small, point, spec = OVERLAYS.raw, OVERLAYS.point, OVERLAYS.spec
