"""Rows of a table of one's own that cannot be used: told to whoever asked, and kept where there is a place for them."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from gossamer.lab.grid import Point
from gossamer.lab.studies.overlay.pairs import Bad, set_aside
from gossamer.lab.studies.overlay.tables import Overlays

NAME = "quarantine.csv"


def tell_set_aside(console: Console, made: Sequence[Point], out: Path | None = None) -> None:
    """One line for each file; all rows go to a file in `out`."""
    files = [point.spec.workload.file for point in made if isinstance(point.spec, Overlays)]
    found = {file: bad for file in dict.fromkeys(files) if file and (bad := set_aside(file))}
    for file, bad in found.items():
        first = f"row {bad[0].row:,} has {bad[0].reason}"
        console.print(f"{file}: rows set aside: {len(bad):,}; the first: {first}", markup=False, highlight=False)
    if out is None:
        return
    (out / NAME).unlink(missing_ok=True)
    if found:
        from gossamer.pipeline.results import write_lines  # here: one run needs no Spark

        rows = [(Path(file).name, *each) for file, bad in found.items() for each in bad]
        write_lines(out / NAME, [("file", *Bad._fields), *rows])
