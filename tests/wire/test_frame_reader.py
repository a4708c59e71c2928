"""The frame reader: however a stream is cut, the same frames come out, and never more than one of them is held."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.errors import PeerFault
from gossamer.wire.frame import BATCH, FRAME_BYTES_MAX, HEADER, HELLO, HELLO_BYTES_MAX, PART, FrameReader, frame

Whole = tuple[int, int, bytes]

FRAMES = st.lists(
    st.tuples(st.integers(0, 255), st.sampled_from([HELLO, BATCH, PART, 77]), st.binary(max_size=40)), max_size=6
)


def wide_open() -> FrameReader:
    reader = FrameReader()
    reader.limit = FRAME_BYTES_MAX
    return reader


def read(reader: FrameReader, chunks: list[bytes]) -> list[Whole]:
    return [(version, kind, bytes(body)) for chunk in chunks for version, kind, body in reader.feed(chunk)]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(bounds)]


@settings(max_examples=500)
@given(FRAMES, st.lists(st.integers(0, 10_000), max_size=8))
def test_a_stream_may_be_cut_anywhere(sent: list[Whole], places: list[int]) -> None:
    stream = b"".join(frame(kind, body, version) for version, kind, body in sent)
    reader = wide_open()
    assert read(reader, cut(stream, places)) == sent
    assert not reader.unfinished


@given(FRAMES)
def test_a_stream_may_come_byte_by_byte(sent: list[Whole]) -> None:
    stream = b"".join(frame(kind, body, version) for version, kind, body in sent)
    assert read(wide_open(), [stream[i : i + 1] for i in range(len(stream))]) == sent


def test_every_cut_of_two_frames_into_three_pieces() -> None:
    sent = [(1, HELLO, b"hello"), (1, BATCH, b"")]
    stream = b"".join(frame(kind, body, version) for version, kind, body in sent)
    for first in range(len(stream) + 1):
        for second in range(first, len(stream) + 1):
            assert read(wide_open(), [stream[:first], stream[first:second], stream[second:]]) == sent


def test_what_has_not_come_whole_is_unfinished() -> None:
    whole = frame(BATCH, b"body")
    for length in range(1, len(whole)):
        reader = wide_open()
        assert read(reader, [whole[:length]]) == []
        assert reader.unfinished
        assert read(reader, [whole[length:]]) == [(1, BATCH, b"body")]
        assert not reader.unfinished


def test_a_body_outlives_what_is_read_after_it() -> None:
    reader = wide_open()
    stream = frame(BATCH, b"first") + frame(BATCH, b"second")
    bodies = [body for i in range(len(stream)) for _, _, body in reader.feed(stream[i : i + 1])]
    assert [bytes(body) for body in bodies] == [b"first", b"second"]


@pytest.mark.parametrize("limit", [HELLO_BYTES_MAX, FRAME_BYTES_MAX])
def test_a_frame_may_be_as_long_as_the_limit_and_no_longer(limit: int) -> None:
    reader = FrameReader()
    reader.limit = limit
    longest = frame(BATCH, bytes(limit - 2))
    assert [len(body) for _, _, body in read(reader, [longest])] == [limit - 2]
    with pytest.raises(PeerFault, match=f"a frame of {limit + 1} bytes, and at most {limit}"):
        read(reader, [frame(BATCH, bytes(limit - 1))[:10]])


@pytest.mark.parametrize("length", [0, 1, FRAME_BYTES_MAX + 1, 2**32 - 1])
@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_a_length_that_cannot_be_is_refused_once_it_is_there(length: int, pieces: int) -> None:
    """However its header is cut: nothing that follows is held in the hope of the rest."""
    header = HEADER.pack(length, 1, BATCH)
    reader = wide_open()
    with pytest.raises(PeerFault, match="a frame of"):
        read(reader, [header[:pieces], header[pieces:], b"x"])


def test_the_limit_may_grow_between_two_frames_of_one_read() -> None:
    """A hello and the first batch often come together."""
    reader, read_so_far = FrameReader(), []
    for _, kind, body in reader.feed(frame(HELLO, b"hello") + frame(BATCH, bytes(HELLO_BYTES_MAX))):
        read_so_far.append((kind, len(body)))
        reader.limit = FRAME_BYTES_MAX
    assert read_so_far == [(HELLO, 5), (BATCH, HELLO_BYTES_MAX)]


def test_a_dripping_frame_takes_no_more_memory_than_its_bytes() -> None:
    reader = wide_open()
    header = HEADER.pack(FRAME_BYTES_MAX, 1, BATCH)
    assert read(reader, [header, *[b"x"] * 100_000]) == []
    assert len(reader._held) == len(header) + 100_000
