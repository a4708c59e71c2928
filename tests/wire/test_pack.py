"""Packs: the bytes are pinned, every event can be taken out with a proof of its own, and what is no pack is refused."""

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import PeerFault
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.wire import pack as packs
from gossamer.wire.pack import PACK_BYTES_MAX, Pack, opened, pack, unpack, unproved
from gossamer.wire.proof import BATCH_MAX, Proofs, Stamp, leaf, levels, parent, signed_text, stamp, whole
from gossamer.wire.sealed import HEAD_BYTES_MAX, SEAL_BYTES_MAX, TooDeep, head_of, unseal
from wire import golden
from wire.test_proof import KEY, SIZES, sign, verify
from wire.test_sealed import EVENTS

encode = msgspec.msgpack.encode


def events_of(size: int) -> list[Event]:
    return [Event(EventId(1, 2, i), ".a", b"%d" % i, published_us=i, ordinal=i) for i in range(size)]


def packed(events: list[Event], signed: bool = True) -> Pack:
    heads = [head_of(each) for each in events]
    leaves = [leaf(head, each.payload) for head, each in zip(heads, events, strict=True)]
    return pack(heads, events, levels(leaves), lambda *signs: stamp(*signs, KEY, sign) if signed else None)


def test_a_pack_is_these_bytes() -> None:
    tree = levels([leaf(golden.HEAD, b"payload")])
    made = pack([golden.HEAD], [golden.EVENT], tree, lambda *signs: Stamp(b"k" * 8, b"s" * 64))
    assert made.content == golden.CONTENT
    read, events = unpack(golden.CONTENT)
    assert events == [golden.EVENT]
    assert (read.proof, read.mark) == (golden.PACK_PROOF, whole(golden.IN_PACK))


@pytest.mark.parametrize("size", SIZES)
def test_every_event_of_a_pack_can_be_taken_out_and_proved_alone(size: int) -> None:
    events = events_of(size)
    read, again = unpack(packed(events).content)
    assert again == events
    assert read.ids == tuple(event.id for event in events)
    for event in events:
        its_leaf, sealed = opened(read)[event.id]
        alone, its_leaf_again, proof = unseal(sealed)
        assert (alone, its_leaf_again) == (event, its_leaf)
        assert proof is not None
        assert Proofs().holds(its_leaf, proof, verify)


def test_an_unsigned_pack_gives_unsigned_events() -> None:
    events = events_of(3)
    made, _ = unpack(packed(events, signed=False).content)
    assert unseal(opened(made)[events[1].id][1])[::2] == (events[1], None)


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_every_pack_survives(events: list[Event]) -> None:
    events = [msgspec.structs.replace(each, id=EventId(7, 8, i)) for i, each in enumerate(events)]
    made = packed(events)
    read, again = unpack(made.content)
    assert again == events
    assert (read.mark, read.ids, read.proof) == (made.mark, made.ids, made.proof)


def test_the_mark_is_what_was_signed() -> None:
    made = packed(events_of(5))
    assert made.proof is not None
    assert verify(made.proof.signature, signed_text(5, parent(made.proof.path, made.mark)))


def test_of_a_pack_beside_another_tree_nothing_is_taken_out() -> None:
    """Its publisher signed it, but one event by itself would prove nothing."""
    true = events_of(5)
    made = beside_another_tree(true)
    assert made.proof is not None
    assert Proofs().holds(made.mark, made.proof, verify)
    assert opened(unpack(made.content)[0]) == {}
    assert made.alone(true[0].id) is None


def test_events_are_hashed_once_however_often_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    events, hashed = events_of(BATCH_MAX), []

    def counting(*given: bytes) -> bytes:
        hashed.append(given)
        return leaf(*given)

    made, _ = unpack(packed(events).content)
    monkeypatch.setattr(packs, "leaf", counting)
    for each in [*events, *events]:
        assert made.leaf(each.id) == leaf(head_of(each), each.payload)
    assert len(hashed) == BATCH_MAX


def test_a_reader_finds_every_event_of_a_pack_whatever_it_proves() -> None:
    events = events_of(5)
    for made in (packed(events), packed(events, signed=False), beside_another_tree(events)):
        assert [unseal(sealed)[::2] for sealed in unproved(made).values()] == [(each, None) for each in events]


def beside_another_tree(events: list[Event]) -> Pack:
    """Signed together with a tree over other events."""
    tree = levels([leaf(head_of(each), b"other") for each in events])
    return pack([*map(head_of, events)], events, tree, lambda *signs: stamp(*signs, KEY, sign))


def test_the_order_of_events_is_part_of_what_was_signed() -> None:
    one, other = events_of(2)
    assert packed([one, other]).mark != packed([other, one]).mark


def test_fields_that_a_later_version_adds_are_passed_over() -> None:
    read, events = unpack(encode([*msgspec.msgpack.decode(golden.CONTENT), "a field of tomorrow"]))
    assert (events, read.mark) == ([golden.EVENT], whole(golden.IN_PACK))


# -- limits ------------------------------------------------------------------------------------------------------


def changed(change: Callable[[list[Any]], object], size: int = 3) -> bytes:
    """A pack with other events, but the proof of the true ones."""
    proof, events = msgspec.msgpack.decode(packed(events_of(size)).content)
    content = msgspec.msgpack.decode(events)
    change(content)
    return encode([proof, encode(content)])


