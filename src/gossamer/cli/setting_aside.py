"""Rows of a table of one's own that cannot be used: told to whoever asked, and kept where there is a place for them."""

import csv
import io
from collections.abc import Sequence

from rich.console import Console

from gossamer.lab.grid import Point
from gossamer.lab.studies.overlay.pairs import Bad, set_aside
from gossamer.lab.studies.overlay.tables import Overlays
from gossamer.pipeline.places import Place, place_at

NAME = "quarantine.csv"


def tell_set_aside(console: Console, made: Sequence[Point], out: Place | None = None) -> None:
    """One line for each file; all rows go to a file in `out`."""
    files = [point.spec.workload.file for point in made if isinstance(point.spec, Overlays)]
    found = {file: bad for file in dict.fromkeys(files) if file and (bad := set_aside(file))}
    for file, bad in found.items():
        first = f"row {bad[0].row:,}, {bad[0].reason}"
        console.print(f"{file}: rows set aside: {len(bad):,}; the first: {first}", markup=False, highlight=False)
    if out is None:
        return
    (out / NAME).remove()
    if found:
        rows = [(place_at(file).name, *each) for file, bad in found.items() for each in bad]
        with io.StringIO(newline="") as text:
            csv.writer(text, lineterminator="\n").writerows([("file", *Bad._fields), *rows])
            (out / NAME).write(text.getvalue().encode())
