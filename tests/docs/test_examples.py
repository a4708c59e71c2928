"""What is shown first works: the examples, and everything on the front page."""

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click
import pytest

from docs.test_docs import REPO
from gossamer.cli import main
from gossamer.lab.grid import points
from gossamer.lab.spec import shipped

EXAMPLES = REPO / "examples"
README = (REPO / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line.strip()]
PATIENCE_S = 60.0

# The examples


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}


def printed_by(example: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / example],
        capture_output=True,
        env=environment(),
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_two_nodes_with_keys_talk_and_only_about_what_they_may() -> None:
    said = printed_by("two_nodes.py")
    assert said.startswith("bert read 'goal' on .soccer.italy, minute 88\nanna may not read: ")


def test_a_reader_of_stocks_gets_those_it_asked_for() -> None:
    said = printed_by("stocks.py").splitlines()
    assert said[:3] == ["IBM at 101.5", "SAP at 121.0", "filter, character 24: write == for equal"]


def test_goals_are_objects_and_a_derby_is_read_by_those_of_its_city() -> None:
    assert printed_by("goals.py") == "Derby: Roma in minute 88\nCity(name='Rome')\n"


@contextlib.asynccontextmanager
async def chatting(*arguments: str) -> AsyncIterator[Process]:
    """A person at the keyboard, who ends with Ctrl-D."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", EXAMPLES / "chat.py", *arguments, stdin=PIPE, stdout=PIPE, env=environment()
    )
    assert process.stdin is not None
    try:
        yield process
        process.stdin.close()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def reads(person: Process) -> str:
    assert person.stdout is not None
    return (await person.stdout.readline()).decode().rstrip("\n")


def writes(person: Process, line: str) -> None:
    assert person.stdin is not None
    person.stdin.write(f"{line}\n".encode())


def test_two_people_chat_without_a_server() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(PATIENCE_S), chatting("anna") as anna:
            address = (await reads(anna)).rpartition(" ")[2]
            async with chatting("bert", "--seed", address) as bert:
                await reads(bert)
                writes(bert, "anybody here?")
                assert await reads(anna) == ".chat.lobby bert: anybody here?"
                writes(anna, "yes")
                assert await reads(bert) == ".chat.lobby anna: yes"

    asyncio.run(scenario())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_experiment_among_the_examples_is_one(path: Path) -> None:
    assert points(tomllib.loads(path.read_text()), path.name)


# The front page


def test_the_front_page_s_experiment_is_the_example() -> None:
    (shown,) = (tomllib.loads(text) for language, text in BLOCKS if language == "toml")
    assert shown == tomllib.loads((EXAMPLES / "how-many-electors.toml").read_text())


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "python"])
def test_the_front_page_s_python_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(text, "README.md", "exec"), names)


@pytest.mark.parametrize("line", COMMANDS)
def test_the_front_page_s_commands_are_there(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (REPO / "Makefile").read_text(), re.MULTILINE)
    elif words[0] == "gossamer":
        words = words[1 : next((i for i, word in enumerate(words) if word in "&|>"), None)]
        command = main.get_command(click.Context(main), words[0])  # type: ignore[attr-defined]
        assert command is not None
        if words[1:]:
            spec = command.make_context(words[0], words[1:]).params.get("spec")
            assert spec is None or spec.endswith(".toml") or spec in shipped()


def test_the_front_page_s_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]*)[^)]*\)", README):
        assert (REPO / target).exists(), target
