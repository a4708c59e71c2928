"""Commands, run in this process or in one of their own."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from gossamer.cli import main

SPEC = """
[experiment]
name = "tiny"
protocol = "flood"
runs = 3
about = "A few processes."

[topics]
"." = {size = 2}
".news" = {size = 12}

[params]
neighbours = 3

[network]
success = 0.9

[faults]
kind = "stillborn"
fraction = 0.25

[publish]
topic = ".news"

[sweep]
"network.success" = [0.5, 1.0]
"params.neighbours" = [2, 3]

[cases.calm]

[cases.stormy]
"faults.fraction" = 0.5
"""


def gossamer(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def script(text: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """A Python of its own, with nothing imported yet."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def written(folder: Path, text: str = SPEC) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text)
    return path
