"""The command that follows a network: killed and started again, stopped by Ctrl-C, and ended by itself."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("pyspark")

from gossamer.pipeline.follow_memory import Store
from pipeline.following import Growing
from pipeline.processes import gossamer, run, soon, started
from pipeline.stories import BEGAN_US, write_story
from pipeline.test_follow import FAULTY, same

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]


FOLLOW = gossamer("audit", "traces", "--follow", "--deadline", 60, "--out", "out", "--master", "local[2]")


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    for name, story in FAULTY.items():
        write_story(tmp_path / "finished", name, story)
    growing = Growing(tmp_path / "finished", tmp_path / "traces")
    growing.grow(BEGAN_US + 6_000_000)
    return growing


def is_further(process: "subprocess.Popen[str]", store: Store, batch: int) -> bool:
    return process.poll() is not None or store.latest().batch > batch


def test_killed_while_it_follows_it_goes_on_and_ends_with_what_the_audit_says(growing: Growing, tmp_path: Path) -> None:
    store = Store(tmp_path / "out" / ".follow")
    command = gossamer(
        "audit", "traces", "--follow", "--deadline", 60, "--out", "out", "--json", "--master", "local[2]"
    )
    for moment in (14_000_000, 26_000_000):
        before = store.latest().batch
        with started(command, tmp_path) as process:
            assert soon(partial(is_further, process, store, before))
            os.killpg(process.pid, signal.SIGKILL)
        growing.grow(BEGAN_US + moment)
    ran = run(command, tmp_path)
    assert (ran.returncode, ran.stderr.count("Traceback")) == (1, 0)
    same(store, tmp_path / "out")
    *_, last, verdict = map(msgspec.json.decode, ran.stdout.splitlines())
    assert last["over"]
    assert {name: last[name] for name in verdict.keys() & last.keys()} == {
        name: verdict[name] for name in verdict.keys() & last.keys()
    }


def test_ctrl_c_ends_it_with_the_verdict_so_far(growing: Growing, tmp_path: Path) -> None:
    store = Store(tmp_path / "out" / ".follow")
    with started(FOLLOW, tmp_path) as process:
        assert soon(partial(is_further, process, store, -1))
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert out.splitlines()[-1].startswith("There is nothing to judge yet. (12 nodes · 3 events still open")
    assert "refresh" not in (tmp_path / "out" / "report.html").read_text()


def test_after_so_many_seconds_it_ends(growing: Growing, tmp_path: Path) -> None:
    ran = run([*FOLLOW, "--for", "0"], tmp_path)
    assert (ran.returncode, ran.stderr) == (3, "")
