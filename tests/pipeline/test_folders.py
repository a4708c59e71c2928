"""Folders that results go to."""

import os
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.pipeline.folders import make_folder
from gossamer.pipeline.overlay import check_out
from gossamer.pipeline.sweep import outcomes_folder


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    assert make_folder(tmp_path / "a" / "b").is_dir()
    assert make_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"


def test_one_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match=r"cannot make the folder .*file/x: Not a directory"):
        make_folder(tmp_path / "file" / "x")


def test_one_that_cannot_be_written_to_is_refused_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    for make in (make_folder, outcomes_folder, lambda path: check_out(path, None)):
        with pytest.raises(Misuse, match=r"cannot write to the folder .*: make it writable, or name another"):
            make(tmp_path)
