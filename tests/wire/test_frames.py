"""Frames: the format is pinned, what a newer version adds is passed over, and every size has a limit."""

from typing import Any

import msgspec
import pytest

from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId
from gossamer.live.links.control import CLIENT_CONTROL, NODE_CONTROL
from gossamer.protocols import CATALOGUE
from gossamer.wire.codec import Codec
from gossamer.wire.frame import (
    EVENT_PARTS_MAX,
    FRAME_BYTES_MAX,
    HEADER,
    ITEMS_MAX,
    PART_BYTES,
    ROUTE_MAX,
    SAID_BYTES_MAX,
    Batch,
    Copy,
    Hello,
    agree,
    batch_frame,
    hello_frame,
    packed,
    part_frames,
    read_batch,
    read_hello,
    read_part,
)
from wire import golden

pack = msgspec.msgpack.encode
CODEC = Codec(dict.fromkeys((*CATALOGUE["camcast"].spoken, *NODE_CONTROL, *CLIENT_CONTROL)))


def body(frame: bytes) -> bytes:
    return frame[HEADER.size :]


# -- golden frames -----------------------------------------------------------------------------------------------


def test_a_hello_is_these_bytes() -> None:
    assert hello_frame(golden.HELLO) == golden.HELLO_FRAME
    assert read_hello(body(golden.HELLO_FRAME)) == golden.HELLO


def test_a_batch_is_these_bytes() -> None:
    copies, bodies, packs = [packed(golden.COPY)], [packed(golden.UNSIGNED)], [packed(golden.PACK_COPY)]
    assert batch_frame([packed(b"record")], copies, bodies, [golden.BYE], packs=packs) == golden.BATCH_FRAME
    read = read_batch(body(golden.BATCH_FRAME))
    assert read.records == [b"record"]
    assert read.copies == [golden.COPY]
    assert [bytes(each) for each in read.bodies] == [golden.UNSIGNED]
    assert [bytes(each) for each in read.messages] == [golden.BYE]
    assert read.packs == [golden.PACK_COPY]


def test_a_part_is_these_bytes_and_only_the_first_names_the_event() -> None:
    assert [*part_frames(9, b"large", golden.COPY)] == [golden.PART_FRAMES[0]]
    assert [*part_frames(9, b"all", None)] == [golden.PART_FRAMES[1]]
    read = read_part(body(golden.PART_FRAMES[0]))
    assert (read.transfer, read.start, read.total, bytes(read.piece), read.copy) == (9, 0, 5, b"large", golden.COPY)


@pytest.mark.parametrize(("message", "data"), golden.MESSAGES, ids=lambda each: type(each).__name__)
def test_a_message_is_these_bytes(message: msgspec.Struct, data: bytes) -> None:
    assert CODEC.encode(message) == data
    assert CODEC.decode(data) == message


def test_every_kind_of_message_is_pinned() -> None:
    carriers = {kind for kind in CODEC.tags.values() if "carried" in kind.__struct_fields__}
    assert {type(message) for message, _ in golden.MESSAGES} | carriers == {*CODEC.tags.values()}
    assert {kind.__struct_config__.tag for kind in carriers} == {"camcast.carry", "recovery.again", "catchup.brings"}


# -- versions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"),
    [
        pytest.param((1, 2), (1, 1), 1, id="the newer steps back"),
        pytest.param((1, 1), (1, 2), 1, id="and so it is seen from the elder"),
        pytest.param((1, 2), (1, 2), 2, id="the highest both speak"),
        pytest.param((2, 3), (1, 2), 2, id="N and N - 1"),
        pytest.param((1, 1), (0, 255), 1, id="whoever speaks everything"),
    ],
)
def test_the_highest_version_both_speak_is_used(ours: tuple[int, int], theirs: tuple[int, int], agreed: int) -> None:
    assert agree(ours, theirs) == agree(theirs, ours) == agreed


@pytest.mark.parametrize("theirs", [(2, 3), (0, 0), (5, 3)])
def test_without_a_common_version_the_refusal_is_one_sentence(theirs: tuple[int, int]) -> None:
    with pytest.raises(PeerFault) as refused:
        agree((1, 1), theirs)
    assert str(refused.value) == f"the peer speaks versions {theirs[0]} to {theirs[1]}, we speak 1 to 1"


def test_a_hello_goes_out_in_the_oldest_version_spoken_so_that_everybody_can_read_it() -> None:
    assert hello_frame(Hello(3, 5, "default", "node", b""))[4] == 3


# -- what a newer version would send -----------------------------------------------------------------------------


