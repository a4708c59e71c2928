"""What a sweep keeps: `outcomes/wave=NAME/part-….parquet`, and for each finished wave `outcomes/_waves/NAME.json`.

Spark writes a wave's files; the record, written when all of them are there, is what makes the wave count. It says which
runs the wave holds, so what is left to do is known from a few small files, without Spark. Whoever reads the folder
with a tool of their own sees one table, partitioned by wave.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.pipeline.places import Place

OUTCOMES = "outcomes"
RECORDS = "_waves"

Spans: TypeAlias = list[tuple[int, int]]
"Runs: from, and up to but not including."


class Record(Struct, frozen=True, kw_only=True):
    """What is known of a finished wave."""

    wave: str
    row: str
    "The kind of its rows."
    trials: int
    runs: dict[str, Spans]
    "By the id of their point."
    failed: dict[str, list[int]] = {}
    "Those of them that have an error instead of an outcome: they are to be tried again."
    files: dict[str, int]
    "Bytes of each: a file that was cut short shows."
    replaces: tuple[str, ...] = ()
    "Waves whose rows it holds, since small waves are put together."

    @property
    def bytes(self) -> int:
        return sum(self.files.values())


class Outcomes:
    """The folder of a sweep's outcomes."""

    def __init__(self, folder: Place) -> None:
        self.folder = folder

    def wave(self, name: str) -> Place:
        return self.folder / f"wave={name}"

    def records(self) -> list[Record]:
        """Every wave that counts: its record is there, so are its files, and it was not put together with others."""
        there = {entry.name for entry in self.folder.entries()}
        told = [self._read(entry.name) for entry in (self.folder / RECORDS).entries() if _is_record(entry.name)]
        found = [
            each for each in told if each and f"wave={each.wave}" in there and parts(self.wave(each.wave)) == each.files
        ]
        replaced = {name for each in found for name in each.replaces}
        return [each for each in found if each.wave not in replaced]

    def _read(self, name: str) -> Record | None:
        place = self.folder / RECORDS / name
        try:
            return msgspec.json.decode(place.read(), type=Record)
        except FileNotFoundError:  # another sweep has just put it together with others
            return None
        except (msgspec.DecodeError, OSError):  # a disk that filled up, a copy broken off
            raise Misuse(f"{place} is damaged: remove it, and its trials are run again") from None

    def keep(self, record: Record) -> None:
        """From now on the wave counts."""
        (self.folder / RECORDS).make()
        (self.folder / RECORDS / f"{record.wave}.json").write(msgspec.json.encode(record))

    def forget(self, wave: str) -> None:
        """The record first: what has none does not count, whoever is stopped half way."""
        (self.folder / RECORDS / f"{wave}.json").remove()
        self.wave(wave).remove()


def outcomes_in(out: Place, *, make: bool = True) -> Outcomes:
    """Where a sweep's outcomes go; made if need be."""
    if out.exists() and not out.is_folder():
        raise Misuse(f"--out {out} is a file: name a folder")
    return Outcomes((out / OUTCOMES).make() if make else out / OUTCOMES)


def _is_record(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def parts(wave: Place) -> dict[str, int]:
    """The files of a wave with their sizes."""
    return {entry.name: entry.size for entry in wave.entries() if entry.name.startswith("part-")}


def hold_a_run_twice(records: Sequence[Record]) -> bool:
    """Whether a trial may have rows in several waves: it failed before it succeeded, or two sweeps ran at once."""
    runs = sum(end - start for record in records for spans in record.runs.values() for start, end in spans)
    kept = {
        (point, run)
        for record in records
        for point, spans in record.runs.items()
        for start, end in spans
        for run in range(start, end)
    }
    return len(kept) < runs


def new_name() -> str:
    return uuid.uuid4().hex[:16]


def finished_runs(records: Iterable[Record]) -> dict[str, set[int]]:
    """Runs that need not be run again: those with an outcome and no error."""
    done: dict[str, set[int]] = {}
    for record in records:
        for point, spans in record.runs.items():
            fine = {run for start, end in spans for run in range(start, end)}.difference(record.failed.get(point, ()))
            done.setdefault(point, set()).update(fine)
    return done


def count_trials(records: Iterable[Record]) -> int:
    return sum(record.trials for record in records)


def spans_of(runs: Sequence[int]) -> Spans:
    """The same numbers, in as few spans as can be."""
    found: Spans = []
    for run in sorted(runs):
        if found and found[-1][1] == run:
            found[-1] = (found[-1][0], run + 1)
        else:
            found.append((run, run + 1))
    return found
