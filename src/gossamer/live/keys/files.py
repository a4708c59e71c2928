"""Files that hold keys: written whole or not at all, private where they must be, and every trouble in one sentence."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from gossamer.core.errors import Misuse

SIZE_MAX = 1 << 20
"No file of ours is nearly as long."
AUDIT_PUBLIC = "audit.pub"
"The public half of the key that audits, in the network's folder and among each node's keys."


def read(path: Path, size_max: int = SIZE_MAX) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(size_max + 1)
    except FileNotFoundError:
        raise Misuse(f"{path} is missing: is {path.parent} the right folder?") from None
    except OSError as wrong:
        raise Misuse(f"cannot read {path}: {wrong.strerror}") from None
    if len(data) > size_max:
        raise Misuse(f"{path} is too long to be what its name says")
    return data


def read_private(path: Path) -> bytes:
    """A file that nobody else may read; on systems without such modes this is not looked at."""
    if os.name == "posix" and path.exists() and path.stat().st_mode & 0o077:
        raise Misuse(f"{path} can be read by others: make it private with chmod 600 {path}")
    return read(path)


def write(path: Path, data: bytes, *, private: bool = False) -> None:
    """All of it or nothing, whatever happens meanwhile; on disk when this returns."""
    try:
        handle, made = mkstemp(prefix=f".{path.name}.", dir=path.parent)  # private from the start
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if not private:
                os.chmod(made, 0o644)
            os.replace(made, path)
            settle(path.parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(made)
            raise
    except OSError as wrong:
        raise Misuse(f"cannot write {path}: {wrong.strerror}") from None


def settle(folder: Path) -> None:
    """Names in a folder are its content: a file that was made or renamed is there after a power cut only if this, too,
    has reached the disk. (Not on Windows, which has no way to ask.)"""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """A folder for keys; one that is there already stays as it is."""
    try:
        if not path.is_dir():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            settle(path.parent)
    except FileExistsError:
        raise Misuse(f"{path} is a file: name a folder") from None
    except OSError as wrong:
        raise Misuse(f"cannot make {path}: {wrong.strerror}") from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One command at a time changes a folder; the next waits. (Not on Windows: there is no such lock.)"""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        handle = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as wrong:
        raise Misuse(f"cannot write in {folder}: {wrong.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
