"""One trial, told round by round."""

from typing import Any

import pytest

from gossamer.fast import engine as fast
from gossamer.lab.studies.communities.story import Story, tell
from gossamer.lab.trial import run_trials
from lab.samples import SMALL, SOURCE, point


def story(changes: dict[str, Any] | None = None, run: int = 3) -> Story:
    return tell(point({**SMALL, **(changes or {})}), run, SOURCE)


@pytest.mark.parametrize("engine", ["machine", "kernel"])
@pytest.mark.parametrize("fault", ["stillborn", "dynamic"])
def test_everybody_reached_is_told_of_once(engine: str, fault: str) -> None:
    for run in range(10):
        told = story({"experiment.engine": engine, "faults.kind": fault}, run)
        assert told.groups == (".", ".d", ".d.g")
        assert [sum(heard) for heard in zip(*told.rounds, strict=True)] == [each.reached for each in told.outcomes]


@pytest.mark.parametrize("engine", ["machine", "kernel"])
def test_it_begins_with_the_publisher_and_ends_with_the_last_reached(engine: str) -> None:
    told = story({"experiment.engine": engine})
    assert told.rounds[0] == (0, 0, 1)
    assert sum(told.rounds[-1]) > 0
    assert len(told.rounds) - 1 == max(each.rounds_last or 0 for each in told.outcomes)
    for index, each in enumerate(told.outcomes):
        last = max((number for number, heard in enumerate(told.rounds) if heard[index]), default=None)
        assert each.rounds_last == last


def test_both_engines_tell_the_same_story() -> None:
    for run in range(5):
        machine, kernel = (story({"experiment.engine": engine}, run) for engine in ("machine", "kernel"))
        assert machine.rounds == kernel.rounds


def test_an_event_published_in_the_middle_does_not_go_down() -> None:
    told = story({"publish.topic": ".d"})
    assert all(heard[2] == 0 for heard in told.rounds)
    assert told.rounds[0] == (0, 1, 0)


def test_the_outcomes_are_those_of_the_trial() -> None:
    made = point(SMALL)
    assert list(tell(made, 2, SOURCE).outcomes) == run_trials(made, [2], SOURCE)


@pytest.mark.parametrize("engine", ["machine", "kernel"])
def test_where_everybody_is_dead_there_is_nothing_to_tell(engine: str) -> None:
    told = story({"experiment.engine": engine, "faults.fraction": 1.0})
    assert told.rounds == ()
    assert [each.live for each in told.outcomes] == [0, 0, 0]


def test_a_kernel_tells_the_same_with_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = point({**SMALL, "experiment.engine": "kernel"})
    alone = tell(made, 1, SOURCE)
    monkeypatch.setattr(fast, "threads_for", lambda processes: 2)
    assert tell(made, 1, SOURCE) == alone


def test_of_several_events_the_first_is_told_and_all_are_counted() -> None:
    one, three = story(), story({"publish.events": 3})
    assert three.rounds == one.rounds
    assert [each.event for each in three.outcomes] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [each.reached for each in three.outcomes[:3]] == [each.reached for each in one.outcomes]
