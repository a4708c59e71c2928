"""gossamer replay: what is the same, what is not, and what could not be read."""

import json
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.running import gossamer, script
from gossamer.wire.journal import Entry
from sim.journals import changed, lived, write

journal = cache(lived)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The journals of two nodes."""
    for peer in (1, 2):
        write(tmp_path / f"node-{peer}.journal", peer, journal()[peer])
    return tmp_path


def steps(*peers: int) -> int:
    return sum(len(journal()[peer]) for peer in peers)


def another(entry: Entry) -> Entry:
    return replace(entry, digest=b"12345678", effects=(entry.effects or 0) + 3)


def diverging(folder: Path, at: int = 2) -> Path:
    return write(folder / "node-1.journal", 1, changed(journal()[1], at, another))


def test_journals_that_replay_are_counted_and_the_exit_code_is_0(folder: Path) -> None:
    told = gossamer("replay", folder)
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.endswith(f"{steps(1, 2):,} steps of 2 lives replayed: every effect is the same.\n")
    rows = [line.split() for line in told.stdout.splitlines() if line.strip().startswith("node-")]
    assert [[row[0], row[-2], row[-1]] for row in rows] == [
        ["node-1", f"{steps(1):,}", "0"],
        ["node-2", f"{steps(2):,}", "0"],
    ]


def test_a_divergence_is_shown_with_its_step_its_given_and_what_came_now(folder: Path) -> None:
    diverging(folder)
    told = gossamer("replay", folder)
    assert (told.exit_code, told.stderr) == (1, "")
    assert "node-1: step 2 at 1970-01-01 00:00:00.000000 diverges" in told.stdout
    assert "given  Subscribe(topic='.soccer.italy', where='', since_us=0)" in told.stdout
    then, now = (journal()[1][1].effects or 0) + 3, journal()[1][1].effects
    assert f"then   {then} effects\n  now    {now} effects\n         " in told.stdout
    assert "SetTimer(after_us=" in told.stdout
    assert f"{steps(1, 2):,} steps of 2 lives replayed: 1 differs." in told.stdout


def test_journals_of_another_version_are_said_to_be_when_they_differ(folder: Path) -> None:
    write(folder / "node-1.journal", 1, changed(journal()[1], 2, another), gossamer="0.0.7")
    assert "It was written by Gossamer 0.0.7, this is " in gossamer("replay", folder).stdout


def test_as_json_everything_is_there(folder: Path) -> None:
    diverging(folder)
    told = gossamer("replay", folder / "node-1.journal", "--json")
    assert told.exit_code == 1
    data = json.loads(told.stdout)
    assert (data["steps"], data["divergences"], data["identical"]) == (steps(1), 1, False)
    (life,) = data["lives"]
    assert (life["name"], life["node"], life["divergences"]) == ("node-1", 1, 1)
    first = life["first"]
    assert (first["step"], first["at_us"]) == (2, 0)
    assert first["given"] == {"is": "Subscribe", "topic": ".soccer.italy", "where": "", "since_us": 0}
    assert first["then"]["effects"] == len(first["now"]["effects"]) + 3
    assert {"Send", "SetTimer", "Note"} >= {effect["is"] for effect in first["now"]["effects"]}
    timers = [effect["timer"]["is"] for effect in first["now"]["effects"] if effect["is"] == "SetTimer"]
    assert "AnswerDue" in timers


def test_one_node_may_be_asked_for(folder: Path) -> None:
    told = gossamer("replay", folder, "--node", "node-2")
    assert told.exit_code == 0
    assert f"{steps(2):,} steps of 1 life replayed" in told.stdout
    missing = gossamer("replay", folder, "--node", "node-9")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert missing.stderr == "gossamer: there is no journal of node-9: there are some of node-1, node-2\n"


def test_until_shows_the_step_it_stops_after(folder: Path) -> None:
    told = gossamer("replay", folder, "--node", "node-1", "--until", 2)
    assert told.exit_code == 0
    assert "node-1: step 2 at 1970-01-01 00:00:00.000000 is the last one replayed" in told.stdout
    assert "given  Subscribe(topic='.soccer.italy', where='', since_us=0)" in told.stdout
    assert "2 steps of 1 life replayed" in told.stdout
    data = json.loads(gossamer("replay", folder, "--node", "node-1", "--until", 2, "--json").stdout)
    assert data["lives"][0]["last"]["step"] == 2
    assert gossamer("replay", diverging(folder, 5), "--until", 4).exit_code == 0


def test_a_long_given_is_cut_and_many_effects_are_counted(folder: Path) -> None:
    told = gossamer("replay", diverging(folder, next_carry()), "--until", next_carry())
    assert all(len(line) < 450 for line in told.stdout.splitlines())


def next_carry() -> int:
    return next(i for i, each in enumerate(journal()[1], 1) if each.kind == "Publish")


def test_torn_and_foreign_files_are_named_and_the_rest_is_replayed(folder: Path) -> None:
    path = folder / "node-1.journal"
    path.write_bytes(path.read_bytes()[:-3])
    (folder / "other.journal").write_bytes(b"something else")
    told = gossamer("replay", folder)
    assert told.exit_code == 0
    foreign, torn = told.stderr.splitlines()
    assert foreign == f"gossamer: {folder / 'other.journal'}: not a journal"
    assert torn.startswith(f"gossamer: {path}: torn: ")
    assert "every effect is the same" in told.stdout
    data = json.loads(gossamer("replay", folder, "--json").stdout)
    assert [Path(each["file"]).name for each in data["skipped"]] == ["other.journal", "node-1.journal"]


def test_a_step_that_raised_then_and_now_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gossamer.core.stack import Stack

    monkeypatch.setattr(Stack, "step", lambda self, given, now_us: 1 // 0)
    raised = [replace(each, effects=None, digest=b"", error="ZeroDivisionError: then") for each in journal()[1][:2]]
    told = gossamer("replay", write(folder / "node-1.journal", 1, raised), "--until", 2)
    assert told.exit_code == 0
    assert "node-1: 2 steps raised then and raised the same now" in told.stdout
    assert "then   it raised ZeroDivisionError: then" in told.stdout
    assert "now    it raised ZeroDivisionError: integer division or modulo by zero" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere does not exist: name journals, or a folder with some"),
        (["."], 'there is no journal in .: a node writes one if its settings say trace.level = "journal"'),
    ],
)
def test_where_there_is_no_journal_the_exit_code_is_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = gossamer("replay", *arguments)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith(f"gossamer: {says}")


def test_a_life_without_its_beginning_cannot_be_replayed(tmp_path: Path) -> None:
    write(tmp_path / "late.journal", 1, journal()[1][50:], step=50)
    told = gossamer("replay", tmp_path)
    assert (told.exit_code, told.stdout) == (2, "")
    missing, refused = told.stderr.splitlines()
    assert missing.endswith("late.journal: 50 steps before it are missing")
    assert refused == "gossamer: nothing could be replayed: a life is replayed from its first file on"


def test_nothing_heavy_is_loaded(folder: Path) -> None:
    asked = script(
        "import sys\nfrom gossamer.cli import main\nmain(sys.argv[1:], standalone_mode=False)\n"
        "print([name for name in ('numpy', 'numba', 'pyspark', 'cryptography', 'asyncio') if name in sys.modules])",
        "replay",
        folder,
    )
    assert asked.stderr == ""
    assert asked.stdout.splitlines()[-1] == "[]"
