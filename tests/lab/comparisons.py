"""A comparison that takes a second."""

from gossamer.lab.studies.comparison.metrics import METRICS
from gossamer.lab.studies.comparison.tables import Comparisons
from lab.small_studies import SmallStudy

SOURCE = "few.toml"
TEXT = """
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

COMPARISONS = SmallStudy(Comparisons, METRICS, SOURCE, TEXT, "world", "gossamer.sim.comparison.run")
small, point, spec = COMPARISONS.raw, COMPARISONS.point, COMPARISONS.spec
