"""What a node has at hand of events: within its bounds, and what tells two bodies apart for as long."""

import pytest

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.arriving import bodies as module
from gossamer.live.arriving.bodies import Bodies
from gossamer.wire.pack import Pack
from gossamer.wire.proof import leaf
from gossamer.wire.sealed import head_of
from wire.test_pack import packed


def events_of(number: int, size: int = 4) -> list[Event]:
    return [Event(EventId(7, 1, number * size + i), ".a", b"%d" % number) for i in range(size)]


def pack_of(number: int) -> Pack:
    return packed(events_of(number))


def fill(bodies: Bodies, count: int) -> list[Pack]:
    packs = [pack_of(number) for number in range(count)]
    for each in packs:
        bodies.add_pack(each)
    return packs


def test_the_oldest_packs_go_when_there_are_too_many_bytes_and_their_events_are_not_told_apart_any_more() -> None:
    bodies = Bodies(bytes_max=3 * len(pack_of(0)))
    packs = fill(bodies, 5)
    assert bodies.size == sum(map(len, packs[2:]))
    for number, pack in enumerate(packs):
        for event in events_of(number):
            assert bodies.get(event.id) is (pack if number >= 2 else None)
            assert bodies.leaf(event.id) == (leaf(head_of(event), event.payload) if number >= 2 else None)
        assert bodies.are_new(pack.ids) == (number < 2)
        assert bodies.packs[pack.mark] == pack.ids


def test_the_oldest_packs_go_when_there_are_too_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BODIES_MAX", 10)
    bodies = Bodies()
    packs = fill(bodies, 5)
    assert [*bodies.bodies] == [*packs[3].ids, *packs[4].ids]
    assert bodies.size == len(packs[3]) + len(packs[4])
    alone = [(EventId(8, 1, i), b"sealed") for i in range(12)]
    for event_id, sealed in alone:
        bodies.add(event_id, b"leaf", sealed)
    assert [*bodies.bodies] == [event_id for event_id, _ in alone[2:]]
    assert [bodies.leaf(event_id) for event_id, _ in alone] == [b"leaf"] * 12
    assert bodies.size == 10 * len(b"sealed")
