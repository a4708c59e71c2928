"""An audit that is killed, begun twice, or finds its own files damaged."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gossamer.core.errors import Misuse, SpecError
from gossamer.pipeline import audit
from gossamer.pipeline.audit_case import opened
from gossamer.pipeline.desk import Desk, still_active, with_settings
from gossamer.pipeline.results import read_table
from pipeline.audit_stories import STORIES
from pipeline.stories import write_story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_second_audit_of_one_folder_is_refused_while_the_first_goes_on(tmp_path: Path) -> None:
    write_story(tmp_path / "traces", "net", STORIES["calm"][0])
    with opened(tmp_path / "traces", tmp_path / "out"):
        with (
            pytest.raises(Misuse, match=r"another audit is writing to .*out: wait until it is done, or name another"),
            opened(tmp_path / "traces", tmp_path / "out"),
        ):
            pass
        with opened(tmp_path / "traces", tmp_path / "elsewhere"):
            pass
    with opened(tmp_path / "traces", tmp_path / "out"):
        assert list((tmp_path / "out").iterdir()) == []


def test_other_traces_are_another_case(tmp_path: Path) -> None:
    def digest() -> str:
        with opened(tmp_path / "traces", tmp_path / "out") as case:
            return case.digest(None)

    write_story(tmp_path / "traces", "net", STORIES["calm"][0])
    first = digest()
    assert digest() == first
    write_story(tmp_path / "traces", "more", STORIES["calm"][0])
    assert digest() != first


@pytest.mark.spark
def test_what_was_settled_is_kept_for_who_is_about_the_same_and_for_nobody_else(
    spark: "SparkSession", tmp_path: Path
) -> None:
    def settled(about: str, value: int, *, fails: bool = False) -> list[int]:
        with Desk(tmp_path / "desk", True, about) as desk:
            frame = desk.settle(spark.range(value, value + 1), "one")
            if fails:
                raise RuntimeError
            return [row.id for row in frame.collect()]

    for about in ("a", ""):
        with pytest.raises(RuntimeError):
            settled(about, 1, fails=True)
        assert settled(about, 2) == ([1] if about else [2])
        assert not (tmp_path / "desk").exists()
    with pytest.raises(RuntimeError):
        settled("a", 1, fails=True)
    assert settled("b", 3) == [3]
    with pytest.raises(RuntimeError):
        settled("a", 1, fails=True)
    (tmp_path / "desk" / "one" / "_SUCCESS").unlink()  # killed while it was written
    assert settled("a", 4) == [4]


@pytest.mark.spark
def test_an_audit_goes_on_with_the_step_it_was_killed_in(spark: "SparkSession", tmp_path: Path) -> None:
    write_story(tmp_path / "traces", "net", STORIES["missing"][0])
    out = tmp_path / "out"

    def killed(step: str) -> None:
        if step == "missing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit.audit_folder(spark, tmp_path / "traces", out, killed)
    assert not (out / "verdict.json").exists()
    done = {path: path.stat().st_mtime_ns for path in (out / ".halfway").glob("*/_SUCCESS")}
    assert {path.parent.name for path in done} >= {"lives", "interests", "events", "judged", "arrivals"}
    still: dict[Path, int] = {}
    verdict = audit.audit_folder(
        spark, tmp_path / "traces", out, lambda _: still.update((path, path.stat().st_mtime_ns) for path in done)
    )
    assert still == done
    assert not (out / ".halfway").exists()
    assert (verdict.events, verdict.missing, verdict.delivered) == (2, 7, 1)
    assert len(read_table(out, "missing")) == 7


@pytest.mark.spark
def test_a_damaged_file_of_rows_is_named_with_what_to_do(spark: "SparkSession", tmp_path: Path) -> None:
    write_story(tmp_path / "traces", "net", STORIES["calm"][0])
    with opened(tmp_path / "traces", tmp_path / "out") as case:
        audit.convert_segments(spark, case.found, tmp_path / "out" / "rows")
        victim = tmp_path / "out" / "rows" / case.found[0].parquet()
    data = bytearray(victim.read_bytes())
    data[4:100] = bytes(96)  # the first page; what stands at the end is whole
    victim.write_bytes(data)
    with pytest.raises(
        SpecError, match=rf"{victim.name}, made from net/.*, is damaged: delete it, and run the audit ag"
    ):
        audit.audit_folder(spark, tmp_path / "traces", tmp_path / "out")
    victim.write_bytes(b"PAR1 and no more")  # this one is known to be of no use
    assert audit.audit_folder(spark, tmp_path / "traces", tmp_path / "out").holds


def test_the_callers_session_is_the_active_one_afterwards(spark: "SparkSession") -> None:
    """Spark looks data sources up there: those that the caller registered would not be found any more."""

    def active() -> str | None:
        session = type(spark).getActiveSession()
        return session.conf.get("gossamer.mine", None) if session else None

    own = with_settings(spark, {"gossamer.mine": "yes"})
    with still_active(spark):
        own.createDataFrame([(1,)], "a int")
        assert active() == "yes"
    assert active() is None
