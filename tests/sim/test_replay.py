"""Replay: the same givens give the same effects, and whatever differs is found at its step."""

from functools import cache
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.machine import Fired, Publish, Received, Started
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.messages import Probe
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.scamp.layer import Scamp
from gossamer.sim.replay import Life, Replayed, find_lives, replay
from gossamer.wire.journal import SETTINGS as CHANGE
from gossamer.wire.journal import Entry, encoded, opening
from sim.journals import SETTINGS, bytes_of, changed, head_of, lived, write

journal = cache(lived)
ME: Peer = 1


def entries() -> list[Entry]:
    return journal()[ME]


def only_life(*paths: Path) -> Life:
    (life,), skipped = find_lives(paths)
    assert skipped == []
    return life


def replayed(folder: Path, of: list[Entry], until: int | None = None) -> Replayed:
    return replay(only_life(write(folder / "a.journal", ME, of)), until)


def step_of(kind: str, after: int = 0) -> int:
    """The number of the first step after another that was given this."""
    return next(i for i, each in enumerate(entries(), 1) if i > after and each.kind.startswith(kind))


# -- the same ---------------------------------------------------------------------------------------------------------


def test_a_networks_journals_replay_without_a_divergence(tmp_path: Path) -> None:
    for peer, of in journal().items():
        write(tmp_path / f"{peer}.journal", peer, of)
    lives, skipped = find_lives([tmp_path])
    told = [replay(life) for life in lives]
    assert [(each.name, each.divergences, each.skipped) for each in told] == [
        (f"node-{peer}", 0, None) for peer in range(1, 7)
    ]
    assert [each.steps for each in told] == [len(of) for of in journal().values()]
    assert sum(each.steps for each in told) > 1000
    assert skipped == []


def test_a_life_in_several_files_is_one(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"part{at}.journal", ME, entries()[at : at + 100], step=at)
        for at in range(0, len(entries()), 100)
    ]
    told = replay(only_life(*paths[::-1]))
    assert (told.steps, told.divergences, told.skipped) == (len(entries()), 0, None)


def test_two_lives_of_one_node_are_two(tmp_path: Path) -> None:
    write(tmp_path / "a.journal", ME, entries(), incarnation=1)
    write(tmp_path / "b.journal", ME, entries()[:50], incarnation=2)
    lives, _ = find_lives([tmp_path])
    assert [(life.incarnation, replay(life).steps) for life in lives] == [(1, len(entries())), (2, 50)]


def test_progress_comes_to_all_bytes_but_those_before_the_first_record(tmp_path: Path) -> None:
    heard: list[int] = []
    life = only_life(write(tmp_path / "a.journal", ME, entries()))
    replay(life, progress=heard.append)
    assert sum(heard) == life.bytes
    assert len(heard) > 10


def test_until_stops_after_that_step_and_keeps_it(tmp_path: Path) -> None:
    told = replayed(tmp_path, entries(), until=3)
    assert (told.steps, told.skipped) == (3, None)
    assert told.last is not None
    assert (told.last.number, told.last.at_us) == (3, entries()[2].at_us)
    assert len(told.last.effects) == entries()[2].effects


# -- not the same -----------------------------------------------------------------------------------------------------


def another_digest(entry: Entry) -> Entry:
    return replace(entry, digest=b"\0" * 8)


def another_number(entry: Entry) -> Entry:
    return replace(entry, effects=(entry.effects or 0) + 1)


def another_time(entry: Entry) -> Entry:
    return replace(entry, at_us=entry.at_us + 1)


def another_peer(entry: Entry) -> Entry:
    return replace(entry, kind="Received", given=encoded(Received(77, Probe(5, ".soccer.italy"))))


@pytest.mark.parametrize("change", [another_digest, another_number])
def test_an_answer_that_was_another_is_found_at_its_step(tmp_path: Path, change: object) -> None:
    at = step_of("Publish")
    told = replayed(tmp_path, changed(entries(), at, change))  # type: ignore[arg-type]
    assert (told.steps, told.divergences) == (len(entries()), 1)
    assert told.first is not None
    assert (told.first.number, told.first.at_us) == (at, entries()[at - 1].at_us)
    assert isinstance(told.first.given, Publish)
    assert told.first.effects
    assert told.first.error == ""


