"""The page on hpmcast has the numbers that its commands print: every table is measured again."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from gossamer.core.intervals import half_width
from gossamer.lab.grid import points
from gossamer.lab.spec import read
from gossamer.lab.trial import run_trials
from gossamer.protocols.hpmcast import theory
from gossamer.protocols.hpmcast.shape import Shape

PAGE = (Path(__file__).parents[2] / "docs" / "protocols" / "hpmcast.md").read_text()


def rows_after(sentence: str) -> Iterator[list[str]]:
    """The cells of the table that follows a sentence."""
    table = PAGE.partition(sentence)[2].partition("|---|")[2].partition("\n\n")[0]
    for line in table.splitlines()[1:]:
        yield [cell.strip(" `") for cell in line.strip("|").split("|")]


@cache
def measured(experiment: str, interest: float, by: str, value: str) -> dict[str, tuple[float, float]]:
    """Mean and half the interval of each metric at one point of an experiment, over the runs its file asks for."""
    at = {"workload.interest": interest, by: value}
    (point,) = [each for each in points(*read(experiment)) if each.swept == at]
    found: dict[str, list[float]] = {}
    for row in run_trials(point, range(point.spec.experiment.runs), experiment):
        found.setdefault(row.metric, []).append(row.value)
    return {name: (fmean(values), half_width(values)) for name, values in found.items()}


def share(found: tuple[float, float]) -> str:
    return f"{100 * found[0]:.1f} ± {100 * found[1]:.1f} %"


@pytest.mark.parametrize("experiment", ["hpmcast/repair", "hpmcast/repair-loss"])
def test_the_tables_of_repairs_are_what_is_measured(experiment: str) -> None:
    rows = list(rows_after(f"gossamer sweep {experiment} "))
    assert len(rows) >= 3
    for case, *said in rows:
        found = measured(experiment, 0.01, "case", case)
        counts = [f"{found['messages'][0]:,.0f}", f"{found['rounds'][0]:.1f}"]
        assert said == [share(found["delivery"]), share(found["spurious"]), *counts], case


@pytest.mark.slow
def test_the_table_of_variants_is_what_is_measured() -> None:
    rows = list(rows_after("From `hpmcast/variants`"))
    assert len(rows) == 9
    for variant, interest, *said in rows:
        found = measured("hpmcast/variants", float(interest), "params.variant", variant)
        counts = [
            f"{found['messages'][0]:,.0f}", f"{found['rounds'][0]:.1f}", f"{found['view_size'][0]:,.0f}",
            f"{found['matches_each'][0]:.1f}",
        ]  # fmt: skip
        assert said == [share(found["delivery"]), share(found["spurious"]), *counts], (variant, interest)


def test_the_formula_to_plan_with_says_what_the_page_says() -> None:
    said = re.search(r"it says ([\d.]+) %, and ([\d.]+) % is measured", PAGE)
    assert said is not None
    found, _ = measured("hpmcast/repair", 0.01, "case", "as it is")["delivery"]
    assert said.groups() == (f"{100 * theory.delivery(Shape(22, 3), 0.01):.1f}", f"{100 * found:.1f}")
