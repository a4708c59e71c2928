"""Trials: identity, seeds, rows, the command that shows one again, and what becomes of one that fails."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from gossamer import __version__
from gossamer.cli import main
from gossamer.core.errors import SpecError
from gossamer.fast import engine as fast
from gossamer.lab import trial
from gossamer.lab.grid import Point, points
from gossamer.lab.rows import Outcome
from gossamer.lab.studies.communities.story import Story
from gossamer.lab.studies.communities.trials import messages_expected
from gossamer.lab.trial import command_of, point_id, run_or_report, run_trials, seed_of
from lab.samples import SMALL, SOURCE, communities, example, point, write


def small(changes: dict[str, Any] | None = None, **tables: Any) -> Point:
    return point({**SMALL, **(changes or {})}, **tables)


# Identity

ELSEWHERE = """
import msgspec, sys
from gossamer.lab.grid import points
from gossamer.lab.trial import point_id
print(point_id(points(msgspec.json.decode(sys.stdin.read()), "mine.toml")[0]))
"""


def test_a_points_id_is_the_same_in_every_process() -> None:
    raw = example({'params.".d"': {"links": 4}, 'network.".d"': {"success": 0.5}})
    ids = {point_id(points(raw, SOURCE)[0])}
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            input=msgspec.json.encode(raw),
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        )
        ids.add(ran.stdout.decode().strip())
    assert len(ids) == 1
    assert re.fullmatch("[0-9a-f]{16}", ids.pop())


DECISIVE: dict[str, dict[str, Any]] = {
    "seed": {"experiment.seed": 2},
    "protocol": {"experiment.protocol": "gossip", "params": {}},
    "engine": {"experiment.engine": "machine"},
    "a size": {'topics.".d"': {"size": 101}},
    "a topic more": {'topics.".e"': {"size": 5}},
    "a parent": {'topics.".e"': {"size": 5, "parents": [".d"]}},
    "a parameter": {"params.electors": 6},
    "a preset": {"params.preset": "damulticast"},
    "a topic's parameter": {'params.".d"': {"electors": 6}},
    "the network": {"network.success": 0.9},
    "the network upwards": {"network.success_up": 0.9},
    "a topic's network": {'network.".d"': {"success": 0.9}},
    "the fault model": {"faults.kind": "dynamic"},
    "the share of faults": {"faults.fraction": 0.31},
    "where is published": {"publish.topic": ".d"},
    "how many events": {"publish.events": 2},
    "the chance to climb": {"publish.climb": 0.5},
}


def test_an_id_changes_with_anything_that_decides_the_result() -> None:
    ids = {what: point_id(point(changes)) for what, changes in DECISIVE.items()}
    ids["nothing"] = point_id(point())
    assert len(set(ids.values())) == len(ids)


def test_an_id_changes_with_the_order_of_topics_since_processes_are_numbered_in_it() -> None:
    raw = example(SMALL)
    turned = {**raw, "topics": dict(reversed(raw["topics"].items()))}
    one, other = (points(each, SOURCE)[0] for each in (raw, turned))
    assert [each.reached for each in run_trials(one, range(5), SOURCE)] != [
        each.reached for each in run_trials(other, range(5), SOURCE)
    ]
    assert point_id(one) != point_id(other)


def test_an_id_changes_with_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = point_id(point())
    monkeypatch.setattr(trial, "__version__", "99.0")
    assert point_id(point()) != before


@pytest.mark.parametrize(
    "changes",
    [{"experiment.name": "other"}, {"experiment.about": "said differently"}, {"experiment.runs": 5}],
    ids=["name", "about", "runs"],
)
def test_an_id_does_not_change_with_what_decides_nothing(changes: dict[str, Any]) -> None:
    assert point_id(point(changes)) == point_id(point())


def test_an_id_does_not_depend_on_how_a_point_was_come_by() -> None:
    swept = points(example(sweep={"faults.fraction": [0.1, 0.3]}), SOURCE)[1]
    case = points(example(cases={"a": {"faults.fraction": 0.3}}), SOURCE)[0]
    figures = [{"name": "f", "title": "t", "metric": "reception"}]
    assert point_id(swept) == point_id(case) == point_id(point()) == point_id(point(figures=figures))


# Seeds


def test_every_run_has_its_own_seed_and_every_table_format_holds_it() -> None:
    seeds = {seed_of(seed, run) for seed in range(20) for run in range(500)}
    assert len(seeds) == 20 * 500
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_runs_seed_is_the_same_in_every_version() -> None:
    assert [seed_of(1, 0), seed_of(1, 1), seed_of(2, 0)] == [
        *(6074981908523661564, 5022464887443543962, 3655478425796929308)
    ]


# Rows


def test_there_is_a_row_per_run_event_and_community() -> None:
    rows = run_trials(small({"publish.events": 2}), [3, 0], SOURCE)
    assert [(row.event, row.run, row.group) for row in rows] == [
        (event, run, group) for event in (0, 1) for run in (3, 0) for group in (".", ".d", ".d.g")
    ]


def test_several_chances_to_climb_are_several_events_of_one_run() -> None:
    rows = run_trials(point({**SMALL, "publish.climb": [0.0, 1.0], "publish.events": 2}), [0], SOURCE)
    bottom = [row for row in rows if row.group == ".d.g"]
    assert [(row.event, row.climb) for row in bottom] == [(0, 0.0), (1, 1.0), (2, 0.0), (3, 1.0)]
    assert [row.sent_up > 0 for row in bottom] == [False, True, False, True]
    assert {row.climb for row in run_trials(point({**SMALL, "publish.climb": 0.5}), [0], SOURCE)} == {None}


def test_a_row_says_what_it_is_about() -> None:
    made = small()
    root, middle, bottom = run_trials(made, [4], SOURCE)
    for row in (root, middle, bottom):
        assert row.trial == f"{point_id(made)}-4"
        assert (row.point, row.run, row.seed) == ("{}", 4, seed_of(1, 4))
        assert row.version == __version__
        assert row.command == "gossamer simulate mine.toml --run 4"
        assert row.error is None
    assert [row.size for row in (root, middle, bottom)] == [4, 12, 30]
    assert [row.live for row in (root, middle, bottom)] == [4 - 1, 12 - 4, 30 - 9]
    assert [row.home for row in (root, middle, bottom)] == [False, False, True]
    assert [row.climbs for row in (root, middle, bottom)] == [False, True, True]
    assert bottom.sent_intra > 0
    assert bottom.parasites == root.parasites == 0
    assert root.memory == pytest.approx(3.0)


def test_both_engines_give_the_same_rows() -> None:
    changes = {"publish.events": 2, "publish.topic": ".d"}
    machine = run_trials(small(changes), range(5), SOURCE)
    kernel = run_trials(small({**changes, "experiment.engine": "kernel"}), range(5), SOURCE)
    assert [unnamed(row) for row in machine] == [unnamed(row) for row in kernel]


def unnamed(row: Outcome) -> dict[str, Any]:
    """A row without what names it."""
    return {
        key: value for key, value in msgspec.structs.asdict(row).items() if key not in ("trial", "point", "command")
    }


def test_a_run_is_the_same_alone_and_among_others() -> None:
    for engine in ("machine", "kernel"):
        made = small({"experiment.engine": engine})
        assert run_trials(made, [2], SOURCE) == [row for row in run_trials(made, range(5), SOURCE) if row.run == 2]


def test_where_nobody_was_reached_there_was_no_last_round() -> None:
    rows = run_trials(small({"publish.topic": ".d"}), range(3), SOURCE)
    for row in rows:
        assert (row.rounds_last is None) == (row.reached == 0)
    assert {row.rounds_last for row in rows if row.group == ".d.g"} == {None}


def test_nothing_happens_where_everybody_is_dead() -> None:
    rows = run_trials(small({"faults.fraction": 1.0}), range(3), SOURCE)
    assert {(row.live, row.reached, row.sent_intra, row.rounds_last) for row in rows} == {(0, 0, 0, None)}


def test_arrivals_are_left_open_where_a_kernel_does_not_count_them(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = run_trials(small({"experiment.engine": "kernel"}), range(5), SOURCE)
    monkeypatch.setattr(fast, "COUNT_ARRIVALS_UP_TO", 40)
    left_open = run_trials(small({"experiment.engine": "kernel"}), range(5), SOURCE)
    assert all(row.arrived is not None for row in counted)
    assert all(row.arrived is None for row in left_open)
    for one, other in zip(counted, left_open, strict=True):
        assert msgspec.structs.replace(one, arrived=None) == other
    assert all(row.arrived is not None for row in run_trials(small(), range(2), SOURCE))  # machines count always


def test_messages_expected_are_those_of_a_spread_that_reaches_everybody() -> None:
    assert messages_expected(communities()) == 1110 * 11
    assert messages_expected(communities({"publish.events": 3})) == 3 * 1110 * 11


def test_gossip_with_parameters_per_topic_is_refused_or_means_the_same_to_both_engines() -> None:
    params = {"fanout_extra": 0.0, ".d": {"fanout_extra": 2.0}}
    try:
        rows = [
            [unnamed(row) for row in run_trials(made, range(5), SOURCE)]
            for made in (
                small({"experiment.protocol": "gossip", "experiment.engine": engine}, params=params)
                for engine in ("machine", "kernel")
            )
        ]
    except SpecError:
        return
    assert rows[0] == rows[1]


# The command that shows a trial again


def retold(command: str) -> list[Outcome]:
    """What the command line says when told this."""
    program, *words = shlex.split(command)
    assert program == "gossamer"
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return list(msgspec.json.decode(result.output, type=Story).outcomes)


def told_again(made: Point, run: int, source: str) -> None:
    assert retold(command_of(source, made, run)) == run_trials(made, [run], source)


SWEEP = {"faults.fraction": [0.0, 0.25], 'topics.".d".size': [5, 9], "publish.topic": [".d", ".d.g"]}
CASES = {
    "as it is": {},
    'in "quotes" & odd': {"network.success": 0.6, "params": {"preset": "live"}},
    "bare": {"experiment.protocol": "gossip", "params": {"preset": "multicast"}},
}


def test_the_command_of_every_point_shows_the_same_trial(tmp_path: Path) -> None:
    raw = example(SMALL, sweep=SWEEP)
    path = write(tmp_path, raw)
    for run, made in enumerate(points(raw, str(path))):
        told_again(made, run, str(path))


def test_the_command_of_every_case_shows_the_same_trial(tmp_path: Path) -> None:
    raw = example(SMALL, sweep={"faults.fraction": [0.0, 0.25]}, cases=CASES)
    path = write(tmp_path, raw)
    for run, made in enumerate(points(raw, str(path))):
        told_again(made, run, str(path))


def test_a_case_of_any_name_can_be_typed() -> None:
    odd = 'it\'s "quoted" & odd'
    (made,) = points(example(SMALL, cases={odd: {}}), SOURCE)
    assert shlex.split(command_of("my file.toml", made, 3)) == [
        *("gossamer", "simulate", "my file.toml", "--case", odd, "--run", "3")
    ]


def test_a_kernels_trial_is_shown_again_too(tmp_path: Path) -> None:
    raw = example({**SMALL, "experiment.engine": "kernel"}, sweep={"faults.fraction": [0.0, 0.25]})
    path = write(tmp_path, raw)
    told_again(points(raw, str(path))[1], 7, str(path))


def test_a_shipped_experiments_trial_is_shown_again() -> None:
    assert retold("gossamer simulate camcast/fig15 --set faults.fraction=0.3 --run 7 --engine kernel")[0].run == 7


@pytest.mark.parametrize("words", ["--set network.success=0.5", "--seed 9", "--engine kernel"])
def test_a_trial_chosen_on_the_command_line_is_shown_again(words: str, tmp_path: Path) -> None:
    path = write(tmp_path, example(SMALL))
    first = retold(f"gossamer simulate {path} {words} --run 2")
    again = retold(first[0].command)
    assert again == first


def test_a_field_both_swept_and_set_by_a_case_is_shown_again(tmp_path: Path) -> None:
    raw = example(SMALL, sweep={"network.success": [0.5]}, cases={"a": {"network.success": 1.0}})
    path = write(tmp_path, raw)
    told_again(points(raw, str(path))[0], 1, str(path))


def test_a_swept_table_is_shown_again(tmp_path: Path) -> None:
    raw = example(SMALL, sweep={"params": [{"preset": "live"}, {"fanout_extra": 1.0}]})
    path = write(tmp_path, raw)
    told_again(points(raw, str(path))[1], 1, str(path))


# Failures


def failing(runs: Sequence[int]) -> Any:
    whole = trial.run_trials

    def fails(made: Point, asked: Sequence[int], source: str, threads: int = 1) -> list[Outcome]:
        if set(asked) & set(runs):
            raise RuntimeError(f"no luck\nwith {sorted(set(asked) & set(runs))}")
        return whole(made, asked, source, threads)

    return fails


def test_a_trial_that_fails_becomes_a_row_and_spares_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small()
    alone = run_trials(made, range(6), SOURCE)
    monkeypatch.setattr(trial, "run_trials", failing([1, 4]))
    rows = run_or_report(made, range(6), SOURCE)
    assert [row for row in rows if row.error is None] == [row for row in alone if row.run not in (1, 4)]
    wrong = [row for row in rows if row.error is not None]
    assert [(row.run, row.trial, row.seed) for row in wrong] == [
        (run, f"{point_id(made)}-{run}", seed_of(1, run)) for run in (1, 4)
    ]
    assert wrong[0].error == "RuntimeError: no luck\nwith [1]"
    assert shlex.split(wrong[0].command) == ["gossamer", "simulate", "mine.toml", "--run", "1"]
    assert (wrong[0].group, wrong[0].arrived, wrong[0].rounds_last) == (None, None, None)
    assert wrong[0].point == made.name


def test_when_nothing_fails_nothing_is_reported() -> None:
    assert run_or_report(small(), range(4), SOURCE) == run_trials(small(), range(4), SOURCE)


def test_a_stop_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*given: Any) -> list[Outcome]:
        raise KeyboardInterrupt

    monkeypatch.setattr(trial, "run_trials", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_or_report(small(), range(4), SOURCE)
