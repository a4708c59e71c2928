"""Outbox, kept events and inboxes have a budget in bytes each, and say what they do when it is used up."""

import asyncio
import resource
from pathlib import Path

import pytest

from cli.processes import HERE, Stage
from gossamer.testing import Network
from promises import names, waiting
from promises.nodes import MEMORY, disk, leave
from promises.waiting import book, gone, nothing_more, numbers, read, read_all

TOPIC = ".orders"
LIMIT = 1 << 20
BODY = b"x" * 10_000


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_full_outbox_refuses_and_neither_grows_nor_evicts_what_is_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        budget = {names.OUTBOX_BYTES: LIMIT, names.OUTBOX_FULL: "refuse", "keep_bytes": LIMIT}
        async with Network() as network:
            anna = await network.node("anna", subscribe=[".kept"], **disk(tmp_path / "anna", **budget))
            for number in range(20):
                await anna.publish(".kept", f"{number}")
            tried = [anna.publish(TOPIC, BODY) for _ in range(8 * LIMIT // len(BODY))]
            answers = await asyncio.gather(*tried, return_exceptions=True)
            refused = [each for each in answers if isinstance(each, BaseException)]
            assert {type(each).__name__ for each in refused} == {"Full"}
            assert LIMIT // 2 < (len(answers) - len(refused)) * len(BODY) <= LIMIT
            assert size(tmp_path / "anna") <= 3 * 2 * LIMIT
            async with anna.subscribe(".kept", from_start=True) as inbox:
                assert numbers(await read(inbox, 20)) == list(range(20))

    asyncio.run(scenario())


def test_a_full_outbox_makes_publish_wait_until_there_is_room(tmp_path: Path) -> None:
    async def scenario() -> None:
        budget = {names.OUTBOX_BYTES: LIMIT, names.OUTBOX_FULL: "wait"}
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna", **budget))
            publishing = asyncio.gather(*(anna.publish(TOPIC, BODY) for _ in range(2 * LIMIT // len(BODY))))
            await asyncio.sleep(0.5)
            assert not publishing.done()
            bert = await network.node("bert", subscribe=[TOPIC], **disk(tmp_path / "bert"))
            assert await bert.joined(TOPIC)
            async with asyncio.timeout(waiting.PATIENCE_S):
                await publishing

    asyncio.run(scenario())


def test_retention_leaves_what_a_durable_subscription_has_not_acknowledged(tmp_path: Path) -> None:
    async def scenario() -> None:
        budget = {"keep_bytes": LIMIT // 8, names.DURABLE_BYTES: 4 * LIMIT}
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna", **budget))
            async with anna.subscribe(TOPIC, name="billing"):
                pass
            for number in range(100):
                await anna.publish(TOPIC, f"{number}".rjust(len(BODY)))
            await leave(network, "anna")
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna", **budget))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                assert numbers(await book(inbox, 100)) == list(range(100))

    asyncio.run(scenario())


def test_beyond_its_budget_a_durable_subscription_is_told_how_many_are_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        budget = {"keep_bytes": LIMIT // 8, names.DURABLE_BYTES: LIMIT // 4}
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna", **budget))
            await network.node("bert", subscribe=[TOPIC], **MEMORY)
            async with anna.subscribe(TOPIC, name="billing"):
                pass
            for number in range(100):
                await anna.publish(TOPIC, f"{number}".rjust(len(BODY)))
            assert await anna.handed_over()
            await leave(network, "anna")
            anna = await network.node("anna", subscribe=[TOPIC], **disk(tmp_path / "anna", **budget))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                items, gaps = await read_all(inbox, 100)
                assert 0 < gone(gaps) < 100
                assert len(items) + gone(gaps) == 100
                assert numbers(items) == list(range(100 - len(items), 100))

    asyncio.run(scenario())


@pytest.mark.parametrize("acknowledged", [0, 100])
def test_what_is_gone_from_the_log_does_not_come_again_from_the_outbox(tmp_path: Path, acknowledged: int) -> None:
    """Nobody else is there: what was pruned still waits for others, in every life."""

    async def scenario() -> None:
        budget = {"keep_bytes": LIMIT // 8, names.DURABLE_BYTES: LIMIT // 4}
        settings = {"subscribe": [TOPIC], **disk(tmp_path / "anna", **budget)}
        async with Network() as network:
            anna = await network.node("anna", **settings)
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                for number in range(100):
                    await anna.publish(TOPIC, f"{number}".rjust(len(BODY)))
                    if number < acknowledged:
                        await book(inbox, 1)
            for left in (100 - acknowledged, 0):
                await leave(network, "anna")
                anna = await network.node("anna", **settings)
                assert anna.metrics.failures == 0
                async with anna.subscribe(TOPIC, name="billing") as inbox:
                    items, gaps = await read_all(inbox, left)
                    assert len(items) + gone(gaps) == left
                    await nothing_more(inbox)
            assert (await anna.handed_over(0.0)).waiting == 100

    asyncio.run(scenario())


def test_a_slow_reader_costs_no_more_than_its_inbox_and_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            limits = {"inbox_items": 10, "inbox_bytes": 100_000}
            anna = await network.node("anna", subscribe=[TOPIC], limits=limits, **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="slow") as inbox:
                await asyncio.gather(*(anna.publish(TOPIC, f"{n}".rjust(5000)) for n in range(100)))
                assert numbers(await book(inbox, 100)) == list(range(100))

    asyncio.run(scenario())


def test_traces_are_bounded_in_bytes(tmp_path: Path) -> None:
    async def scenario() -> None:
        trace = {"folder": str(tmp_path / "traces"), "level": "full", names.TRACE_BYTES: 64 << 10}
        async with Network() as network:
            anna = await network.node("anna", subscribe=[TOPIC], trace=trace, **disk(tmp_path / "anna"))
            for _ in range(20):
                await asyncio.gather(*(anna.publish(TOPIC, b"x") for _ in range(500)))
        assert size(tmp_path / "traces") <= 2 * (64 << 10)

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_start_on_a_large_outbox_costs_little_memory(tmp_path: Path, stage: Stage) -> None:
    async def fill() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            for _ in range(200):
                await anna.publish(TOPIC, bytes(1 << 20))

    asyncio.run(fill())
    daemon = stage.daemon("--name", "anna", "--bind", HERE, "--spool", tmp_path / "anna")
    assert daemon.page("/healthz")[0] in (200, 503)
    pages = int(Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1])
    assert pages * resource.getpagesize() <= 150 << 20
