"""Loop and thread: what is asked together is committed together, waits where it must, and survives impatience."""

import asyncio
import threading
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.spool import Lost, Spool
from gossamer.live.spool.courier import size_of
from gossamer.live.spool.progress import Progress, Save
from live.spool.spooling import (
    Clock,
    ask,
    durable,
    held_up,
    kept,
    named,
    outgoing,
    read_all,
    sequences,
    spooling,
    waiting,
)


async def watched(spool: Spool) -> list[str]:
    """From now on, every statement that ends a transaction."""
    ends: list[str] = []

    def note(statement: str) -> None:
        if statement in ("COMMIT", "ROLLBACK"):
            ends.append(statement)

    await spool._courier.ask(lambda store: store.db.set_trace_callback(note))
    return ends


def test_everything_asked_in_one_turn_of_the_loop_is_one_commit() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            ends = await watched(spool)
            accepted = [spool.accept([outgoing(n)]) for n in range(100)]
            saved = [spool.subscriptions.save(("a", f"reader {n}"), Save(1, Progress(n)), 0) for n in range(100)]
            for n in range(100):
                spool.keep([kept(n)])
            spool.remember(1, b"record")
            await asyncio.gather(*accepted, *saved)
            assert ends == ["COMMIT"]

    asyncio.run(scenario())


def test_what_queues_up_while_the_thread_is_busy_is_one_commit() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            ends = await watched(spool)
            go_on = held_up(spool)
            accepted = []
            for n in range(20):
                accepted.append(spool.accept([outgoing(n)]))
                await asyncio.sleep(0)  # a turn of the loop
            go_on()
            await asyncio.gather(*accepted)
            assert len(ends) <= 2, "one for what the thread had met when it stopped, one for the rest"

    asyncio.run(scenario())


def test_events_to_be_kept_wait_for_one_another_but_nobody_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.spool.courier.LINGER_S", 3600.0)

    async def scenario() -> None:
        async with spooling() as spool:
            ends = await watched(spool)
            for n in range(20):
                spool.keep([kept(n)])
                await asyncio.sleep(0)  # a turn of the loop
            assert spool._courier.writer.kept_bytes == 0
            assert await sequences(spool) == [*range(20)]
            assert ends == ["COMMIT"]
            spool.keep([kept(20)])
            await spool.accept([outgoing(1)])
            assert ends == ["COMMIT"] * 2

    asyncio.run(scenario())


def test_events_to_be_kept_go_by_themselves_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.spool.courier.LINGER_S", 0.001)

    async def scenario() -> None:
        async with spooling() as spool, asyncio.timeout(60):
            await watched(spool)
            for n in range(3):
                spool.keep([kept(n)])
                while spool._courier.writer.kept_bytes != (n + 1) * size_of([kept(0)]):
                    await asyncio.sleep(0.001)

    asyncio.run(scenario())


def test_a_transaction_holds_a_bounded_part_of_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.spool.writer.ROUND_BYTES", 1000)

    async def scenario() -> None:
        async with spooling() as spool:
            ends = await watched(spool)
            for n in range(5):
                spool.keep([kept(n, size=1000)])
            assert await sequences(spool) == [0, 1, 2, 3, 4]
            assert ends == ["COMMIT"] * 5

    asyncio.run(scenario())


def test_a_question_asked_after_a_change_sees_it() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(1)])
            reading = spool._courier.ask(lambda store: store.page(0, ["."], 10, 1000))
            spool.keep([kept(2)])
            assert len((await reading).items) >= 1
            await spool.accept([outgoing(1)])
            spool.done([named(1)])
            assert await waiting(spool) == []

    asyncio.run(scenario())


def test_cancelling_whoever_waits_undoes_nothing_and_repeats_nothing() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            go_on = held_up(spool)

            async def publish(n: int) -> None:
                await spool.accept([outgoing(n)])

            tasks = [asyncio.create_task(publish(n)) for n in range(10)]
            tasks.append(asyncio.create_task(spool.outbox(10)))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            assert all(
                isinstance(each, asyncio.CancelledError)
                for each in await asyncio.gather(*tasks, return_exceptions=True)
            )
            go_on()
            assert await waiting(spool) == list(range(10))

    asyncio.run(scenario())


