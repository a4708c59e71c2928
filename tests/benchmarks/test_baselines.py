"""What `make bench` compares must be the same task, and what it writes must be whole."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from benchmarks import baselines, giant, measure, run, spreads
from gossamer.core.draws import distinct, fold, mix

SEEDS = (0, 1, 2**64 - 1)
SIZES = (1, 2, 3, 6, 7, 8, 20, 100, 1000, 3000)


@pytest.mark.parametrize("success", [1.0, 0.85, 0.3, 0.0])
def test_plain_python_numpy_and_kernel_do_exactly_the_same(success: float) -> None:
    for n in SIZES:
        for seed in SEEDS:
            plain = baselines.naive(n, seed, success)
            assert baselines.vectorised(n, seed, success) == plain, (n, seed)
            assert spreads.kernel_in_full(n, seed, success) == plain, (n, seed)


def test_numpy_does_the_same_however_many_it_takes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = baselines.vectorised(2000, 7, 0.85)
    monkeypatch.setattr(baselines, "BATCH", 13)
    assert baselines.vectorised(2000, 7, 0.85) == whole


@pytest.mark.parametrize(("n", "k"), [(2, 1), (9, 8), (12, 11), (40, 20), (999, 11), (10**8, 23)])
def test_numpy_picks_what_plain_draws_pick_where_repeats_are_frequent_too(n: int, k: int) -> None:
    keys = [mix(number) for number in range(1, 300)]
    picked = baselines.distinct_rows(np.array(keys, np.uint64), n, k)
    assert picked.T.tolist() == [distinct(key, n, k) for key in keys]


def test_numpy_folds_like_plain_draws() -> None:
    words = [0, 1, 2**32, 2**64 - 1]
    assert baselines.folded(2**64 - 3, np.array(words, np.uint64)).tolist() == [fold(2**64 - 3, word) for word in words]


@pytest.mark.parametrize("who", ["naive", "vectorised"])
def test_a_contender_that_draws_anything_else_is_noticed(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = getattr(baselines, who)
    monkeypatch.setattr(baselines, who, lambda n, seed, success: honest(n, seed + 1, success))
    with pytest.raises(measure.Disagreement):
        spreads.check([300], [1])


def test_a_contender_that_sends_one_message_more_is_noticed_while_it_is_timed() -> None:
    honest = {"one": lambda turn: (10, 20), "other": lambda turn: (10, 20 + (turn == 2))}
    assert measure.in_turns(honest, turns=2, budget_s=60)["other"].cpu_s.times == 2
    with pytest.raises(measure.Disagreement, match="other and one"):
        measure.in_turns(honest, turns=3, budget_s=60)


def test_a_contender_sits_out_once_its_budget_is_spent() -> None:
    taken = measure.in_turns({"one": lambda turn: None, "other": lambda turn: None}, turns=3, budget_s=0.0)
    assert [timed.cpu_s.times for timed in taken.values()] == [1, 1]


def test_any_two_that_differ_disagree() -> None:
    measure.must_agree({"a": 1, "b": 1, "c": 1})
    with pytest.raises(measure.Disagreement):
        measure.must_agree({"a": 1, "b": 1, "c": 2})


def test_a_ratio_is_taken_turn_by_turn_and_a_single_measurement_is_held_against_every_turn() -> None:
    assert measure.ratio([10, 30, 20], [1, 2, 4]) == measure.Span(10, 5, 15, 3)
    assert measure.ratio([12], [1, 2, 3]) == measure.Span(6, 4, 12, 3)


def test_a_run_apart_says_what_it_took_in_time_and_memory() -> None:
    ran = giant.run_apart([5, 50, 2_000_000], 0.85, 1)
    assert ran.reached > 0.999
    assert ran.messages > 2_000_000 * 19
    assert 0.9 < ran.bytes_per_process < giant.BYTES_PER_PROCESS
    assert ran.took.wall_s > 0


def invoke(out: Path, *options: str) -> tuple[Result, dict[str, Any]]:
    done = CliRunner().invoke(run.command, ["--out", str(out), "--quick", *options])
    return done, json.loads((out / "bench.json").read_text())


def test_a_quick_run_at_tiny_sizes_writes_a_whole_result(tmp_path: Path) -> None:
    done, said = invoke(tmp_path, "--sizes", "50", "--sizes", "300", "--only", "spread", "--only", "machines")
    assert done.exit_code == 0, done.output
    assert said["agreed"] == 2 * len(run.CHECKED[0]) * len(run.CHECKED[1])
    assert [(each["processes"], each["success"]) for each in said["parts"]["spread"]] == [
        (50, 1.0), (50, 0.85), (300, 1.0), (300, 0.85),
    ]  # fmt: skip
    for each in said["parts"]["spread"]:
        assert set(each["taken"]) == {"kernel", "numpy", "naive"}
        for times in each["ratios"].values():
            assert 0 < times["low"] <= times["median"] <= times["high"]
    assert said["parts"]["machines"]["processes"] == 1110
    assert said["parts"]["machines"]["us_per_step"]["median"] > 0
    assert {"cpu", "cores", "python", "numpy", "numba"} <= set(said["machine"])
    assert {bar["met"] for bar in said["bars"]} == {None}  # none of them is about sizes like these
    told = (tmp_path / "bench.md").read_text()
    assert "| 300 |" in told
    assert "NOT met" not in told


def test_a_bar_that_is_missed_makes_the_verdict_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreads, "MILLION", 50)
    monkeypatch.setattr(spreads, "NUMPY_TIMES", 1e9)
    done, said = invoke(tmp_path, "--sizes", "50", "--only", "spread")
    assert done.exit_code == 1
    assert [bar["met"] for bar in said["bars"]][1] is False
    assert "NOT met" in done.output


@pytest.mark.slow
@pytest.mark.spark
def test_spark_and_a_plain_loop_do_the_same_trials() -> None:
    from benchmarks import sweeps

    told = sweeps.of_runs(20)
    assert [each.trials for each in told.sweeps] == [9 * 20, 9 * 1]
    assert all(each.spark_s > 0 < each.loop_s for each in told.sweeps)
