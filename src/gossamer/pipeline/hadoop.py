"""Files where the running session's Hadoop finds them: hdfs, viewfs, and whatever object stores it has the jars for.

PySpark has no public way to them from the driver, so this file, and no other, goes through its gateway to the JVM.
"""

import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark import SparkContext

from gossamer.core.errors import Misuse, TransportDown

starting: ContextVar[Callable[[], object] | None] = ContextVar("starting", default=None)
"Starts a session for whoever needs one that has none yet; a command that may says how."
UNKNOWN = ("UnsupportedFileSystemException", "ClassNotFoundException", "No FileSystem for scheme")


class HadoopFiles:
    """The file system of a URI, and the URI in it. Found when first needed: by then a session must be running."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def exists(self) -> bool:
        with_fs, path = self._here()
        return bool(self._told(lambda: with_fs.exists(path)))

    def is_folder(self) -> bool:
        with_fs, path = self._here()
        return bool(self._told(lambda: with_fs.exists(path) and with_fs.getFileStatus(path).isDirectory()))

    def entries(self) -> Iterator[tuple[str, int, bool]]:
        with_fs, path = self._here()
        for each in self._told(lambda: with_fs.listStatus(path) if with_fs.exists(path) else ()):
            yield each.getPath().getName(), each.getLen(), each.isDirectory()

    def make_folder(self) -> None:
        with_fs, path = self._here()
        if not self._told(lambda: with_fs.mkdirs(path)):
            raise Misuse(f"cannot make the folder {self.uri}: make it yourself, or name another")

    def remove(self) -> None:
        with_fs, path = self._here()
        self._told(lambda: with_fs.delete(path, True))

    def fetch(self, copy: Path) -> None:
        """The file here, under this name on this machine."""
        with_fs, path = self._here()
        # The last argument: no file of checksums beside it.
        self._told(lambda: with_fs.copyToLocalFile(False, path, self._path(f"file://{copy}"), True))

    def put(self, copy: Path) -> None:
        """A file of this machine, here: under another name until it is whole."""
        with_fs, path = self._here()
        above, _, name = self.uri.rpartition("/")
        draft = self._path(f"{above}/.{name}.{uuid.uuid4().hex}")

        def replace() -> None:
            with_fs.copyFromLocalFile(False, True, self._path(f"file://{copy}"), draft)
            if with_fs.exists(path):
                with_fs.delete(path, False)  # `rename` never replaces: for a moment there is none
            if not with_fs.rename(draft, path):
                raise TransportDown(
                    f"{self.uri} could not be written: its file system would not rename {draft.toString()}"
                )

        self._told(replace)

    def _here(self) -> tuple[Any, Any]:
        path = self._path(self.uri)
        return self._told(lambda: path.getFileSystem(_context()._jsc.hadoopConfiguration())), path

    def _path(self, uri: str) -> Any:
        return _context()._jvm.org.apache.hadoop.fs.Path(uri)  # type: ignore[union-attr]

    def _told(self, ask: Any) -> Any:
        """What the JVM answers, or one sentence."""
        try:
            return ask()
        except Py4JJavaError as problem:
            kind, said = problem.java_exception.getClass().getSimpleName(), str(problem.java_exception.getMessage())
        if any(word in kind + said for word in UNKNOWN):
            scheme = self.uri.partition(":")[0]
            raise Misuse(
                f"{self.uri}: Hadoop has no file system for {scheme}: here; bring its jars with "
                f"--conf spark.jars.packages=…, or name a place of another kind"
            )
        raise TransportDown(f"{self.uri} cannot be reached: {kind}: {said.strip().partition(chr(10))[0][:200]}")


def _context() -> SparkContext:
    """The running session's context: the JVM that Hadoop lives in."""
    start = starting.get()
    if SparkContext._active_spark_context is None and start is not None:
        start()
    if (context := SparkContext._active_spark_context) is None:
        raise Misuse(
            "only places on this machine can be used without a Spark of our own: over Spark Connect, or with none "
            "running, name a folder without hdfs:, s3a: and the like"
        )
    return context
