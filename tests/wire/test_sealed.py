"""Sealed events: the bytes are pinned, the head is read without the payload, and whatever else comes is refused."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import PeerFault
from gossamer.core.events import Event
from gossamer.core.ids import ORDINAL_MAX, EventId
from gossamer.core.patterns import Tag
from gossamer.wire.proof import BATCH_MAX, PATH_MAX, leaf
from gossamer.wire.sealed import HEAD_BYTES_MAX, SEAL_BYTES_MAX, head_of, seal, unseal
from wire import golden

pack = msgspec.msgpack.encode
IDS = st.builds(EventId, *[st.integers(0, 2**63 - 1)] * 3)
EVENTS = st.builds(
    Event,
    IDS,
    st.sampled_from([".", ".a", ".soccer.italy", "." + "é" * 20]),
    st.binary(max_size=100),
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.text(max_size=8) | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.booleans(),
        max_size=5,
    ),
    st.none() | st.floats(0, 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, ORDINAL_MAX),
)


def test_an_event_is_these_bytes() -> None:
    assert head_of(golden.EVENT) == golden.HEAD
    assert seal(golden.HEAD, golden.EVENT.payload, None) == golden.UNSIGNED
    assert seal(golden.HEAD, golden.EVENT.payload, golden.PROOF) == golden.SIGNED


def test_an_event_is_read_from_these_bytes() -> None:
    assert unseal(golden.UNSIGNED) == (golden.EVENT, leaf(golden.HEAD, b"payload"), None)
    assert unseal(memoryview(golden.SIGNED)) == (golden.EVENT, leaf(golden.HEAD, b"payload"), golden.PROOF)


@given(EVENTS)
def test_every_event_survives_sealing(event: Event) -> None:
    head = head_of(event)
    assert unseal(seal(head, event.payload, golden.PROOF)) == (event, leaf(head, event.payload), golden.PROOF)


def test_fields_that_a_later_version_adds_are_passed_over_and_are_signed_with_the_rest() -> None:
    head = pack([*msgspec.msgpack.decode(golden.HEAD), "a field of tomorrow"])
    sealed = pack([head, b"payload", None, "another"])
    event, its_leaf, proof = unseal(sealed)
    assert (event, proof) == (golden.EVENT, None)
    assert its_leaf == leaf(head, b"payload") != leaf(golden.HEAD, b"payload")


def test_bytes_cannot_be_moved_between_head_and_payload() -> None:
    assert leaf(b"ab", b"c") != leaf(b"a", b"bc")
    assert leaf(b"1", b"") != leaf(b"", b"1")


# -- limits ------------------------------------------------------------------------------------------------------


def sealed_with(place: int, value: Any) -> bytes:
    head = msgspec.msgpack.decode(golden.HEAD)
    head[place] = value
    return pack([pack(head), b"payload", None])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param(0, [1, 2], id="an id without a sequence"),
        pytest.param(0, [1, 2, 2**63], id="a sequence of 64 bits"),
        pytest.param(1, "soccer", id="a topic without a dot"),
        pytest.param(1, ".a b", id="a topic with a space"),
        pytest.param(1, ".a" * 128, id="a long topic"),
        pytest.param(2, {str(i): i for i in range(65)}, id="65 attributes"),
        pytest.param(2, {"": 1}, id="an attribute without a name"),
        pytest.param(2, {"x" * 129: 1}, id="an attribute with a long name"),
        pytest.param(2, {"x": [1]}, id="a list for an attribute"),
        pytest.param(2, {"x": None}, id="nothing for an attribute"),
        pytest.param(3, 1.5, id="a chance above one"),
        pytest.param(3, math.nan, id="a chance that is no number"),
        pytest.param(4, -1, id="before 1970"),
        pytest.param(4, 2**63, id="after the end of time"),
        pytest.param(5, -1, id="a negative ordinal"),
        pytest.param(5, 2**48, id="an ordinal nobody gets to"),
    ],
)
def test_a_head_has_limits(place: int, value: Any) -> None:
    with pytest.raises(PeerFault, match="not an event"):
        unseal(sealed_with(place, value))


def test_64_attributes_with_names_of_128_letters_are_allowed() -> None:
    attributes = {f"{i:0128}": i for i in range(64)}
    assert unseal(sealed_with(2, attributes))[0].attributes == attributes


def test_a_relay_cannot_make_an_event_larger() -> None:
    """What is not signed has little room: it would be passed on by everybody."""
    assert unseal(pack([golden.HEAD, b"payload", None, bytes(900)]))[0] == golden.EVENT
    with pytest.raises(PeerFault, match="did not sign"):
        unseal(pack([golden.HEAD, b"payload", None, bytes(2000)]))


def test_a_proof_of_the_longest_path_leaves_room() -> None:
    longest = golden.PROOF.__class__(b"k" * 8, b"s" * 64, 64, 63, b"h" * 16 * PATH_MAX)
    body = seal(golden.HEAD, b"payload", longest)
    assert unseal(body)[2] == longest
    assert len(body) < len(golden.HEAD) + 7 + SEAL_BYTES_MAX // 2


@pytest.mark.parametrize("over", [0, 1])
def test_a_head_is_at_most_64_kib(over: int) -> None:
    room = HEAD_BYTES_MAX + over - len(head_of(Event(EventId(1, 2, 3), ".a", b"", {"k": "x" * 60_000}))) + 60_000
    head = head_of(Event(EventId(1, 2, 3), ".a", b"", {"k": "x" * room}))
    assert len(head) == HEAD_BYTES_MAX + over
    if over:
        with pytest.raises(PeerFault, match="a head of more than 64 KiB"):
            unseal(seal(head, b"", None))
    else:
        assert unseal(seal(head, b"", None))[0].attributes == {"k": "x" * room}


def test_tags_take_at_most_8_kib_however_many_they_are() -> None:
    short, long = [Tag(number % 100, 1) for number in range(2048)], [Tag(2**62, ORDINAL_MAX, 2**62)] * 292
    for tags in (short, long):
        event = Event(EventId(1, 2, 3), ".a", tags=tuple(tags))
        assert unseal(seal(head_of(event), b"", None))[0] == event
        one_more = Event(EventId(1, 2, 3), ".a", tags=(*tags, tags[0]))
        with pytest.raises(PeerFault, match="more than 8 KiB of tags"):
            unseal(seal(head_of(one_more), b"", None))


def test_a_tag_of_yesterday_told_no_age() -> None:
    head = msgspec.msgpack.decode(head_of(Event(EventId(1, 2, 3), ".a", tags=(Tag(7, 1), Tag(8, 2, 9)))))
    head[-1] = [tag[:2] for tag in head[-1]]
    assert unseal(seal(pack(head), b"", None))[0].tags == (Tag(7, 1), Tag(8, 2))


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param([b"k" * 7, b"s" * 64, 2, 1, b"h" * 16], id="a short key"),
        pytest.param([b"k" * 8, b"s" * 63, 2, 1, b"h" * 16], id="a short signature"),
        pytest.param([b"k" * 8, b"s" * 64, BATCH_MAX + 1, 1, b"h" * 16], id="too many leaves"),
        pytest.param([b"k" * 8, b"s" * 64, 0, 0, b""], id="no leaves"),
        pytest.param([b"k" * 8, b"s" * 64, 2, BATCH_MAX + 1, b"h" * 16], id="an index beyond any tree"),
        pytest.param([b"k" * 8, b"s" * 64, 2, 1, [b"h" * 16]], id="a path in pieces"),
        pytest.param([b"k" * 8, b"s" * 64, 64, 1, b"h" * 16 * (PATH_MAX + 1)], id="a long path"),
    ],
)
def test_a_proof_has_limits(proof: list[Any]) -> None:
    with pytest.raises(PeerFault, match="not an event"):
        unseal(pack([golden.HEAD, b"payload", proof]))


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc0", b"\x92\xc4\x00", b"\x91" * 5000, pack([golden.HEAD, "text"]), pack([b"\x91" * 5000, b""])],
    ids=["nothing", "nil", "cut short", "lists in lists", "text for a payload", "a head of lists in lists"],
)
def test_what_is_no_event_is_the_peers_fault(data: bytes) -> None:
    with pytest.raises(PeerFault, match="not an event"):
        unseal(data)


def test_every_single_flipped_bit_is_refused_or_makes_another_event() -> None:
    """No bit of the head or the payload can change without the leaf, which is what was signed."""
    for bit in range(8 * len(golden.SIGNED)):
        data = bytearray(golden.SIGNED)
        data[bit // 8] ^= 1 << bit % 8
        try:
            event, its_leaf, proof = unseal(bytes(data))
        except PeerFault:
            continue
        assert (its_leaf, proof) != (leaf(golden.HEAD, b"payload"), golden.PROOF), bit
        assert (event == golden.EVENT) == (its_leaf == leaf(golden.HEAD, b"payload")), bit