def proved_by(change: Callable[[list[Any]], object]) -> bytes:
    content = msgspec.msgpack.decode(packed(events_of(3)).content)
    change(content)
    return encode(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "not a pack", id="nothing"),
        pytest.param(b"\xc1", "not a pack", id="rubbish"),
        pytest.param(encode([None, b""]), "not a pack", id="nothing in it"),
        pytest.param(encode([None, encode([[], []])]), "not a pack", id="no events"),
        pytest.param(changed(lambda c: c[1].pop()), "more heads than payloads", id="a payload short"),
        pytest.param(changed(lambda c: c[0].pop()), "more heads than payloads", id="a head short"),
        pytest.param(changed(lambda c: c[0].__setitem__(2, c[0][0])), "in it twice", id="a head twice"),
        pytest.param(changed(lambda c: c[0][1][0].__setitem__(0, 9)), "more than one publisher", id="two publishers"),
        pytest.param(changed(lambda c: c[0][1].__setitem__(1, "soccer")), "not an event", id="a topic without a dot"),
        pytest.param(changed(lambda c: c[0][1].__setitem__(0, [1])), "not a pack", id="half an id"),
        pytest.param(changed(lambda c: c[0].__setitem__(0, b"head")), "not a pack", id="a head as a string"),
        pytest.param(
            changed(lambda c: c[0][0].append(bytes(HEAD_BYTES_MAX))), "a head of more than 64 KiB", id="a long head"
        ),
        pytest.param(changed(lambda c: c[0][0].__setitem__(6, [[1, 1, 1]] * 2049)), "8 KiB of tags", id="many tags"),
        pytest.param(
            changed(lambda c: (c[0].append(c[0][0]), c[1].append(b""))[0], BATCH_MAX), "not a pack", id="too many"
        ),
        pytest.param(changed(lambda c: (c[0].pop(), c[1].pop())), "proof of something else", id="an event short"),
        pytest.param(proved_by(lambda c: c[0].__setitem__(3, 1)), "proof of something else", id="an event's proof"),
        pytest.param(proved_by(lambda c: c[0].__setitem__(1, b"s")), "not a pack", id="a short signature"),
        pytest.param(proved_by(lambda c: c.append(bytes(SEAL_BYTES_MAX + 9))), "did not sign", id="much around it"),
    ],
)
def test_what_is_no_pack_is_the_peers_fault(content: bytes, why: str) -> None:
    with pytest.raises(PeerFault, match=why):
        unpack(content)


@pytest.mark.parametrize("count", [2, BATCH_MAX])
def test_no_pack_is_larger_than_two_of_them_and_a_frame_can_bear(count: int) -> None:
    events = events_of(count)
    room = PACK_BYTES_MAX - 1 - sum(len(head_of(each)) + len(each.payload) for each in events)
    largest = [*events[:-1], msgspec.structs.replace(events[-1], payload=bytes(room) + events[-1].payload)]
    assert unpack(packed(largest).content)[1] == largest
    too_large = [*events[:-1], msgspec.structs.replace(events[-1], payload=bytes(room + 1024))]
    with pytest.raises(PeerFault, match="more than 256 KiB"):
        unpack(packed(too_large).content)


def nested(depth: int, size: int) -> bytes:
    """A pack of one event, with something of tomorrow in its head that goes deep."""
    head = head_of(golden.EVENT)
    head = bytes([head[0] + 1]) + head[1:] + b"\x91" * depth + b"\xc0"
    return encode([None, b"\x92\x91" + head + b"\x91" + encode(bytes(size))])


@pytest.mark.parametrize("size", [0, HEAD_BYTES_MAX])
def test_what_is_nested_too_deeply_is_refused_or_left_whole(size: int) -> None:
    """How deep is too deep depends on how high the stack is, so what came in may be too deep later."""
    limit, refused = sys.getrecursionlimit(), 0
    for depth in range(limit - 200, limit + 1):
        try:
            made, _ = unpack(nested(depth, size))
        except TooDeep:
            refused += 1
            continue
        assert higher(50, lambda its=made: its.leaf(its.ids[0])) in {b"", made.leaf(made.ids[0])}
        for take_apart in (opened, unproved):
            assert higher(50, lambda its=made, each=take_apart: [*each(its)]) in [[], [golden.EVENT.id]]
    assert 0 < refused < 200


def higher(frames: int, ask: Callable[[], Any]) -> Any:
    """Asks with so many frames more on the stack."""
    return ask() if frames == 0 else higher(frames - 1, ask)


def test_a_changed_event_makes_another_mark() -> None:
    true = packed(events_of(3))
    assert unpack(changed(lambda c: c[1].__setitem__(1, b"false")))[0].mark != true.mark
    assert unpack(changed(lambda c: c[0][1].__setitem__(4, 77)))[0].mark != true.mark


# -- proofs of whole packs ----------------------------------------------------------------------------------------


def test_a_pack_holds_once_it_was_signed_and_its_events_need_not_prove_that_again() -> None:
    made, asked = packed(events_of(6)), []

    def ask(signature: bytes, text: bytes) -> bool:
        asked.append(text)
        return verify(signature, text)

    memory = Proofs()
    assert made.proof is not None
    for _ in range(3):
        assert memory.holds(made.mark, made.proof, ask, KEY)
        assert not memory.holds(b"x" * 16, made.proof, ask, KEY)
    assert not memory.holds(made.mark, made.proof, lambda signature, text: False, b"another's key")
    for its_leaf, sealed in opened(made).values():
        proof = unseal(sealed)[2]
        assert proof is not None
        assert memory.holds(its_leaf, proof, ask, KEY)
        assert not memory.holds(b"x" * 16, proof, ask, KEY)
    assert len(asked) == 1
