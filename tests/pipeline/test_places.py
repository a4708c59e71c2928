"""Places: on this machine, or wherever the session's Hadoop finds them; the same is said of both."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gossamer.core.errors import Misuse
from gossamer.pipeline.hadoop import starting
from gossamer.pipeline.outcomes import outcomes_in
from gossamer.pipeline.overlay import check_out
from gossamer.pipeline.places import Entry, LocalPlace, Place, literally, place_at
from pipeline.mounted import mounted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRANGE = "a b#c%20{d}*[e]?ü"


def here(spark: "SparkSession", folder: Path) -> Place:
    return place_at(folder)


def elsewhere(spark: "SparkSession", folder: Path) -> Place:
    return place_at(mounted(spark, folder))


@pytest.fixture(params=[here, elsewhere], ids=["on this machine", "by Hadoop"])
def place(request: pytest.FixtureRequest, spark: "SparkSession", tmp_path: Path) -> Place:
    made: Callable[..., Place] = request.param
    return made(spark, tmp_path)


def test_a_path_is_on_this_machine_whatever_the_session_takes_for_its_default(tmp_path: Path) -> None:
    assert place_at(tmp_path).uri == f"file://{tmp_path}"
    assert place_at("x").uri == f"file://{Path.cwd()}/x"
    assert place_at(f"file://{tmp_path}/x") == place_at(f"file:{tmp_path}/x") == place_at(tmp_path / "x")
    assert isinstance(place_at("a:b"), LocalPlace)  # a name, since no slash follows
    assert str(place_at("some/x") / "y") == "some/x/y"


def test_what_is_written_is_read_listed_and_removed(place: Place) -> None:
    folder = (place / STRANGE).make()
    (folder / "one").write(b"first")
    (folder / "one").write(b"second")
    (folder / "inner").make()
    visible = [entry for entry in folder.entries() if not entry.name.endswith(".crc") and not entry.folder]
    assert visible == [Entry("one", 6, False)]
    assert (folder / "one").read() == b"second"
    assert (folder.is_folder(), (folder / "one").is_folder(), (folder / "inner").is_folder()) == (True, False, True)
    assert (folder.name, folder.parent, (folder / "one").name) == (STRANGE, place, "one")
    folder.remove()
    assert not folder.exists()
    folder.remove()
    assert folder.entries() == []


def test_spark_finds_the_same_place_whatever_its_name(place: Place, spark: "SparkSession") -> None:
    table = place / STRANGE
    spark.range(3).coalesce(1).write.parquet(table.uri)
    assert spark.read.parquet(literally(table)).count() == 3
    assert [entry.name for entry in table.entries() if entry.name.startswith("part-")]


def test_a_folder_filled_by_programs_of_this_machine_is_there_in_the_end(place: Place) -> None:
    with (place / "out").filled() as folder:
        (folder / "figures").mkdir()
        (folder / "figures" / "a.svg").write_text("<svg>")
        (folder / "report.html").write_text("page")
    assert (place / "out" / "figures" / "a.svg").read() == b"<svg>"
    with (place / "out" / "report.html").as_file() as file:
        assert file.read_text() == "page"


def test_a_file_is_no_folder(place: Place) -> None:
    (place / "file").write(b"x")
    with pytest.raises(Misuse, match=r"/file is a file: name a folder$"):
        (place / "file").make()


@pytest.mark.parametrize("uri", ["nowhere://host/x", "s3a://bucket/x"])
def test_a_scheme_that_hadoop_does_not_know_is_one_sentence(uri: str, spark: "SparkSession") -> None:
    with pytest.raises(Misuse, match=rf"^{uri}: Hadoop has no file system for \w+: here; bring its jars [^\n]*$"):
        outcomes_in(place_at(uri))


def test_without_a_session_one_is_started_or_asked_for(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(Misuse, match="only places on this machine can be used without a Spark of our own"):
        place_at("hdfs://host/x").exists()
    begun: list[str] = []
    token = starting.set(lambda: begun.append("started"))
    with pytest.raises(Misuse):
        place_at("hdfs://host/x").exists()
    starting.reset(token)
    assert begun == ["started"]


# Folders that results go to


def test_a_folder_is_made_with_those_above_it(place: Place) -> None:
    assert (place / "a/b").make().is_folder()
    assert (place / "a/b").make() == place / "a/b"


def test_one_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match=r"cannot make the folder .*file/x: Not a directory"):
        place_at(tmp_path / "file" / "x").make()


def test_one_that_cannot_be_written_to_is_refused_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    for make in (lambda place: place.make(), outcomes_in, lambda place: check_out(place, None)):
        with pytest.raises(Misuse, match=r"cannot write to the folder .*: make it writable, or name another"):
            make(place_at(tmp_path))
