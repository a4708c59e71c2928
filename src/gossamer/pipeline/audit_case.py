"""What an audit is about: the traces that were found, and the folder its results go to, which is its own meanwhile."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer import __version__
from gossamer.core.errors import Misuse
from gossamer.pipeline.folders import make_folder
from gossamer.pipeline.quick_start import BRIEF_BYTES
from gossamer.pipeline.traces import Skipped, Source, find_segments
from gossamer.wire.values import Opener


class Case(Struct, frozen=True):
    """The segments there are to audit, and other files."""

    out: Path
    found: Sequence[Source]
    foreign: Sequence[Skipped]

    @property
    def brief(self) -> bool:
        """Whether it will be over within seconds."""
        return sum(source.size for source in self.found) <= BRIEF_BYTES

    def digest(self, opener: Opener | None) -> str:
        """Another one, if other segments are there, other attributes open, or this would not be calculated as it was:
        then what an earlier audit left half done is of no use."""
        opens = sorted(each.hex() for each in opener.opens) if opener else []
        told = blake2b(msgspec.json.encode((__version__, self.found, opens)), digest_size=16)
        for path in sorted(Path(__file__).parent.glob("audit*.py")):
            told.update(path.read_bytes())
        return told.hexdigest()


@contextlib.contextmanager
def opened(traces: Path, out: Path) -> Iterator[Case]:
    """Refused if there are no traces, `out` is no folder, or another audit is writing there."""
    check_folder(out)
    found, foreign = find_segments(traces, out)
    if not found:
        raise Misuse(f"there are no traces below {traces}: name the folder that the nodes write their traces to")
    with held(make_folder(out)):
        yield Case(out, found, foreign)


@contextlib.contextmanager
def following_in(traces: Path, out: Path) -> Iterator[None]:
    """The same, where traces are still to come."""
    check_folder(out)
    if not traces.is_dir():
        raise Misuse(f"{traces} is not a folder: name the one that the nodes write their traces to")
    with held(make_folder(out)):
        yield


def check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise Misuse(f"--out {out} is a file: name a folder")


@contextlib.contextmanager
def held(out: Path) -> Iterator[None]:
    """Nobody else may write results there meanwhile. The system lets go of it however the process ends."""
    handle = os.open(out, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misuse(
                f"another audit is writing to {out}: wait until it is done, or name another folder with --out"
            ) from None
        yield
    finally:
        os.close(handle)
