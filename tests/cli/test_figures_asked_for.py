"""The plots an experiment file asks for, when there is little or nothing to plot."""

import pytest

pytest.importorskip("pyspark")

from gossamer.cli.running import experiment_figures
from gossamer.core.errors import SpecError
from gossamer.lab.book import Line
from pipeline.rows import small


def line(metric: str) -> Line:
    return Line(
        point={"faults.fraction": 0.0}, group=".d", metric=metric, mean=0.5, ci95=0.1, p50=0.5, p99=1, max=1, runs=3
    )


def test_each_is_drawn_from_the_lines_it_names() -> None:
    assert [figure.name for figure in experiment_figures(small(), [line("reception"), line("memory")])] == ["reception"]


def test_none_is_drawn_where_every_trial_failed() -> None:
    assert experiment_figures(small(), []) == []


def test_one_without_numbers_is_said_in_a_sentence() -> None:
    with pytest.raises(SpecError, match=r"^\[\[figures\]\] cannot be drawn: [^\n]* in figure 'reception'$"):
        experiment_figures(small(), [line("memory")])
