"""How far a long piece of work is, where no terminal shows a bar; and settings that are passed on to Spark."""

from io import StringIO

import pytest

pytest.importorskip("pyspark")

from rich.console import Console

from cli.test_misuse import assert_refused
from gossamer.cli import progress
from gossamer.cli.on_spark import settings_of
from gossamer.cli.progress import Telling


def test_a_line_now_and_then_tells_how_far_it_is_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    telling = Telling(Console(file=(out := StringIO())), "trials", 2000, counted=True)
    telling.tell(10)
    monkeypatch.setattr(progress, "LINE_S", 0.0)
    telling.tell(1200)
    telling.tell(2000, "summary")
    assert capsys.readouterr().err == "trials: 1,200 of 2,000\nsummary: 2,000 of 2,000\n"
    assert out.getvalue() == ""


def test_settings_of_spark_are_keys_and_values() -> None:
    assert settings_of(("spark.a=b=c", " spark.d = ")) == {"spark.a": "b=c", "spark.d": ""}
    for wrong in ("spark.a", "a=b"):
        says = "write KEY=VALUE with a setting of Spark, like spark.executor.memory=4g"
        assert_refused(says, "sweep", "flood/neighbours", "--out", "x", "--conf", wrong)
