"""Replay: a fresh machine is given what a live one was given, and must answer the same, effect by effect.

A machine is a function of its givens, so the first answer that differs names an impurity (a clock, the order of a set,
something outside that was asked) or a change of the code since. Later ones may only follow from the first.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.core.errors import SpecError
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.wire.journal import OPEN, SEALED, SETTINGS, Entry, Head, digest
from gossamer.wire.journal_reading import Givens, JournalReader, read_settings


class Skipped(Struct, frozen=True):
    """A file, or the rest of one, that was not replayed."""

    file: str
    why: str


class Part(Struct, frozen=True):
    """One file of a life."""

    path: Path
    head: Head
    bytes: int


class Life(Struct, frozen=True):
    """One life of a node, in files that follow each other."""

    name: str
    node: Peer
    incarnation: int
    parts: tuple[Part, ...]

    @property
    def head(self) -> Head:
        return self.parts[0].head

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


class Step(Struct, frozen=True):
    """One step, then and now."""

    number: int
    "From 1."
    at_us: int
    given: Given
    then: int | None
    "How many effects it had; None: it raised."
    then_error: str
    effects: tuple[Effect, ...]
    "What the fresh machine answered."
    error: str
    "What the fresh machine raised, if it did."


class Replayed(Struct, kw_only=True):
    """What became of one life."""

    name: str
    node: Peer
    incarnation: int
    written_by: str
    "The version of Gossamer that wrote the journal."
    steps: int = 0
    divergences: int = 0
    first: Step | None = None
    "The first step that diverged."
    raised: int = 0
    "Steps that raised then and raised the same now."
    last: Step | None = None
    "The last step replayed."
    skipped: Skipped | None = None
    "Where, and why, the replay ended before the journal did."


# -- finding ----------------------------------------------------------------------------------------------------------


def find_lives(paths: Sequence[Path]) -> tuple[list[Life], list[Skipped]]:
    """The lives whose journals these files are, or are in these folders; and the files that could not be used."""
    parts: dict[tuple[Peer, int], dict[int, Part]] = {}
    skipped: list[Skipped] = []
    for path in dict.fromkeys(each for given in paths for each in files_below(given)):
        try:
            part = Part(path, JournalReader(path).read_head(), path.stat().st_size)
        except SpecError as wrong:
            skipped.append(Skipped(str(path), str(wrong).removeprefix(f"{path.name} ").removeprefix("is ")))
            continue
        except OSError as wrong:
            skipped.append(Skipped(str(path), f"cannot be read: {wrong.strerror}"))
            continue
        head = part.head
        known = parts.setdefault((head.node, head.incarnation), {}).setdefault(head.step, part)
        if known is not part:
            skipped.append(Skipped(str(path), f"begins at the same step as {known.path}"))
    lives = [_life([by_step[step] for step in sorted(by_step)]) for by_step in parts.values()]
    return sorted(lives, key=lambda life: (life.name, life.incarnation)), skipped


def files_below(path: Path) -> Iterator[Path]:
    """The journals in a folder and all below; a file is taken at its word."""
    if not path.is_dir():
        yield path.absolute()
        return
    for each in sorted(path.rglob("*")):
        if each.suffix in (OPEN, SEALED) and each.is_file():
            yield each.absolute()


def _life(parts: Sequence[Part]) -> Life:
    head = parts[0].head
    return Life(head.name, head.node, head.incarnation, tuple(parts))


# -- replaying --------------------------------------------------------------------------------------------------------


class Fresh:
    """A machine like the one that was journaled, and what it is told from outside."""

    def __init__(self, head: Head) -> None:
        self.settings = head.settings
        self.spelled: dict[Topic, str] = {}
        self.machine: Stack = head.design.node(
            head.node,
            head.seed,
            Hierarchy(head.parents),
            lambda topic: self.settings.of(topic),
            lambda: self.settings.scamp,
            head.search,
            spell=lambda topic: self.spelled.get(topic, f"?{topic}"),  # never asked then: it will not go unnoticed
            recovery=lambda topic: self.settings.recovery_of(topic),
            catchup=head.catchup,
        )
        self.givens = Givens(self.machine)

    def change(self, entry: Entry) -> None:
        self.settings = read_settings(entry)

    def step(self, number: int, entry: Entry) -> Step:
        self.spelled.update(entry.spelled)
        given = self.givens.read(entry)
        effects: list[Effect] = []
        error = ""
        try:
            effects = self.machine.step(given, entry.at_us)
        except Exception as wrong:
            error = f"{type(wrong).__name__}: {wrong}"
        return Step(number, entry.at_us, given, entry.effects, entry.error, tuple(effects), error)


def same(step: Step, entry: Entry) -> bool:
    if step.error or entry.effects is None:
        return entry.effects is None and step.error.partition(":")[0] == entry.error.partition(":")[0]
    return len(step.effects) == entry.effects and (not step.effects or digest(step.effects) == entry.digest)


def replay(life: Life, until: int | None = None, progress: Callable[[int], None] = lambda read: None) -> Replayed:
    """Replays one life, or its first `until` steps; `progress` hears how many bytes were read since it last did."""
    head = life.head
    told = Replayed(name=head.name, node=head.node, incarnation=head.incarnation, written_by=head.gossamer)
    fresh = Fresh(head)
    for part in life.parts:
        if part.head.step != told.steps:
            told.skipped = Skipped(str(part.path), f"{part.head.step - told.steps:,} steps before it are missing")
            break
        why = _replay_part(part, fresh, told, until, progress)
        if why is not None:
            told.skipped = Skipped(str(part.path), why)
            break
        if told.steps == until:
            break
    return told


def _replay_part(
    part: Part, fresh: Fresh, told: Replayed, until: int | None, progress: Callable[[int], None]
) -> str | None:
    """Goes on with one file; why not to its end, if so."""
    reader, read = JournalReader(part.path), 0
    for entries in reader:
        if reader.problem is not None:  # a record before this one is missing
            break
        for entry in entries:
            if told.steps == until:
                return None
            try:
                _replay_entry(entry, fresh, told)
            except SpecError as wrong:
                return f"after step {told.steps:,}: {wrong}"
        progress(reader.bytes_read - read)
        read = reader.bytes_read
    return reader.problem


def _replay_entry(entry: Entry, fresh: Fresh, told: Replayed) -> None:
    if entry.kind == SETTINGS:
        fresh.change(entry)
        return
    step = told.last = fresh.step(told.steps + 1, entry)
    told.steps += 1
    if not same(step, entry):
        told.divergences += 1
        told.first = told.first or step
    elif step.error:
        told.raised += 1
