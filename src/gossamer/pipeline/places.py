"""Places: where results go and tables come from, as URIs: on this machine, or wherever the session's Hadoop finds them.

A place without a scheme is on this machine, whatever file system the session takes for its default; asking what is
there needs no Spark. For every other place a session must be running: see `hadoop.py`. As with Hadoop, nothing in the
text of a place stands for something else: `%20` is three letters.
"""

import atexit
import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

from gossamer.core.errors import Misuse

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
"What a URI begins with. A name may have a colon too: only before a slash it ends a scheme."


class Entry(NamedTuple):
    """What a folder holds."""

    name: str
    size: int
    folder: bool


class LocalPlace:
    """A file or folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        """As it was named: that is how people know it."""
        return str(self.path)

    def __repr__(self) -> str:
        return f"Place({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalPlace | HadoopPlace) and self.uri == other.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    def __truediv__(self, inside: str) -> Self:
        return type(self)(self.path / inside)

    @property
    def uri(self) -> str:
        return f"file://{self.path.absolute()}"

    @property
    def local(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def parent(self) -> Self:
        return type(self)(self.path.parent)

    def exists(self) -> bool:
        return self.path.exists()

    def is_folder(self) -> bool:
        return self.path.is_dir()

    def entries(self) -> list[Entry]:
        """What a folder holds, by name; nothing if it is none."""
        found = list[Entry]()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.path) as there:
            for each in there:
                with contextlib.suppress(FileNotFoundError):  # gone meanwhile, or a link to nothing
                    found.append(Entry(each.name, each.stat().st_size, each.is_dir()))
        return sorted(found)

    def read(self) -> bytes:
        return self.path.read_bytes()

    def write(self, content: bytes) -> None:
        """All of it or nothing: whoever reads meanwhile finds what was there before."""
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.half")
        try:
            draft.write_bytes(content)
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)

    def make(self) -> Self:
        """The folder, there and writable. Spark would say much later, and of a file nobody knows, that it is not."""
        if self.path.exists() and not self.path.is_dir():
            raise Misuse(f"{self} is a file: name a folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as wrong:
            raise Misuse(f"cannot make the folder {self}: {wrong.strerror}") from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise Misuse(f"cannot write to the folder {self}: make it writable, or name another")
        return self

    def remove(self) -> None:
        """With all there is in it, if it is there."""
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self.path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def as_file(self) -> Iterator[Path]:
        """The file under a name that any program can open."""
        yield self.path

    @contextlib.contextmanager
    def filled(self) -> Iterator[Path]:
        """A folder on this machine; what a block puts there is at this place in the end."""
        yield self.make().path


class HadoopPlace:
    """A file or folder that the running session's Hadoop finds by its scheme."""

    def __init__(self, uri: str) -> None:
        from gossamer.pipeline.hadoop import HadoopFiles  # here: what is on this machine needs no Spark

        self.uri = uri.rstrip("/") if uri.count("/") > 3 else uri
        self.files = HadoopFiles(self.uri)

    def __str__(self) -> str:
        return self.uri

    __repr__, __eq__, __hash__ = LocalPlace.__repr__, LocalPlace.__eq__, LocalPlace.__hash__

    def __truediv__(self, inside: str) -> Self:
        return type(self)(inside if has_scheme(inside) else f"{self.uri.rstrip('/')}/{inside}")

    @property
    def local(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]

    @property
    def parent(self) -> Self:
        return type(self)(self.uri.rpartition("/")[0])

    def exists(self) -> bool:
        return self.files.exists()

    def is_folder(self) -> bool:
        return self.files.is_folder()

    def entries(self) -> list[Entry]:
        return sorted(Entry(*each) for each in self.files.entries())

    def read(self) -> bytes:
        with self.as_file() as copy:
            return copy.read_bytes()

    def write(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (copy := Path(folder, "content")).write_bytes(content)
            self.files.put(copy)

    def make(self) -> Self:
        if self.exists() and not self.is_folder():
            raise Misuse(f"{self} is a file: name a folder")
        self.files.make_folder()
        return self

    def remove(self) -> None:
        self.files.remove()

    @contextlib.contextmanager
    def as_file(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            self.files.fetch(copy := Path(folder, self.name))
            yield copy

    @contextlib.contextmanager
    def filled(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
            self.make()
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    (self / path.relative_to(folder).as_posix()).files.put(path)

    def copied(self) -> str:
        """The file on this machine, for as long as this process lives."""
        folder = tempfile.mkdtemp(prefix="gossamer-copy-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.files.fetch(copy := Path(folder, self.name))
        return str(copy)


Place: TypeAlias = LocalPlace | HadoopPlace


def has_scheme(text: str) -> bool:
    return SCHEME.match(text) is not None


def place_at(text: str | Path) -> Place:
    """The place a user names; nothing is looked at yet."""
    found = SCHEME.match(str(text))
    if found is None:
        return LocalPlace(Path(text))
    if found[1].lower() == "file":
        return LocalPlace(Path("/" + str(text)[found.end() :].lstrip("/")))
    return HadoopPlace(str(text))


def literally(place: Place) -> str:
    """A place as Spark is to be told of it when it reads: it takes a path for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", place.uri)