def longer(value: Any) -> bytes:
    """The same array with two more fields at its end."""
    return pack([*msgspec.msgpack.decode(pack(value)), "a field of tomorrow", {"and": [1]}])


def test_further_fields_of_a_hello_a_batch_a_part_and_a_copy_or_pack_are_passed_over() -> None:
    assert read_hello(longer(golden.HELLO)) == golden.HELLO
    section = [msgspec.msgpack.decode(longer(golden.COPY))]
    packs = [msgspec.msgpack.decode(longer(golden.PACK_COPY))]
    batch = read_batch(longer([[b"record"], section, [golden.UNSIGNED], [{"type": "live.bye"}], packs]))
    assert batch.copies == [golden.COPY]
    assert batch.packs == [golden.PACK_COPY]
    assert len(batch.messages) == 1
    part = read_part(longer([9, 0, 5, b"large", msgspec.msgpack.decode(longer(golden.COPY))]))
    assert part.copy == golden.COPY


@pytest.mark.parametrize("message", [each for each, _ in golden.MESSAGES], ids=lambda each: type(each).__name__)
def test_fields_that_have_a_default_may_be_missing(message: msgspec.Struct) -> None:
    """A later version added them."""
    required = [each.name for each in msgspec.structs.fields(message) if each.required]
    said = {name: msgspec.to_builtins(getattr(message, name), builtin_types=(bytes,)) for name in required}
    read = CODEC.decode(pack({"type": message.__struct_config__.tag, **said}))
    assert all(getattr(read, name) == getattr(message, name) for name in required)


def test_a_message_of_unknown_kind_is_told_from_a_wrong_one() -> None:
    tomorrow = pack({"type": "camcast.tomorrow", "what": [1, 2]})
    assert not CODEC.knows(tomorrow)
    assert CODEC.knows(pack({"type": "scamp.beat", "topic": 5}))
    assert CODEC.knows(b"\xc1")
    with pytest.raises(PeerFault):
        CODEC.decode(tomorrow)


# -- limits ------------------------------------------------------------------------------------------------------


def copy_with(**changes: Any) -> Copy:
    return msgspec.structs.replace(golden.COPY, **changes)


def batch_of(copies: list[Any], bodies: list[bytes], messages: list[Any] | None = None) -> bytes:
    return pack([[], copies, bodies, messages or []])


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(copy_with(route=(1,) * (ROUTE_MAX + 1)), id="a long route"),
        pytest.param(copy_with(hops=2**32 + 1), id="too many hops"),
        pytest.param(copy_with(hops=-1), id="fewer than no hops"),
        pytest.param(copy_with(tag="x" * 65), id="a long tag"),
        pytest.param(copy_with(leaf=b"l" * 15), id="a short hash"),
        pytest.param(copy_with(leaf=b"l" * 17), id="a long hash"),
        pytest.param(copy_with(id=EventId(2**63, 0, 0)), id="a publisher of 64 bits"),
        pytest.param(copy_with(id=EventId(0, 0, -1)), id="a negative sequence"),
    ],
)
def test_a_copy_has_limits(copy: Copy) -> None:
    with pytest.raises(PeerFault, match="not a frame"):
        read_batch(batch_of([copy], [b""]))
    with pytest.raises(PeerFault, match="not a frame"):
        read_part(pack([1, 0, 1, b"x", copy]))


def test_a_copy_at_its_limits_is_read() -> None:
    widest = Copy(EventId(2**63 - 1, 2**63 - 1, 2**63 - 1), b"\xff" * 16, 2**32, "x" * 64, (2**63 - 1,) * ROUTE_MAX)
    assert read_batch(batch_of([widest], [b""])).copies == [widest]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"mark": b"m" * 15}, id="a short mark"),
        pytest.param({"mark": b"m" * 17}, id="a long mark"),
        pytest.param({"hops": 2**32 + 1}, id="too many hops"),
        pytest.param({"tag": "x" * 65}, id="a long tag"),
        pytest.param({"route": (1,) * (ROUTE_MAX + 1)}, id="a long route"),
        pytest.param({"content": "text"}, id="text for events"),
    ],
)
def test_a_copy_of_a_pack_has_limits(changes: dict[str, Any]) -> None:
    with pytest.raises(PeerFault, match="not a frame"):
        read_batch(pack([[], [], [], [], [msgspec.structs.replace(golden.PACK_COPY, **changes)]]))


