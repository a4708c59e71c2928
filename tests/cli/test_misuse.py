"""Bad input is answered in one sentence that says what is wrong, with exit code 2."""

from pathlib import Path

import pytest

from cli.running import SPEC, gossamer, written

CHANGES = {
    "unknown protocol": ('protocol = "flood"', 'protocol = "shout"', "there is no 'shout'; use camcast, "),
    "protocol that spreads nothing": ('protocol = "flood"', 'protocol = "scamp"', "scamp does not spread events"),
    "cyclic parents": ('"." = {size = 2}', '"." = {size = 2}\n".a" = {size = 1, parents = [".b"]}\n'
                       '".b" = {size = 1, parents = [".a"]}', "topics include each other in a circle: .b → .a → .b"),
    "negative size": ("size = 12", "size = -12", "size must be between 0 and 2,147,483,648, not -12"),
    "fraction above 1": ("fraction = 0.25", "fraction = 1.5", "faults.fraction must be between 0 and 1, not 1.5"),
    "sweep of an unknown field": ('"network.success"', '"network.sucess"', "sucess"),
    "sweep of an unknown table": ('"network.success"', '"weather.wind"', "weather"),
    "bad TOML": ("[topics]", "[topics", "is not TOML: "),
    "missing table": ("[publish]\ntopic", "[nothing]\ntopic", "nothing"),
    "text for a number": ("runs = 3", 'runs = "many"', "runs"),
}  # fmt: skip


def assert_refused(says: str, *arguments: object) -> None:
    refused = gossamer(*arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("gossamer: ")
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.endswith("\n")
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(("old", "new", "says"), CHANGES.values(), ids=CHANGES)
def test_a_wrong_file_is_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert SPEC.count(old) == 1
    path = written(tmp_path, SPEC.replace(old, new))
    assert_refused(says, "simulate", path)
    assert_refused(says, "sweep", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_read_is_refused_with_what_could_have_been(tmp_path: Path) -> None:
    for command in (["simulate"], ["sweep", "--out", tmp_path / "out"]):
        assert_refused(
            "cannot read nowhere.toml (No such file or directory): give a path, or a name that `gossamer ",
            *command,
            "nowhere.toml",
        )
        assert_refused("Is a directory", *command, tmp_path)
    (tmp_path / "noise.toml").write_bytes(bytes(range(256)))
    assert_refused("is not text: an experiment file is TOML", "simulate", tmp_path / "noise.toml")


def test_an_out_that_is_a_file_is_refused_before_spark_is_started(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = ("--out", tmp_path / "file")
    assert_refused("file is a file: name a folder", "sweep", written(tmp_path), *out)
    assert_refused("file is a file: name a folder", "sweep", written(tmp_path), *out, "--dry-run")
    assert_refused("file is a file: name a folder", "demo", *out)
    assert_refused("Not a directory", "reproduce", "camcast", *out)


def test_an_unknown_case_is_refused_with_those_there_are(tmp_path: Path) -> None:
    assert_refused('--case "wet": the experiment has "calm", "stormy"', "simulate", written(tmp_path), "--case", "wet")
    assert_refused('--case "wet": the experiment has no cases', "simulate", "flood/neighbours", "--case", "wet")


def test_an_unknown_paper_is_refused_with_those_there_are(tmp_path: Path) -> None:
    known = "damulticast, camcast, epidemic, spidercast, hpmcast, comparison, all"
    says = f"there is no paper 'ieee' to reproduce: choose one of {known}"
    assert_refused(says, "reproduce", "ieee", "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("faults.fraction", "--set faults.fraction: write FIELD=VALUE, like faults.fraction=0.3"),
        ("faults.fraction=1.5", "faults.fraction must be between 0 and 1, not 1.5"),
        ("faults.fractoin=0.3", "fractoin"),
        ("=3", "is not a field name"),
        ("two words=3", "is not a field name"),
        ("experiment.name.first=3", "names no field"),
        ("experiment=3", ""),
        ("sweep=3", ""),
        ("cases=3", ""),
    ],
)
def test_a_wrong_setting_is_refused(setting: str, says: str, tmp_path: Path) -> None:
    assert_refused(says, "simulate", written(tmp_path), "--set", setting)


@pytest.mark.parametrize("master", ["yarrn", "local-cluster", "mesos://host:1"])
def test_what_is_no_master_is_refused(master: str, tmp_path: Path, no_spark: None) -> None:
    says = f"{master!r} is not a Spark master: use "
    assert_refused(says, "sweep", written(tmp_path), "--out", tmp_path / "out", "--master", master)


def test_a_master_that_does_not_answer_is_not_misuse(tmp_path: Path, no_spark: None) -> None:
    away = gossamer("sweep", written(tmp_path), "--out", tmp_path / "out", "--master", "spark://127.0.0.1:1")
    assert (away.exit_code, away.stdout) == (1, "")
    assert away.stderr.startswith("gossamer: No Spark master answers at spark://127.0.0.1:1: ")
    assert away.stderr.count("\n") == 1


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no test had started a session."""
    from gossamer.pipeline import session

    monkeypatch.setattr(session, "running_session", lambda: None)


def test_an_empty_name_is_refused_for_what_is_not_durable_would_be_lost() -> None:
    assert_refused("--name is empty: name the subscription, or leave --name out", "subscribe", ".a", "--name", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["publish", ".a", "x", "--timeout", "nan"],
            "nan is no number: give one like 2.5 (see `gossamer publish --help`)",
        ),
        (["subscribe", ".a", "--timeout", "inf"], "inf is no number"),
        (["subscribe", ".a", "--count", "0"], "0 is not in the range x>=1 (see `gossamer subscribe --help`)"),
        (["demo", "--loss", "nan"], "nan is no number"),
        (["demo", "--los", "0.1"], "No such option"),
        (["publish"], "Missing argument"),
        (["keys", "grnat"], "No such command 'grnat'"),
        (["dance"], "No such command 'dance'"),
        (["simulate", "flood/neighbours", "--run", "-1"], "'--run': -1 is not in the range x>=0"),
        (["simulate", "flood/neighbours", "--engine", "steam"], "'steam' is not one of 'kernel'"),
        (["sweep", "flood/neighbours"], "Missing option '--out'"),
        (["sweep", "flood/neighbours", "--out", "out", "--runs", "0"], "'--runs': 0 is not in the range x>=1"),
        (["reproduce", "camcast", "--out", "out", "--runs", "1"], "'--runs': 1 is not in the range x>=2"),
    ],
)
def test_wrong_words_on_the_command_line_are_answered_in_one_sentence(arguments: list[str], says: str) -> None:
    assert_refused(says, *arguments)
