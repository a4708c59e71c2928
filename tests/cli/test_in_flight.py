"""Many publications under way at once: bounded, and over with the first refusal."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from gossamer.cli import in_flight
from gossamer.cli.in_flight import publish_all
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.ids import EventId


class Taker:
    """A node that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.answers: list[asyncio.Future[EventId]] = []
        self.told: list[int] = []

    def publish(self, payload: bytes) -> "asyncio.Future[EventId]":
        self.asked.append(payload)
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]

    def take(self, number: int) -> None:
        self.answers[number].set_result(EventId(1, 1, number))

    def start(self, batches: AsyncIterator[list[bytes]]) -> "asyncio.Task[None]":
        return asyncio.create_task(publish_all(self.publish, batches, lambda id: self.told.append(id.sequence)))


async def batches(*all_of_them: Iterable[bytes]) -> AsyncIterator[list[bytes]]:
    for each in all_of_them:
        yield list(each)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_only_so_many_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "WINDOW", 3)

    async def scenario() -> None:
        taker = Taker()
        work = taker.start(batches([b"0", b"1"], [b"2", b"3", b"4"]))
        for answered in range(5):
            await settle()
            assert len(taker.asked) == min(5, 3 + answered)
            taker.take(answered)
        await work
        assert taker.told == [0, 1, 2, 3, 4]

    asyncio.run(scenario())


def test_only_so_many_bytes_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_flight, "WINDOW_BYTES", 10)

    async def scenario() -> None:
        taker = Taker()
        work = taker.start(batches([b"." * 8, b"." * 8, b"."]))
        await settle()
        assert len(taker.asked) == 2
        for number in range(3):
            taker.take(number)
            await settle()
        await work

    asyncio.run(scenario())


def test_a_refusal_ends_it_and_says_how_many_were_taken_before() -> None:
    async def scenario() -> None:
        taker = Taker()
        work = taker.start(batches([b"0", b"1", b"2"]))
        await settle()
        taker.take(0)
        taker.answers[1].set_exception(Misuse("too large"))
        taker.answers[2].set_exception(Misuse("another matter"))
        with pytest.raises(Misuse, match=r"^too large \(1 events before it were taken\)$"):
            await work

    asyncio.run(scenario())


def test_a_link_that_breaks_while_nothing_comes_ends_it() -> None:
    async def slow() -> AsyncIterator[list[bytes]]:
        yield [b"0"]
        await asyncio.Event().wait()

    async def scenario() -> None:
        taker = Taker()
        work = taker.start(slow())
        await settle()
        taker.answers[0].set_exception(TransportDown("the link is gone"))
        with pytest.raises(TransportDown, match=r"^the link is gone$"):
            await work

    asyncio.run(scenario())


def test_what_is_refused_without_being_sent_ends_it_too() -> None:
    def refuse(payload: bytes) -> "asyncio.Future[EventId]":
        raise Misuse("not granted")

    async def scenario() -> None:
        with pytest.raises(Misuse, match=r"^not granted$"):
            await publish_all(refuse, batches([b"0", b"1"]), lambda id: None)

    asyncio.run(scenario())
