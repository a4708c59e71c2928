"""One trial in a world, written down as its processes would do it themselves: for the audit."""

from pathlib import Path

from gossamer.core.errors import Misuse
from gossamer.core.trace import Level
from gossamer.lab.grid import Point
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.comparison.tables import Comparisons
from gossamer.lab.studies.hierarchy.tables import Hierarchies
from gossamer.lab.trial import seed_of
from gossamer.sim.camcast_world import CommunitiesTown
from gossamer.sim.comparison import ComparedTown
from gossamer.sim.hpmcast_world import LivingHierarchy
from gossamer.sim.traces import WorldTraces


def write_traces(point: Point, run: int, folder: Path, level: Level = "deliveries") -> None:
    """Plays a trial once more, as it went, and leaves its traces in a folder."""
    spec = point.spec
    seed = seed_of(spec.experiment.seed, run)
    name = f"{spec.experiment.name} run {run}"
    match spec:
        case Communities() if spec.experiment.engine == "world":
            town = CommunitiesTown(spec.setting(), spec.world, seed)
            traces = WorldTraces(town.world, folder, name, level=level)
            town.play(spec.publications())
        case Comparisons():
            compared = ComparedTown(spec.setting(), seed)
            traces = WorldTraces(compared.world, folder, name, level=level)
            compared.play()
        case Hierarchies() if spec.experiment.engine == "world":
            hierarchy = LivingHierarchy(spec.living(), seed)
            traces = WorldTraces(hierarchy.world, folder, name, level=level)
            hierarchy.play()
        case _:
            raise Misuse(
                f"--trace is for worlds, in which processes live in time: this experiment's engine is "
                f"{spec.experiment.engine}, and knows rounds only"
            )
    traces.close()
