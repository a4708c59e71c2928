"""How the processes of a run talk: one line each, a word and a value in JSON."""

import os
from typing import Any

import msgspec


def line(word: str, value: Any = None) -> bytes:
    return word.encode() + b" " + msgspec.json.encode(value) + b"\n"


def parsed(text: bytes) -> tuple[str, Any] | None:
    """None for anything else: a library may print what it likes."""
    word, _, value = text.strip().partition(b" ")
    try:
        return word.decode(), msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def say(word: str, value: Any = None) -> None:
    """To whoever started this process. One write, so that lines of several threads do not mix."""
    os.write(1, line(word, value))
