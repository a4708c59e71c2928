"""One run, told as a story; the experiments that are shipped; what a sweep would take."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from cli.running import gossamer, script, written
from gossamer.lab.spec import shipped

MACHINE = ("--engine", "machine")


def told(*arguments: object) -> dict[str, Any]:
    ran = gossamer("simulate", *arguments, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def test_a_run_is_told_round_by_round_and_summed_up(tmp_path: Path) -> None:
    ran = gossamer("simulate", written(tmp_path), *MACHINE)
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "tiny: A few processes." in ran.stdout
    assert "flood · 14 processes · run 0 · seed " in ran.stdout
    assert "at the first swept values: network.success = 0.5, params.neighbours = 2" in ran.stdout
    assert "Who heard of the event, round by round" in ran.stdout
    assert ran.stdout.splitlines()[-1].endswith("rounds; nobody received what it did not want.")


def test_the_story_as_json_adds_up(tmp_path: Path) -> None:
    story = told(written(tmp_path), *MACHINE, "--run", "2")
    assert story["groups"] == [".", ".news"]
    assert [each["reached"] for each in story["outcomes"]] == [sum(heard) for heard in zip(*story["rounds"])]
    assert {each["run"] for each in story["outcomes"]} == {2}


def test_the_command_of_an_outcome_shows_the_same_trial_again(tmp_path: Path) -> None:
    choices = ("--case", "stormy", "--set", "network.success=0.7", "--set", 'topics.".news".size=15', "--seed", "5")
    story = told(written(tmp_path), *MACHINE, *choices, "--run", "1")
    (command,) = {each["command"] for each in story["outcomes"]}
    name, simulate, *arguments = shlex.split(command)
    assert (name, simulate) == ("gossamer", "simulate")
    assert told(*arguments) == story
    assert story["outcomes"][1]["size"] == 15


def test_what_is_set_wins_over_a_case_and_over_the_sweep(tmp_path: Path) -> None:
    stormy = told(written(tmp_path), *MACHINE, "--case", "stormy")
    assert stormy["outcomes"][1]["live"] == 6
    calm = told(written(tmp_path), *MACHINE, "--case", "stormy", "--set", "faults.fraction=0")
    assert calm["outcomes"][1]["live"] == 12
    all_heard = told(written(tmp_path), *MACHINE, "--set", "network.success=1.0", "--set", "params.neighbours=11")
    assert all_heard["outcomes"][1]["reached"] == all_heard["outcomes"][1]["live"] == 9


def test_both_engines_tell_the_same_run(tmp_path: Path) -> None:
    machine, kernel = (told(written(tmp_path), "--engine", engine) for engine in ("machine", "kernel"))
    assert machine["rounds"] == kernel["rounds"]


def test_a_shipped_experiment_goes_by_its_name() -> None:
    story = told("flood/neighbours", *MACHINE, "--set", 'topics.".news".size=20')
    assert story["outcomes"][0]["command"].startswith("gossamer simulate flood/neighbours --set ")


def test_ctrl_c_is_answered_in_one_sentence() -> None:
    interrupted = script(
        "import gossamer.lab.studies.communities.story as story\n"
        "def tell(*_, **__): raise KeyboardInterrupt\n"
        "story.tell = tell\n"
        "from gossamer.cli import main\n"
        "main(['simulate', 'flood/neighbours'])"
    )
    assert (interrupted.returncode, interrupted.stdout) == (130, "")
    assert interrupted.stderr == "gossamer: stopped\n"


# What is there, and what it would take


def test_every_shipped_experiment_is_listed() -> None:
    listed = json.loads(gossamer("experiments", "--json").stdout)
    assert [each["name"] for each in listed] == shipped()
    assert all(each["points"] >= 1 and each["runs"] >= 1 and each["about"] for each in listed)
    shown = gossamer("experiments").stdout
    assert all(name in shown for name in shipped())


def test_a_dry_run_says_what_a_sweep_would_take_and_leaves_nothing(tmp_path: Path) -> None:
    asked = ("sweep", written(tmp_path), "--out", tmp_path / "out", "--dry-run")
    ran = gossamer(*asked)
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("8 points, 24 trials (0 already finished), about ")
    estimate = json.loads(gossamer(*asked, "--runs", "5", "--json").stdout)
    assert (estimate["points"], estimate["trials"], estimate["finished"]) == (8, 40, 0)
    assert estimate["cpu_s"] > 0
    assert estimate["memory_bytes"] > 0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["machine", "kernel"])
def test_a_field_that_is_set_is_swept_no_more(engine: str, tmp_path: Path) -> None:
    asked = ("sweep", written(tmp_path), "--out", tmp_path / "out", "--dry-run", "--json")
    estimate = json.loads(gossamer(*asked, "--engine", engine, "--set", "network.success=0.7").stdout)
    assert estimate["points"] == 4