def test_close_commits_what_is_queued_also_when_it_is_cancelled_and_called_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        spool = await Spool.open(tmp_path, queue_bytes=1000, now_us=Clock())
        go_on = held_up(spool)
        accepted = [spool.accept([outgoing(n)]) for n in range(10)]
        spool.keep([kept(1)])
        spool.keep([kept(2, size=2000)])
        opening = asyncio.create_task(spool.subscriptions.open(durable("billing")))
        await asyncio.sleep(0)
        closing = asyncio.create_task(spool.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        go_on()
        await spool.close()
        await spool.close()
        await asyncio.gather(*accepted)
        noted = await opening
        async with spooling(tmp_path) as again:
            assert await waiting(again) == list(range(10))
            items, lost = await read_all(again)
            assert ([each.place for each in items], lost) == ([1], [Lost(2, 2, ".soccer", 1)])
            assert await again.subscriptions.all() == [noted]

    asyncio.run(scenario())


def test_a_closed_spool_says_so() -> None:
    async def scenario() -> None:
        spool = await Spool.open(None)
        await spool.close()
        for use in (
            lambda: spool.accept([outgoing(1)]),
            lambda: spool.keep([kept(1)]),
            lambda: spool.done([named(1)]),
            lambda: spool.subscriptions.save(("a", "b"), Save(1, Progress(1)), 0),
        ):
            with pytest.raises(Misuse, match="the spool is closed"):
                use()
        with pytest.raises(Misuse, match="the spool is closed"):
            await spool.read(0)

    asyncio.run(scenario())


def test_opening_may_be_cancelled_and_leaves_the_folder_free(tmp_path: Path) -> None:
    async def scenario() -> None:
        opening = asyncio.create_task(Spool.open(tmp_path))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        writers = [each for each in threading.enumerate() if each.name == "gossamer-spool"]
        for each in writers:
            await asyncio.to_thread(each.join)
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(1)])

    asyncio.run(scenario())


def test_publications_beyond_the_bound_wait_their_turn_and_are_all_accepted() -> None:
    async def scenario() -> None:
        bound = 3 * size_of([outgoing(0)])
        async with spooling(queue_bytes=bound) as spool:
            go_on = held_up(spool)
            accepted = [spool.accept([outgoing(n, key=str(n))]) for n in range(20)]
            keyed = asyncio.create_task(spool.keyed(".soccer", "19"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(spool._courier._patient) == 18, "three were handed over; a question about keys waits behind all"
            spool.keep([kept(1)])
            go_on()
            await asyncio.gather(*accepted)
            assert await keyed == named(19)
            assert await waiting(spool) == list(range(20))
            large = spool.accept([outgoing(21, size=10 * bound)])
            await large

    asyncio.run(scenario())


def test_deliveries_beyond_the_bound_are_lost_and_a_reader_is_told_which() -> None:
    async def scenario() -> None:
        bound = 3 * size_of([kept(0)])
        async with spooling(queue_bytes=bound) as spool:
            go_on = held_up(spool)
            places = [spool.keep([kept(2 * n, ".soccer"), kept(2 * n + 1, ".tennis.clay")]) for n in range(4)]
            assert places == [1, 3, 5, 7], "lost or not, they had places"
            assert spool.lost == 6
            go_on()
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [1, 2]
            assert lost == [Lost(3, 7, ".soccer", 3), Lost(4, 8, ".tennis.clay", 3)]
            _, lost = await read_all(spool, [".tennis"])
            assert lost == [Lost(4, 8, ".tennis.clay", 3)]
            assert spool.keep([kept(100)]) == 9
            items, lost = await read_all(spool, after=8)
            assert ([each.place for each in items], lost) == ([9], [])

    asyncio.run(scenario())


def test_losses_survive_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path, queue_bytes=1) as spool:
            go_on = held_up(spool)
            spool.keep([kept(1)])
            spool.keep([kept(2), kept(3)])
            go_on()
        async with spooling(tmp_path) as spool:
            items, lost = await read_all(spool)
            assert ([each.place for each in items], lost) == ([1], [Lost(2, 3, ".soccer", 2)])
            assert spool.last_place == 3

    asyncio.run(scenario())


def test_the_log_stays_bounded(tmp_path: Path) -> None:
    async def scenario() -> None:
        largest = 0
        async with spooling(tmp_path) as spool:
            for n in range(30):
                spool.keep([kept(n, size=1 << 20)])
                await ask(spool, "SELECT 1")
                largest = max(largest, (tmp_path / "spool.sqlite-wal").stat().st_size)
        assert largest < 12 << 20
        assert not (tmp_path / "spool.sqlite-wal").exists(), "closed in good order, all is in one file"

    asyncio.run(scenario())
