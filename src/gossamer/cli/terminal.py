"""What commands say, made safe in one place: nothing that others wrote may steer a terminal or turn its text around.

Topics, names, attributes and errors come from the network. Letters that show nothing by themselves stand as `\\u202e`
does here; in JSON that is the same text, so it stays exact.
"""

import re
import sys
from typing import Any

import click
import msgspec

from gossamer.core.letters import UNSEEN

STEERING = re.compile(f"(?![\t\n])[{UNSEEN}]")
"Tabs and ends of lines are part of any text."


def safe(text: str) -> str:
    return STEERING.sub(_spelled, text)


def safe_json(text: str) -> str:
    """JSON as it may be shown: such letters stand in its strings only, and mean the same there."""
    return STEERING.sub(_escaped, text)


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped(found: re.Match[str]) -> str:
    """JSON knows letters beyond the first plane by two halves."""
    halves = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    click.echo(safe(text), err=err, nl=nl)


def say_json(value: Any, *, err: bool = False) -> None:
    click.echo(safe_json(msgspec.json.encode(value).decode()), err=err)


def write(line: str) -> None:
    """A line that is safe already, at once: whoever reads it may act on it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
