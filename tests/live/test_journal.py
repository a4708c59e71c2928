"""The journal a node writes: every given before its step, no secret, and the node goes on whatever becomes of it."""

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.core.events import Event
from gossamer.core.ids import EventId, peer_of
from gossamer.core.machine import Given, Leave, Note, PeerDown, Publish, Subscribe
from gossamer.live.config.config import Config
from gossamer.live.config.tables import HierarchyConfig, TraceConfig
from gossamer.live.watching import journal as live_journal
from gossamer.live.watching.journal import Journal, open_journal
from gossamer.live.watching.scribe import AtOnce
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.wire.journal import SETTINGS, Entry, Head, Settings, digest
from gossamer.wire.journal_reading import Givens, JournalReader, read_settings

NOTES = [Note("start"), Note("stop")]


def config(folder: Path, **other: object) -> Config:
    return Config(name="node-7", trace=TraceConfig(folder=folder, level="journal"), **other)  # type: ignore[arg-type]


class Bench:
    """A journal, and settings that may change below it."""

    def __init__(self, folder: Path, **other: object) -> None:
        self.folder = folder
        self.config = config(folder, **other)
        made = open_journal(self.config, "node-7", 1000, 5, self.in_force, (), AtOnce())
        assert made is not None
        self.journal: Journal = made

    def in_force(self) -> Settings:
        config = self.config
        return Settings(config.camcast, config.topics, config.scamp, config.recovery, config.recovery_topics)

    def step(self, given: Given, effects: int = 0) -> None:
        self.journal.given(5, given)
        if effects:
            self.journal.effects(NOTES[:effects])  # type: ignore[arg-type]

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []

    def records(self) -> list[list[Entry]]:
        return [record for name in self.names() for record in JournalReader(self.folder / name)]

    def entries(self) -> list[Entry]:
        return [entry for record in self.records() for entry in record]

    def givens(self) -> list[Given]:
        read = Givens(camcast_node(1, 1, recovery=RecoveryParams.live())).read
        return [read(entry) for entry in self.entries() if entry.kind != SETTINGS]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "traces")


# -- what is written --------------------------------------------------------------------------------------------------


def test_what_happened_in_a_turn_is_one_record_when_the_turn_is_over(bench: Bench) -> None:
    bench.step(Subscribe(".a"), 2)
    bench.step(PeerDown(3))
    assert bench.names() == []
    bench.journal.tick()
    bench.journal.tick()
    bench.step(Leave(), 1)
    bench.journal.tick()
    assert [len(record) for record in bench.records()] == [2, 1]
    assert bench.givens() == [Subscribe(".a"), PeerDown(3), Leave()]
    assert (
        [(entry.at_us, entry.effects, entry.digest) for entry in bench.entries()]
        == [
            (5, 2, digest(NOTES)),  # type: ignore[arg-type]
            (5, 0, b""),
            (5, 1, digest(NOTES[:1])),  # type: ignore[arg-type]
        ]
    )
    assert bench.names() == ["node-7-1000-0.journaling"]
    bench.journal.close()
    assert bench.names() == ["node-7-1000-0.journal"]


def test_the_head_says_what_the_machine_was_made_from(tmp_path: Path) -> None:
    parents = HierarchyConfig(parents={".a": [".b"]})  # type: ignore[list-item]
    topics = {".a": CamcastParams(links=7)}
    bench = Bench(tmp_path, network="net", hierarchy=parents, topics=topics)
    bench.step(Leave())
    bench.journal.close()
    head = JournalReader(tmp_path / "node-7-1000-0.journal").read_head()
    assert (head.network, head.name, head.node) == ("net", "node-7", peer_of("node-7"))
    assert (head.incarnation, head.seed, head.step) == (1000, 5, 0)
    assert head.parents == {".a": (".b",)}
    assert (head.settings.topics, head.settings.camcast) == (topics, CamcastParams.live())
    assert (head.settings.scamp, head.search) == (bench.config.scamp, bench.config.search)
    assert head.gossamer


@pytest.mark.parametrize("level", ["off", "deliveries", "full"])
def test_no_other_level_writes_one(tmp_path: Path, level: str) -> None:
    other = replace(config(tmp_path), trace=TraceConfig(folder=tmp_path, level=level))  # type: ignore[arg-type]
    assert open_journal(other, "node-7", 1, 1, lambda: (other.camcast, other.topics, other.scamp), (), AtOnce()) is None


def test_nobody_else_may_read_it_since_it_holds_payloads(bench: Bench) -> None:
    bench.step(Publish(Event(EventId(1, 2, 3), ".a", b"the payload")))
    bench.journal.close()
    (path,) = bench.folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"the payload" in path.read_bytes()


def test_a_given_is_written_as_it_was_before_its_step(bench: Bench) -> None:
    event = Event(EventId(1, 2, 3), ".a", attributes={"x": 1})
    bench.journal.given(5, Publish(event))
    event.attributes["x"] = 2
    bench.journal.effects([])
    bench.journal.tick()
    assert bench.givens() == [Publish(replace(event, attributes={"x": 1}))]