@pytest.mark.parametrize(("kind", "change"), [("Subscribe", another_time), ("Received", another_peer)])
def test_a_given_that_was_another_is_found(tmp_path: Path, kind: str, change: object) -> None:
    at = step_of(kind)
    told = replayed(tmp_path, changed(entries(), at, change))  # type: ignore[arg-type]
    assert told.first is not None
    assert told.first.number >= at


def test_a_step_left_out_is_found(tmp_path: Path) -> None:
    at = step_of("Subscribe")
    told = replayed(tmp_path, [*entries()[: at - 1], *entries()[at:]])
    assert told.divergences > 10


@pytest.mark.parametrize("other", [{"seed": 10}, {"parents": {".soccer": (".x",)}}, {"parents": {}}], ids=str)
def test_another_machine_is_found(tmp_path: Path, other: dict[str, object]) -> None:
    told = replay(only_life(write(tmp_path / "a.journal", ME, entries(), **other)))
    assert told.divergences


def test_an_impure_machine_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(10**6))
    monkeypatch.setattr(Scamp, "named", lambda self, topic: [*self.about(topic)][:: 1 - 2 * (next(count) % 2)])
    assert replayed(tmp_path, entries()).divergences


def test_a_spelling_the_journal_does_not_know_is_found(tmp_path: Path) -> None:
    at = step_of("Subscribe")
    spelled = {".soccer.italy": "ylati.reccos.", ".soccer": "reccos.", ".italy": "ylati.", ".": "."}
    assert entries()[at - 1].spelled == spelled
    told = replayed(tmp_path, changed(entries(), at, lambda entry: replace(entry, spelled={})))
    assert told.first is not None
    assert isinstance(told.first.given, Received)


# -- what is no step --------------------------------------------------------------------------------------------------


def test_settings_hold_from_their_entry_on_and_are_no_step(tmp_path: Path) -> None:
    at = step_of("Subscribe")
    other = replace(SETTINGS, camcast=replace(CamcastParams.live(), keep_every_us=77_777))
    change = Entry(0, CHANGE, encoded(other), 0, b"")
    told = replayed(tmp_path, [*entries()[: at - 1], change, *entries()[at - 1 :]], until=at)
    assert told.steps == at
    assert told.first is not None
    assert 77_777 in [getattr(effect, "after_us", None) for effect in told.first.effects]
    back = [*entries()[: at - 1], change, Entry(0, CHANGE, encoded(SETTINGS), 0, b""), *entries()[at - 1 :]]
    assert replayed(tmp_path, back).divergences == 0


def test_settings_of_the_membership_hold_too(tmp_path: Path) -> None:
    at = step_of("Subscribe")
    other = replace(SETTINGS, scamp=replace(SETTINGS.scamp, patience_us=66_666))
    change = Entry(0, CHANGE, encoded(other), 0, b"")
    told = replayed(tmp_path, [*entries()[: at - 1], change, *entries()[at - 1 :]], until=at)
    assert told.first is not None
    assert 66_666 in [getattr(effect, "after_us", None) for effect in told.first.effects]


# -- steps that raise -------------------------------------------------------------------------------------------------


def raising(monkeypatch: pytest.MonkeyPatch, wrong: Exception) -> None:
    step = Stack.step

    def fails(self: Stack, given: object, now_us: int) -> object:
        if isinstance(given, Fired):
            raise wrong
        return step(self, given, now_us)  # type: ignore[arg-type]

    monkeypatch.setattr(Stack, "step", fails)


def raised(entry: Entry, error: str) -> Entry:
    return replace(entry, effects=None, digest=b"", error=error)


