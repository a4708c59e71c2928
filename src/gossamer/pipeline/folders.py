"""Folders that results go to: made, and looked at, before anything long is begun."""

import os
from pathlib import Path

from gossamer.core.errors import Misuse


def make_folder(folder: Path) -> Path:
    """The folder, there and writable. Spark would say much later, and of a file nobody knows, that it is not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise Misuse(f"cannot make the folder {folder}: {wrong.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Misuse(f"cannot write to the folder {folder}: make it writable, or name another")
    return folder
