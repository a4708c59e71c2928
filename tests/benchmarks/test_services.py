"""The measurement of CAMCAST's membership services, small: that it counts what happened, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.services.counting import Row
from benchmarks.services.plan import BOTTOM, MIDDLE, ROOT, SIZES, plans
from benchmarks.services.running import ROOT as PROJECT
from benchmarks.services.simulated import row_of
from benchmarks.services.summary import pairs, summarise, wilson

from gossamer.pipeline.results import read_table

PATIENCE_S = 300.0


def measuring(folder: Path, *options: str) -> "subprocess.Popen[str]":
    (folder / "scratch").mkdir()
    command = [sys.executable, "-m", "benchmarks.services", *options, "--runs", "0", "--out", str(folder / "out")]
    environ = {**os.environ, "TMPDIR": str(folder / "scratch"), "PYTHONPATH": PROJECT}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def row(side: str, reached: int, copies: int = 10, hops: int | None = 3) -> Row:
    return Row(side, "structured", "n", 0.1, "e", ROOT, 7, reached, copies, reached, 0, hops)


def test_events_are_mixed_and_every_chance_has_as_many() -> None:
    plan = plans(["structured"], networks=1, events=4, seed=1)[0]
    assert Counter(plan.chances()) == dict.fromkeys(plan.climbs, 4)
    assert plan.chances() != sorted(plan.chances())
    assert Counter(topic for _, topic in plan.arrivals()) == {ROOT: 7, MIDDLE: 28, BOTTOM: 79}
    again = plans(["structured"], networks=1, events=4, seed=1)[0]
    assert (again.arrivals(), again.chances()) == (plan.arrivals(), plan.chances())


def test_means_have_intervals_that_hold_at_the_ends_too() -> None:
    means = summarise([row("live", 7), row("live", 7), row("live", 0, copies=0, hops=None)])
    found = {each.metric: each for each in means}
    assert (found["reception"].mean, found["reliability"].mean) == (0.666667, 0.666667)
    assert (found["efficiency"].mean, found["efficiency"].events, found["hops"].events) == (0.7, 2, 2)
    low, high = wilson(1.0, 20)
    assert (round(low, 3), high) == (0.751, 1.0)


def test_live_and_simulated_are_compared_where_both_were_measured() -> None:
    means = summarise([*[row("live", 7)] * 20, *[row("simulated", 6)] * 500])
    apart = {live.metric for live, other in pairs(means) if not live.overlaps(other)}
    assert len(pairs(means)) == 5
    assert apart == {"reliability"}  # 6 of 7 may be chance, with 20 events: that never all had it may not
    assert pairs(summarise([row("live", 7)])) == []


@pytest.mark.parametrize("service", SIZES)
def test_a_simulated_outcome_says_of_which_service_and_chance_it_is(service: str) -> None:
    told = {
        "trial": "t-1", "point": f'{{"case":"{service}"}}', "event": 2, "climb": 0.03, "group": MIDDLE, "home": False,
        "live": 28, "reached": 14, "arrived": 20, "sent_up": 5, "rounds_last": 6, "error": None,
    }  # fmt: skip
    assert row_of(told) == Row("simulated", service, "t-1", 0.03, "t-1-2", MIDDLE, 28, 14, 20, 14, 5, 6)
    assert row_of({**told, "error": "it failed"}) is None
    assert row_of({**told, "point": "{}"}) is None


@pytest.mark.slow
def test_who_stops_it_finds_nothing_left(tmp_path: Path) -> None:
    process = measuring(tmp_path, "--service", "unstructured", "--networks", "2", "--jobs", "2")
    assert process.stdout is not None
    said = {process.stdout.readline().strip() for _ in range(2)}
    assert said == {"unstructured-1: coming up", "unstructured-2: coming up"}
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    assert not any(Path(f"/proc/{each}").exists() for each in children)
    assert [*(tmp_path / "scratch").iterdir()] == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("service", SIZES)
def test_a_small_network_is_measured(service: str, tmp_path: Path) -> None:
    few = ("--networks", "1", "--events", "4", "--sizes", "2", "4", "9", "--climbs", "0", "--climbs", "1")
    process = measuring(tmp_path, "--service", service, *few)
    said, _ = process.communicate(timeout=PATIENCE_S)
    rows = read_table(tmp_path / "out", "rows")
    assert len(rows) == 3 * 8, said
    got = {
        (each["climb"], each["community"]): sum(other["reached"] for other in rows if other["climb"] == each["climb"]
        and other["community"] == each["community"]) for each in rows
    }  # fmt: skip
    assert (got[0.0, MIDDLE], got[0.0, ROOT]) == (0, 0), said  # what nobody carries up does not arrive
    assert got[1.0, MIDDLE] >= 14, said  # nearly all of 4 × 4
    assert "events received unasked, by the audit" in said
    assert [*(tmp_path / "scratch").glob("services-*")] == []