@pytest.mark.parametrize("section", range(5))
def test_a_section_of_a_batch_has_at_most_so_many_items(section: int) -> None:
    many: list[Any] = [[], [], [], [], []]
    items: list[Any] = [b"", golden.COPY, b"", None, golden.PACK_COPY]
    many[section] = [items[section]] * (ITEMS_MAX + 1)
    with pytest.raises(PeerFault, match="not a frame"):
        read_batch(pack(many))


@pytest.mark.parametrize(("copies", "bodies"), [(1, 0), (0, 1), (2, 1)])
def test_every_copy_has_a_body(copies: int, bodies: int) -> None:
    with pytest.raises(PeerFault, match="copies than bodies"):
        read_batch(batch_of([golden.COPY] * copies, [b""] * bodies))


def test_a_lie_about_the_number_of_items_costs_nothing() -> None:
    with pytest.raises(PeerFault, match="not a frame"):
        read_batch(b"\x95" + b"\xdd\xff\xff\xff\xff" * 5)


@pytest.mark.parametrize(
    "hello",
    [
        pytest.param([-1, 1, "n", "node", b""], id="a negative version"),
        pytest.param([1, 256, "n", "node", b""], id="a version that fits no byte"),
        pytest.param([1, 1, "n" * 65, "node", b""], id="a long network"),
        pytest.param([1, 1, "n", "r" * 17, b""], id="a long role"),
        pytest.param([1, 1, "n", "node", "text"], id="text for a record"),
        pytest.param([1, 1, "n", "node", b"", 2**63], id="a list of too high a version"),
        pytest.param([1, 1, "n", "node"], id="no record"),
        pytest.param([], id="nothing"),
    ],
)
def test_a_hello_has_limits(hello: list[Any]) -> None:
    with pytest.raises(PeerFault, match="not a frame"):
        read_hello(pack(hello))


@pytest.mark.parametrize(
    "part",
    [
        pytest.param([2**63, 0, 1, b"x"], id="a transfer of 64 bits"),
        pytest.param([1, -1, 1, b"x"], id="before the start"),
        pytest.param([1, 2**31, 1, b"x"], id="a start beyond any event"),
        pytest.param([1, 0, 2**31, b"x"], id="a total beyond any event"),
        pytest.param([1, 0, 0, b""], id="a part of nothing"),
        pytest.param([1, 0, 1], id="no piece"),
    ],
)
def test_a_part_has_limits(part: list[Any]) -> None:
    with pytest.raises(PeerFault, match="not a frame"):
        read_part(pack(part))


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x90", b"\xc0", b"\x91" * 10_000, b"\x94\x90\x90\x90", pack({"records": []})]
)
def test_what_is_no_frame_is_the_peers_fault(data: bytes) -> None:
    for read in (read_hello, read_batch, read_part):
        with pytest.raises(PeerFault, match="not a frame"):
            read(data)


def test_the_largest_event_travels_in_parts_that_fit_a_frame() -> None:
    whole = bytes(EVENT_PARTS_MAX)
    made = [*part_frames(1, whole, golden.COPY)]
    assert max(map(len, made)) <= PART_BYTES + 256 < FRAME_BYTES_MAX
    read = [read_part(body(each)) for each in made]
    assert b"".join(bytes(each.piece) for each in read) == whole
    assert [each.copy for each in read] == [golden.COPY, *[None] * (len(read) - 1)]
    assert [each.start for each in read] == [*range(0, EVENT_PARTS_MAX, PART_BYTES)]


def test_a_batch_put_together_from_parts_is_what_encoding_it_whole_would_mean() -> None:
    made = batch_frame([packed(b"r")], [packed(golden.COPY)], [packed(b"b")], [golden.BYE])
    whole = pack(Batch([b"r"], [golden.COPY], [memoryview(b"b")], [msgspec.Raw(golden.BYE)]))
    assert read_batch(body(made)) == read_batch(whole)


def test_what_a_message_says_beside_its_event_stands_last_in_its_copy_and_few_bytes_are_allowed() -> None:
    copy = msgspec.structs.replace(golden.COPY, said=b"said")
    assert packed(copy) == b"\x96" + golden.PACKED_COPY[1:] + b"\xc4\x04said"
    (read,) = read_batch(body(batch_frame([], [packed(copy)], [packed(b"b")], []))).copies
    assert read == copy
    (part,) = part_frames(9, b"large", copy)
    assert read_part(body(part)).copy == copy
    long = msgspec.structs.replace(copy, said=b"x" * (SAID_BYTES_MAX + 1))
    with pytest.raises(PeerFault):
        read_batch(body(batch_frame([], [packed(long)], [packed(b"b")], [])))
