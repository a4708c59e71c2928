"""The journal's format: what a machine was given comes back exactly, and damage is said, never made up."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, Struct
from msgspec.structs import replace

from gossamer.core.errors import SpecError
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import (
    Deliver,
    Effect,
    Fired,
    Given,
    Note,
    Publish,
    Received,
    Send,
    SetTimer,
    Subscribe,
    Tune,
)
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.messages import Alive, Probe
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.layer import AnswerDue, Renew
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.wire import segment
from gossamer.wire.journal import (
    MAGIC,
    VERSION,
    Entry,
    Head,
    Settings,
    digest,
    encoded,
    entry,
    kind_of,
    opening,
    record,
)
from gossamer.wire.journal_reading import Givens, JournalReader, Unheard, read_settings
from wire.instances import instances

NODE = camcast_node(1, 1, recovery=RecoveryParams.live(), catchup=CatchUpParams())
GIVENS = Givens(NODE)
HEARD = [message for message in CATALOGUE["camcast"].spoken if message in NODE.hearers]
TIMERS = [kind for kind in NODE.hearers if kind.__struct_config__.tag is None]
SETTINGS = Settings(CamcastParams.live(), {".a": CamcastParams.camcast()}, ScampParams(tries=5))
HEAD = Head(
    network="net",
    name="node-7",
    node=7,
    incarnation=1000,
    seed=2**64 - 1,
    parents={".a.b": (".c", ".d")},
    settings=SETTINGS,
    search=SearchParams(ttl=2),
    gossamer="0.1.0",
)

# -- givens -----------------------------------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
params = st.one_of(
    st.builds(
        CamcastParams,
        fanout_extra=finite,
        table_factor=st.none() | finite,
        links=st.integers(5, 2**40),
        targets=st.floats(0.1, 5.0),
        rotation=st.floats(0.0, 1.0),
    ),
    st.builds(ScampParams, tries=st.integers(1, 2**40), lease_us=st.integers(1, 2**31)),
    st.builds(SearchParams, neighbours=st.integers(1, 3)),
)
SPECIAL: dict[type[Struct], st.SearchStrategy[Any]] = {
    Received: st.builds(Received, st.integers(0, 2**63 - 1), st.one_of([instances(message) for message in HEARD])),
    Fired: st.builds(Fired, st.one_of([instances(timer) for timer in TIMERS])),
    Tune: st.builds(Tune, st.sampled_from([".", ".a", ".a.é"]), params),
}


def written(given: Given) -> Entry:
    return Entry(5, kind_of(given), encoded(given), 0, b"")


@pytest.mark.parametrize("kind", get_args(Given), ids=lambda kind: kind.__name__)
def test_every_given_comes_back_exactly(kind: type[Struct]) -> None:
    @settings(max_examples=40)
    @given(SPECIAL[kind] if kind in SPECIAL else instances(kind))
    def comes_back(given: Given) -> None:
        read = GIVENS.read(written(given))
        assert read == given
        assert repr(read) == repr(given)  # tuples are no lists, whole numbers no fractions, truth no number

    comes_back()


def test_timers_with_the_same_fields_are_told_apart() -> None:
    assert {AnswerDue, Renew} <= set(TIMERS)
    for timer in (AnswerDue(".a", 3), Renew(".a", 3)):
        read = GIVENS.read(written(Fired(timer)))
        assert isinstance(read, Fired)
        assert type(read.timer) is type(timer)


def test_a_timer_no_layer_hears_is_refused() -> None:
    class Strange(Struct):
        x: int

    with pytest.raises(SpecError, match=r"which no layer of a node hears: replay with the version that wrote it"):
        GIVENS.read(written(Fired(Strange(1))))
    with pytest.raises(SpecError, match="no layer"):
        GIVENS.read(Entry(5, "Fired os.path", Raw(b"\x80"), 0, b""))


def test_a_message_no_layer_hears_is_refused_by_the_machine_as_it_was() -> None:
    class Newer(Struct, tag="newer.message"):
        x: int

    given = Received(9, Newer(1))
    read = GIVENS.read(written(given))
    assert isinstance(read, Received)
    assert type(read.message) is Unheard
    assert camcast_node(1, 1).step(read, 5) == camcast_node(1, 1).step(given, 5) != []


@pytest.mark.parametrize(
    "genuine",
    [Received(2, Probe(1, ".a")), Subscribe(".a"), Fired(AnswerDue(".a", 1)), Tune(".a", ScampParams())],
    ids=kind_of,
)
def test_what_is_no_given_is_refused_and_nothing_else_happens(genuine: Given) -> None:
    wild, good = random.Random(3), written(genuine)
    for _try in range(300):
        data = bytearray(bytes(good.given))
        data[wild.randrange(len(data))] = wild.randrange(256)
        with suppress(SpecError):
            GIVENS.read(Entry(5, good.kind, Raw(bytes(data)), 0, b""))


def test_settings_come_back_exactly() -> None:
    assert read_settings(Entry(5, "Settings", encoded(SETTINGS), 0, b"")) == SETTINGS
    assert SETTINGS.of(".a") == CamcastParams.camcast()
    assert SETTINGS.of(".b") == CamcastParams.live()
    data = bytes(encoded(SETTINGS))
    for wrong in (b"\x80", data[:-1], data.replace(b"\xa5links\x04", b"\xa5links\x00")):
        with pytest.raises(SpecError, match="it holds no settings"):
            read_settings(Entry(5, "Settings", Raw(wrong), 0, b""))


# -- digests ----------------------------------------------------------------------------------------------------------

EVENT = Event(EventId(1, 2, 3), ".a", b"payload", {"x": 1})
EFFECTS: list[Effect] = [
    Send((1, 2), Probe(5, ".a")),
    SetTimer(10, AnswerDue(".a", 3)),
    Deliver(EVENT, 2),
    Note("publish", EVENT.id, topic=".a"),
]
CHANGED: dict[str, list[Effect]] = {
    "another peer": [Send((1, 3), Probe(5, ".a")), *EFFECTS[1:]],
    "another order of peers": [Send((2, 1), Probe(5, ".a")), *EFFECTS[1:]],
    "another message": [Send((1, 2), Alive(5, ".")), *EFFECTS[1:]],
    "another timer with the same fields": [EFFECTS[0], SetTimer(10, Renew(".a", 3)), *EFFECTS[2:]],
    "another time": [EFFECTS[0], SetTimer(11, AnswerDue(".a", 3)), *EFFECTS[2:]],
    "another payload": [*EFFECTS[:2], Deliver(replace(EVENT, payload=b"Payload"), 2), EFFECTS[3]],
    "more hops": [*EFFECTS[:2], Deliver(EVENT, 3), EFFECTS[3]],
    "another note": [*EFFECTS[:3], Note("publish", EVENT.id, topic=".b")],
    "another order": EFFECTS[::-1],
    "one less": EFFECTS[:-1],
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
def test_a_digest_notices(changed: list[Effect]) -> None:
    assert digest(EFFECTS) == digest([*EFFECTS])
    assert digest(changed) != digest(EFFECTS)


def test_effects_that_cannot_be_encoded_still_have_a_digest() -> None:
    large: list[Effect] = [SetTimer(2**70, AnswerDue(".a", 1)), Note("reject", detail="half a letter: \ud800")]
    assert digest(large) == digest(tuple(large)) != digest(large[:1])


# -- files ------------------------------------------------------------------------------------------------------------


def three_records() -> bytes:
    records = [record([entry(i, kind_of(each), encoded(each), 1, digest(EFFECTS))]) for i, each in enumerate(STEPS)]
    return opening(HEAD) + b"".join(records)


STEPS: list[Given] = [Publish(EVENT), Subscribe(".a"), Fired(Renew(".a", 3))]


def read(path: Path) -> tuple[list[Entry], str | None]:
    reader = JournalReader(path)
    entries = [each for record in reader for each in record]
    return entries, reader.problem


def test_a_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(three_records())
    entries, problem = read(path)
    assert [GIVENS.read(each) for each in entries] == STEPS
    assert [each.at_us for each in entries] == [0, 1, 2]
    assert {(each.effects, each.digest, each.error) for each in entries} == {(1, digest(EFFECTS), "")}
    assert problem is None
    assert JournalReader(path).read_head() == HEAD


def test_an_entry_says_what_was_spelled_and_raised(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    given = encoded(Subscribe(".a"))
    path.write_bytes(opening(HEAD) + record([entry(1, "Subscribe", given, None, b"", {".a": "#1"}, "KeyError: 'x'")]))
    ((told,), _) = read(path)
    assert (told.effects, told.spelled, told.error) == (None, {".a": "#1"}, "KeyError: 'x'")


def test_a_file_cut_anywhere_gives_its_whole_records(tmp_path: Path) -> None:
    whole, path = three_records(), tmp_path / "cut.journaling"
    start = len(opening(HEAD))
    for cut in {*range(start, len(whole), 7), start, *ends(whole, start)}:
        path.write_bytes(whole[:cut])
        entries, problem = read(path)
        assert [each.at_us for each in entries] == list(range(len(entries)))
        assert (problem is None) == (cut in (start, *ends(whole, start)))


def ends(whole: bytes, start: int) -> list[int]:
    found = []
    while start < len(whole):
        start += 8 + int.from_bytes(whole[start : start + 4], "little")
        found.append(start)
    return found


def test_whatever_happens_to_the_bytes_reading_ends_and_makes_nothing_up(tmp_path: Path) -> None:
    whole, path, wild = three_records(), tmp_path / "wild.journal", random.Random(7)
    path.write_bytes(whole)
    genuine, _ = read(path)
    for _try in range(300):
        changed = bytearray(whole)
        for _flip in range(wild.randint(1, 3)):
            changed[wild.randrange(len(changed))] = wild.randrange(256)
        path.write_bytes(changed)
        try:
            entries, problem = read(path)
        except SpecError:
            continue
        assert all(each in genuine for each in entries)
        assert len(entries) == 3 or problem


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "x.journal is not a journal"),
        (segment.MAGIC, "x.journal is not a journal"),
        (MAGIC, "x.journal is a journal without a head"),
        (MAGIC + segment.seal(b"\x93\x01\x02\x03"), "x.journal is a journal without a head"),
        (
            MAGIC + segment.seal(b"\x82\xa7version" + bytes([VERSION + 1]) + b"\xa4odd!\x01"),
            f"x.journal was written by a newer version (journal {VERSION + 1}): upgrade to read it",
        ),
        (
            MAGIC + segment.seal(b"\x82\xa7version" + bytes([VERSION - 1]) + b"\xa4odd!\x01"),
            f"x.journal was written by an older version (journal {VERSION - 1}): replay it with that one",
        ),
        (
            MAGIC + segment.seal(opening(HEAD)[len(MAGIC) + 8 :].replace(b"\xa5links\x04", b"\xa5links\x00")),
            "x.journal: links must be at least 1, not 0: events could never climb",
        ),
    ],
    ids=["empty", "a trace", "no head", "another head", "newer", "older", "impossible parameters"],
)
def test_what_is_no_journal_is_refused_in_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(content)
    for reading in (lambda: read(path), JournalReader(path).read_head):
        with pytest.raises(SpecError) as refused:
            reading()
        assert str(refused.value) == says


def test_a_record_of_something_else_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "odd.journal"
    path.write_bytes(
        three_records() + segment.seal(b"\xa5hello") + record([entry(9, "Leave", encoded(SETTINGS), 0, b"")])
    )
    entries, problem = read(path)
    assert len(entries) == 3
    assert problem is not None
    assert problem.startswith("a record holds no entries")