def test_a_step_that_raised_then_and_now_is_no_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = step_of("Fired")
    raising(monkeypatch, KeyError("x"))
    told = replayed(tmp_path, changed(entries()[:at], at, lambda entry: raised(entry, "KeyError: 'y'")))
    assert (told.steps, told.divergences, told.raised) == (at, 0, 1)
    assert told.last is not None
    assert told.last.error == "KeyError: 'x'"


@pytest.mark.parametrize(("then", "now"), [("KeyError: 1", None), ("", KeyError(1)), ("TypeError: 1", KeyError(1))])
def test_a_step_that_raised_only_once_or_otherwise_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, now: Exception | None
) -> None:
    at = step_of("Fired")
    if now is not None:
        raising(monkeypatch, now)
    told = replayed(tmp_path, changed(entries()[:at], at, lambda entry: raised(entry, then) if then else entry))
    assert (told.divergences, told.raised) == (1, 0)
    assert told.first is not None
    assert told.first.then_error == then
    assert told.first.error == ("" if now is None else "KeyError: 1")


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_torn_tail_costs_only_itself_and_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.journaling", ME, entries())
    path.write_bytes(path.read_bytes()[:-5])
    told = replay(only_life(path))
    assert (told.divergences, told.steps) == (0, len(entries()) // 7 * 7 - (0 if len(entries()) % 7 else 7))
    assert told.skipped is not None
    assert told.skipped.file == str(path)
    assert told.skipped.why.startswith("torn: ")


def test_nothing_is_replayed_behind_a_damaged_record(tmp_path: Path) -> None:
    data = bytearray(opening(head_of(ME)) + bytes_of(entries()))
    at = len(opening(head_of(ME))) + len(bytes_of(entries()[:70]))
    data[at + 20] ^= 1
    (tmp_path / "a.journal").write_bytes(data)
    told = replay(only_life(tmp_path))
    assert (told.steps, told.divergences) == (70, 0)
    assert told.skipped is not None
    assert told.skipped.why == f"damaged at byte {at}: a record is left out"


def test_a_missing_file_ends_the_replay_and_is_told(tmp_path: Path) -> None:
    write(tmp_path / "0.journal", ME, entries()[:100])
    write(tmp_path / "2.journal", ME, entries()[200:], step=200)
    told = replay(only_life(tmp_path))
    assert told.steps == 100
    assert told.skipped is not None
    assert told.skipped.file.endswith("2.journal")
    assert told.skipped.why == "100 steps before it are missing"


def test_an_entry_that_cannot_be_read_ends_the_replay_and_is_told(tmp_path: Path) -> None:
    told = replayed(tmp_path, changed(entries(), 50, lambda entry: replace(entry, kind="Leave", given=Raw(b"\x01"))))
    assert told.steps == 49
    assert told.skipped is not None
    assert told.skipped.why.startswith("after step 49: it holds no Leave: ")


def test_files_that_are_no_journals_or_the_same_again_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.journal", ME, [])
    write(tmp_path / "b.journal", ME, [])
    (tmp_path / "c.journal").write_bytes(b"PAR1")
    (tmp_path / "d.journal").mkdir()
    (tmp_path / "notes.txt").touch()
    lives, skipped = find_lives([tmp_path, tmp_path / "a.journal", tmp_path / "notes.txt", tmp_path / "gone"])
    assert [life.name for life in lives] == ["node-1"]
    assert [(Path(each.file).name, each.why) for each in skipped] == [
        ("b.journal", f"begins at the same step as {tmp_path / 'a.journal'}"),
        ("c.journal", "not a journal"),
        ("notes.txt", "not a journal"),
        ("gone", "cannot be read: No such file or directory"),
    ]


def test_a_journal_of_nothing_replays_nothing(tmp_path: Path) -> None:
    told = replayed(tmp_path, [])
    assert (told.steps, told.last, told.skipped) == (0, None, None)


def test_the_first_step_is_the_start(tmp_path: Path) -> None:
    told = replayed(tmp_path, entries(), until=1)
    assert told.last is not None
    assert isinstance(told.last.given, Started)
