"""A study of hpmcast that takes milliseconds."""

from gossamer.lab.studies.hierarchy.metrics import METRICS
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from lab.small_studies import SmallStudy

SOURCE = "levels.toml"
TEXT = """
hierarchy = {branching = 3, levels = 3}
params = {variant = "hpmcast", delegates = 2, fanout = 2, audience_floor = 0}
workload = {interest = 0.4}
network = {loss = 0.1}

[experiment]
name = "levels"
protocol = "hpmcast"
engine = "ENGINE"
runs = 2
about = "A few participants."
"""
SWEPT = """
[sweep]
"params.variant" = ["hpmcast", "pmcast"]
"workload.interest" = [0.1, 0.5]

[[figures]]
name = "delivery"
title = "Delivery"
metric = "delivery"
x = "workload.interest"
by = "params.variant"
"""

HIERARCHIES = SmallStudy(Hierarchies, METRICS, SOURCE, TEXT, "machine", "gossamer.fast.hpmcast.run", SWEPT)
small, point, spec = HIERARCHIES.raw, HIERARCHIES.point, HIERARCHIES.spec
