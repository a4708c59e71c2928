"""What `gossamer reproduce` says of the claims in the end."""

from io import StringIO
from pathlib import Path

from rich.console import Console

from gossamer.cli.reproduce import print_claims
from gossamer.lab.claims import Claim, apart, verdict
from gossamer.lab.papers import paper


def claim(id: str, holds: bool) -> Claim:
    return Claim(id=id, where="1", paper_says="So.", ours="so", verdict=verdict(holds), why="As said.")


def test_verdicts_are_counted_and_those_counted_apart_by_themselves() -> None:
    said = StringIO()
    cells = apart([claim(f"cell-{i}", i != 2) for i in range(5)], "Table 7, cell by cell")
    print_claims(Console(file=said, width=200), paper("spidercast"), [claim("a", True), *cells], Path("out"))
    *_, own, of_cells, where = said.getvalue().splitlines()
    assert own == "1 reproduced · 0 differs · 0 cannot be compared."
    assert of_cells == "Table 7, cell by cell, counted apart: 4 reproduced · 1 differs · 0 cannot be compared."
    assert where == "Reasons and plots: out/report.html"
