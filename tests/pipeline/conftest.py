"""What several files of tests look at."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.audited import Audited


@pytest.fixture(scope="session")
def audited(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "Audited":
    """The one audit of all stories."""
    from pipeline.audited import Audited  # here: tests without Spark should not wait for its import

    return Audited(spark, tmp_path_factory.mktemp("audit"))


@pytest.fixture(autouse=True)
def _no_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: tests look at what commands say in the end."""
    monkeypatch.setattr("gossamer.cli.progress.LINE_S", float("inf"))
