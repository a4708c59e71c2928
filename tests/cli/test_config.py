"""gossamer config: a node's settings, before it starts."""

import json
import tomllib
from pathlib import Path

import pytest

from cli.running import gossamer
from gossamer.cli.config import toml
from gossamer.live.config.config import Config, load
from gossamer.live.keys.network import Network

TEXT = """
name = "node-7"
keys = "keys"
bind = "0.0.0.0:7400"
advertise = ["node-7.example:7400"]
seeds = ["seed.example:7400"]
subscribe = [".soccer"]
publish = [".soccer.italy"]

[spool]
folder = "spool"
durability = "disk"

[trace]
folder = "traces"

[topics.".soccer.italy"]
electors = 12

[recovery_topics.".soccer.italy"]
expiry_us = 5000000

[hierarchy]
parents = {".soccer.italy" = [".italy"]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    net = Network.init(tmp_path / "net")
    net.grant("node-7", ["."], ["."])
    net.folder_of("node-7").rename(tmp_path / "keys")
    path = tmp_path / "node.toml"
    path.write_text(TEXT)
    return path


def test_a_fine_file_is_answered_in_one_line_that_says_what_will_happen(file: Path) -> None:
    said = gossamer("config", "check", file)
    assert (said.exit_code, said.stderr) == (0, "")
    folder = file.parent
    assert said.stdout == (
        f"{file} is fine: node-7 takes calls at 0.0.0.0:7400, with TLS, joins through seed.example:7400, "
        f"subscribes to .soccer, publishes on .soccer.italy, spools to {folder / 'spool'} (disk), "
        f"traces deliveries to {folder / 'traces'}, serves metrics at 127.0.0.1:0.\n"
    )


def test_a_node_that_was_told_little_says_what_it_will_not_do(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text('name = "n"\n[metrics]\nbind = "off"')
    said = gossamer("config", "check", tmp_path / "small.toml")
    assert said.stdout.endswith(
        "is fine: n takes calls at 127.0.0.1:7400, without keys, so on this machine only, waits for others (no seeds), "
        "subscribes to nothing by itself, spools in memory, leaves no traces, serves no metrics.\n"
    )


def test_what_variables_and_flags_changed_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_TRACE__LEVEL", "off")
    said = gossamer("config", "check", file, "--set", "spool.durability=process")
    assert said.stdout.startswith(f"{file} (with --set spool.durability, GOSSAMER_TRACE__LEVEL) is fine: ")
    assert "(process), leaves no traces" in said.stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('keys = "keys"', "", "bind is 0.0.0.0:7400, which other machines can reach, but without keys"),
        ("durability", "durabilty", "there is no field spool.durabilty; did you mean spool.durability?"),
        ("[spool]", "[spool", "is not TOML: "),
    ],
)
def test_a_wrong_file_is_answered_in_one_sentence(old: str, new: str, says: str, file: Path) -> None:
    file.write_text(TEXT.replace(old, new))
    for command in ("check", "show"):
        said = gossamer("config", command, file)
        assert (said.exit_code, said.stdout, said.stderr.count("\n")) == (2, "", 1)
        assert said.stderr.startswith(f"gossamer: {file}")
        assert says in said.stderr


def test_keys_that_are_missing_or_anothers_or_do_not_allow_it_are_told(file: Path, tmp_path: Path) -> None:
    missing = gossamer("config", "check", file, "--set", "keys=nowhere")
    assert (missing.exit_code, "nowhere" in missing.stderr, missing.stderr.count("\n")) == (2, True, 1)
    assert "are those of 'node-7'" in gossamer("config", "check", file, "--set", "name=node-8").stderr
    net = Network(tmp_path / "net")
    net.grant("node-9", [".soccer"], [".tennis"])
    said = gossamer("config", "check", file, "--set", f"keys={net.folder_of('node-9')}", "--set", "name=")
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr == (
        f"gossamer: subscribe names .soccer, which the grant in {net.folder_of('node-9')} does not cover: "
        "make one with `gossamer keys grant NET --node node-9 --subscribe .soccer`\n"
    )


def test_a_dispatcher_says_so_and_its_grant_must_cover_the_community(file: Path, tmp_path: Path) -> None:
    dispatching = ("--set", "spread=dispatch", "--set", "faults.loss=0.3")
    said = gossamer("config", "check", file, *dispatching)
    assert "publishes on .soccer.italy, dispatches by content for all of ., loses 30% of what it hears" in said.stdout
    net = Network(tmp_path / "net")
    net.grant("node-9", [".soccer"], [".soccer"])
    said = gossamer("config", "check", file, *dispatching, "--set", f"keys={net.folder_of('node-9')}", "--set", "name=")
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr.startswith("gossamer: community names ., which the grant in ")


def test_a_dispatcher_has_no_topics_outside_its_community(file: Path) -> None:
    said = gossamer("config", "check", file, "--set", "spread=dispatch", "--set", "community=.stocks")
    assert said.exit_code == 2
    assert "subscribe names .soccer, which does not lie below .stocks, as community says" in said.stderr


def test_a_membership_by_an_overlay_is_told(file: Path) -> None:
    said = gossamer("config", "check", file, "--set", "membership=structured")
    assert "finds members by structured membership, " in said.stdout


def test_a_participant_of_a_hierarchy_says_where_it_lives(file: Path) -> None:
    said = gossamer("config", "check", file, "--set", "spread=hpmcast", "--set", "hpmcast.address=127.0.0.1.9")
    assert "lives at 127.0.0.1.9 of a hierarchy for all of ., " in said.stdout


def test_a_participant_lives_where_its_grant_says_and_nowhere_else(file: Path, tmp_path: Path) -> None:
    net = Network(tmp_path / "net")
    net.grant("node-9", [".soccer"], ["."], address="3.0.11")
    given = {"spread": "hpmcast", "hpmcast.branching": "[16, 16, 16]", "keys": net.folder_of("node-9"), "name": ""}
    arguments = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    said = gossamer("config", "check", file, *arguments)
    assert "lives at 3.0.11, as granted, of a hierarchy for all of ., " in said.stdout
    said = gossamer("config", "check", file, *arguments, "--set", "hpmcast.address=3.0.0")
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr == (
        "gossamer: hpmcast.address is 3.0.0, but this node was granted 3.0.11: leave it out, or have it granted with "
        "gossamer keys grant --address 3.0.0\n"
    )


def test_tables_for_another_spread_are_named(file: Path) -> None:
    settings = ("--set", "hpmcast.address=1.1", "--set", "upkeep.asks=3", "--set", "dispatch.degree=4")
    said = gossamer("config", "check", file, *settings)
    assert said.exit_code == 0
    assert said.stdout.endswith(
        'serves metrics at 127.0.0.1:0. [dispatch] changes nothing: it is for spread = "dispatch", and here that is '
        '"camcast". [hpmcast], [upkeep] change nothing: they are for spread = "hpmcast", and here that is "camcast".\n'
    )
    assert "[dispatch] change" not in gossamer("config", "check", file, *settings, "--set", "spread=dispatch").stdout


def test_a_setting_without_a_value_and_a_file_that_is_not_there_are_refused(file: Path, tmp_path: Path) -> None:
    said = gossamer("config", "check", file, "--set", "bind")
    assert (said.exit_code, said.stderr) == (
        2,
        "gossamer: --set bind: write FIELD=VALUE, like spool.folder=spool\n",
    )
    assert "write one with `gossamer config new" in gossamer("config", "check", tmp_path / "none.toml").stderr


def test_what_is_shown_can_be_used_instead_of_the_file_and_tells_who_said_what(file: Path, tmp_path: Path) -> None:
    shown = gossamer("config", "show", file, "--set", "limits.inbox_items=7").stdout
    assert f'name = "node-7"  # {file}\n' in shown
    assert "inbox_items = 7  # --set limits.inbox_items\n" in shown
    assert 'network = "default"\n' in shown
    (tmp_path / "elsewhere").mkdir()
    again = tmp_path / "elsewhere" / "again.toml"
    again.write_text(shown)
    assert load(again, {}) == load(file, {}, {"limits.inbox_items": 7})


def test_json_holds_every_setting(file: Path) -> None:
    shown = json.loads(gossamer("config", "show", file, "--json").stdout)
    assert list(shown) == list(Config.__struct_fields__)
    assert shown["spool"]["folder"] == str(file.parent / "spool")
    assert shown["topics"][".soccer.italy"]["electors"] == 12


def test_the_example_that_is_printed_is_fine(tmp_path: Path) -> None:
    printed = gossamer("config", "new")
    assert (printed.exit_code, printed.stderr) == (0, "")
    (tmp_path / "node.toml").write_text(printed.stdout)
    assert gossamer("config", "check", tmp_path / "node.toml").exit_code == 0


@pytest.mark.parametrize("command", ["check", "show", "new"])
def test_each_part_of_the_command_gives_an_example_of_itself(command: str) -> None:
    assert f"Example: gossamer config {command}" in gossamer("config", command, "--help").stdout


@pytest.mark.parametrize("text", ["plain", 'a "b"', "back\\slash", "💧 ü", "line\nbreak\ttab", "\x7f\x01"])
def test_any_text_survives_being_written_as_toml(text: str) -> None:
    assert tomllib.loads(f"value = {toml(text)}")["value"] == text
    assert tomllib.loads(f"value = {toml({text: (text, True, 2, 0.5)})}")["value"] == {text: [text, True, 2, 0.5]}