def test_a_step_that_raises_is_written_at_once_with_what_it_raised(bench: Bench) -> None:
    bench.step(Subscribe(".a"), 1)
    bench.journal.given(5, Leave())
    bench.journal.raised(KeyError("half a letter: \ud800"))
    assert bench.givens() == [Subscribe(".a"), Leave()]
    last = bench.entries()[-1]
    assert (last.effects, last.digest) == (None, b"")
    assert last.error.startswith("KeyError: 'half a letter: ")
    bench.step(Subscribe(".b"), 1)
    bench.journal.close()
    assert bench.givens() == [Subscribe(".a"), Leave(), Subscribe(".b")]


def test_effects_without_a_given_are_no_step(bench: Bench) -> None:
    bench.journal.effects([Note("start")])
    bench.journal.raised(KeyError(1))
    bench.journal.close()
    assert bench.names() == []


def test_a_spelling_is_written_with_the_step_that_asked_for_it_first_or_got_another(bench: Bench) -> None:
    key = "k1"
    spell = bench.journal.noting(lambda topic: f"{key}{topic}")
    for asked, key in ((".a", "k1"), (".a", "k1"), (".b", "k1"), (".a", "k2"), (".a", "k2")):
        bench.journal.given(5, Leave())
        assert spell(asked) == f"{key}{asked}"
    bench.journal.tick()
    assert [entry.spelled for entry in bench.entries()] == [{".a": "k1.a"}, {}, {".b": "k1.b"}, {".a": "k2.a"}, {}]


def test_parameters_are_written_when_they_change_and_only_then(bench: Bench) -> None:
    bench.step(Leave())
    bench.config = replace(bench.config, seeds=("127.0.0.1:7777",))
    bench.step(Leave())
    bench.config = replace(bench.config, camcast=CamcastParams.live())  # another object that says the same
    bench.step(Leave())
    bench.config = replace(bench.config, camcast=CamcastParams(links=9))
    bench.step(Leave())
    bench.config = replace(bench.config, scamp=replace(bench.config.scamp, tries=8))
    bench.step(Leave())
    bench.journal.tick()
    assert [entry.kind for entry in bench.entries()] == [
        *("Leave", "Leave", "Leave"),
        *("Settings", "Leave"),
        *("Settings", "Leave"),
    ]
    first, second = (read_settings(entry) for entry in bench.entries() if entry.kind == SETTINGS)
    assert (first.camcast.links, first.scamp.tries) == (9, 3)
    assert (second.camcast.links, second.scamp.tries) == (9, 8)


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_long_life_is_written_to_several_files_that_say_where_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    bench.journal._file_bytes = 1000
    for _turn in range(30):
        bench.step(Subscribe(".a"), 1)
        bench.step(Leave())
        bench.journal.tick()
    bench.journal.close()
    heads: list[Head] = [JournalReader(path).read_head() for path in tmp_path.iterdir()]
    counted = {
        JournalReader(path).read_head().step: sum(len(record) for record in JournalReader(path))
        for path in tmp_path.iterdir()
    }
    assert len(heads) > 2
    step = 0
    for first, steps in sorted(counted.items()):
        assert first == step
        step += steps
    assert step == 60


def test_a_turn_with_much_to_say_writes_several_records(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_journal, "TURN_BYTES", 1000)
    for sequence in range(10):
        bench.step(Publish(Event(EventId(1, 2, sequence), ".a", bytes(600))))
    bench.journal.close()
    assert [len(record) for record in bench.records()] == [2, 2, 2, 2, 2]


def fails(room: int) -> Callable[[int, bytes], int]:
    real = os.write

    def write(file: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data[:room])

    return write


@pytest.mark.parametrize("room", [0, 10])
@pytest.mark.parametrize("before", [0, 3])
def test_a_full_disk_ends_the_journal_is_told_once_and_leaves_no_half_record(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, room: int, before: int
) -> None:
    for _step in range(before):
        bench.step(Subscribe(".a"), 1)
    bench.journal.tick()
    with monkeypatch.context() as full:
        full.setattr(os, "write", fails(room))
        for _turn in range(3):
            bench.step(Leave(), 1)
            bench.journal.tick()
    bench.step(Leave(), 1)  # there is room again, but a hole as well
    bench.journal.raised(KeyError(1))
    bench.journal.close()
    assert bench.givens() == [Subscribe(".a")] * before
    assert bench.names() == (["node-7-1000-0.journal"] if before else [])
    assert caplog.messages == [
        f"the journal of node-7 ends after {before + 1} steps: it cannot be written to {bench.folder} "
        "(No space left on device); the node goes on"
    ]


def test_a_given_that_cannot_be_written_ends_the_journal(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.step(Leave(), 1)
    with caplog.at_level(logging.WARNING):
        bench.step(Subscribe("half a letter: \ud800"), 1)
    bench.step(Leave(), 1)
    bench.journal.close()
    assert bench.givens() == [Leave()]
    (told,) = caplog.messages
    assert told.startswith("the journal of node-7 ends after 1 steps: Subscribe cannot be written (")
