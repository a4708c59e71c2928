"""What commands print: nothing that others wrote steers a terminal, and JSON means what it meant."""

import ast
import io
import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

import gossamer.cli
from gossamer.cli import main, subscribe
from gossamer.cli.console import SafeConsole
from gossamer.cli.node import JsonLines, Lines
from gossamer.cli.subscribe import Printer
from gossamer.cli.terminal import STEERING, safe, safe_json, say
from gossamer.core.errors import TransportDown
from gossamer.core.ids import EventId
from gossamer.live.reading.deliveries import Delivery, Gap

ODD = "a\x1b[2Jb\x9bc\u202ed\x7fe\rf\U000e0041g"
COMMANDS = Path(gossamer.cli.__file__).parent


def event(payload: bytes = ODD.encode(), topic: str = f".soccer{ODD}") -> Delivery:
    attributes = {ODD: ODD, "plain": "é日"}
    return Delivery(id=EventId(1, 2, 3), topic=topic, payload=payload, attributes=attributes, place=1, hops=0)


@given(st.text())
def test_text_is_safe_and_what_was_safe_is_unchanged(text: str) -> None:
    made = safe(text)
    assert not STEERING.search(made)
    assert made == safe(made)
    assert made == text or STEERING.search(text)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_is_safe_and_says_the_same(value: object) -> None:
    for indent in (None, 1):
        made = safe_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert not STEERING.search(made)
        assert json.loads(made) == value


def test_an_event_is_printed_without_steering_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(as_json=False).show(event())
    Printer(as_json=False).show(event(b"plain text", ".soccer.\u65e5"))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("." + r"soccera\u001b[2Jb\u009bc\u202ed\u007fe\u000df\U000e0041g  base64:")
    assert second.startswith(".soccer.\u65e5  plain text  ")
    assert second.endswith('plain="é日"')
    assert not STEERING.search(first + second)


def test_an_event_in_json_is_safe_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(as_json=True).show(event())
    line = capsys.readouterr().out.removesuffix("\n")
    assert not STEERING.search(line)
    assert "é日" in line
    read = json.loads(line)
    assert (read["topic"], read["attributes"]) == (f".soccer{ODD}", {ODD: ODD, "plain": "é日"})


@pytest.mark.parametrize("as_json", [False, True])
def test_a_gap_is_told_safely(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    Printer(as_json).show(Gap(2, ODD, f".soccer{ODD}", 1))
    said = capsys.readouterr().err
    assert said
    assert not STEERING.search(said)


def test_an_error_that_quotes_a_peer_is_told_safely(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TransportDown(f"the node says {ODD}")

    monkeypatch.setattr(subscribe, "attachment", fail)
    answered = CliRunner().invoke(main, ["subscribe", ".soccer"])
    assert answered.exit_code == 1
    assert answered.stderr.startswith("gossamer: the node says a")
    assert not STEERING.search(answered.stderr)


def test_a_table_shows_others_names_safely_and_its_own_colours() -> None:
    table = Table("[bold]node[/]")
    table.add_row(ODD)
    shown = io.StringIO()
    SafeConsole(file=shown, force_terminal=True, width=120, color_system="standard").print(table)
    text = shown.getvalue()
    assert r"a\u001b[2Jb\u009bc\u202ed" in text
    assert "\x1b[1m" in text
    assert not set("\x9b\u202e") & set(text)


@pytest.mark.parametrize("lines", [Lines("%(message)s"), JsonLines()])
def test_what_a_node_logs_of_its_peers_is_safe(lines: logging.Formatter) -> None:
    said = lines.format(logging.LogRecord("gossamer", logging.INFO, "", 1, "%s named %s", ("b", ODD), None))
    assert "b named a" in said
    assert not STEERING.search(said)


def test_a_letter_that_cannot_be_written_at_all_is_spelled(capsys: pytest.CaptureFixture[str]) -> None:
    say("half \ud800")
    assert capsys.readouterr().out == "half \\ud800\n"


@pytest.mark.parametrize("path", sorted(COMMANDS.glob("*.py")), ids=lambda path: path.name)
def test_commands_print_in_no_other_way(path: Path) -> None:
    if path.name in ("terminal.py", "console.py"):
        return
    ways = {"click.echo", "click.secho", "print", "Console", "sys.stdout.write", "sys.stderr.write"}
    calls = {ast.unparse(each.func) for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)}
    assert not calls & ways
