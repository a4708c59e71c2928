"""Durable subscriptions on disk: committed before anybody is told, and retention holds what they need."""

import asyncio
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Event
from gossamer.live.spool import Kept, KeptPack, Spool
from gossamer.live.spool import subscriptions as limits
from gossamer.live.spool.progress import Progress, Save, StreamRanges
from live.spool.spooling import DAY_US, Clock, ask, durable, kept, named, saved, spooling
from wire.test_pack import packed

BILLING = ("a", "billing")


async def left(spool: Spool, after: int = 0) -> tuple[list[int], int]:
    """The places a subscription finds, and how many retention took from it."""
    page, gone = await spool.subscriptions.read(BILLING, after, (".",), 10_000, 1 << 30)
    return [each.place for each in page.items], gone


def test_a_subscription_and_its_progress_survive_a_restart(tmp_path: Path) -> None:
    progress = Progress(7, ((9, 12), (15, 15)), 20, 3)
    streams = (StreamRanges(2**63 - 1, 5, ".soccer", ((1, 4), (6, 9))), StreamRanges(8, 5, ".soccer", ((1, 1),)))

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            opened = await spool.subscriptions.open(durable("billing"))
            await saved(spool, BILLING, Save(1, progress, streams))
            await saved(spool, BILLING, Save(2, progress, (StreamRanges(8, 5, ".soccer", ()),)))
        async with spooling(tmp_path) as spool:
            assert await spool.subscriptions.all() == [opened._replace(progress=progress)]
            assert await spool.subscriptions.streams(BILLING) == [streams[0]]
            assert (await spool.subscriptions.open(durable("billing"))).progress == progress
            assert await spool.subscriptions.delete(BILLING)
            assert not await spool.subscriptions.delete(BILLING)
        async with spooling(tmp_path) as spool:
            assert (await spool.subscriptions.all(), await spool.subscriptions.streams(BILLING)) == ([], [])

    asyncio.run(scenario())


def test_owners_do_not_meet_and_another_topic_is_refused() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            await spool.subscriptions.open(durable("billing"))
            await saved(spool, BILLING, Save(1, Progress(5)))
            other = await spool.subscriptions.open(durable("billing", ".chat", owner="b"))
            assert other.progress == Progress(0)
            with pytest.raises(Misuse, match=r"'billing' is to \.soccer, not to \.chat: choose another name"):
                await spool.subscriptions.open(durable("billing", ".chat"))

    asyncio.run(scenario())


def test_one_owner_cannot_have_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OWNED_MAX", 2)
    monkeypatch.setattr(limits, "SUBSCRIPTIONS_MAX", 4)

    async def scenario() -> None:
        async with spooling() as spool:
            for name in ("one", "two"):
                await spool.subscriptions.open(durable(name))
            with pytest.raises(Misuse, match="2 of them of a, and at most 4 and 2 may be"):
                await spool.subscriptions.open(durable("three"))
            await spool.subscriptions.open(durable("three"), own=True)
            await spool.subscriptions.open(durable("four", owner="b"))
            with pytest.raises(Misuse, match="there are 4 durable subscriptions"):
                await spool.subscriptions.open(durable("five", owner="b"))

    asyncio.run(scenario())


def test_what_could_not_be_committed_is_told_and_tried_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.subscriptions.open(durable("billing"))
            await ask(spool, "PRAGMA query_only = ON")
            with pytest.raises((TransportDown, Misuse)):
                await saved(spool, BILLING, Save(1, Progress(5)))
            await ask(spool, "PRAGMA query_only = OFF")
        async with spooling(tmp_path) as spool:
            assert (await spool.subscriptions.all())[0].progress == Progress(5)

    asyncio.run(scenario())


# -- retention ---------------------------------------------------------------------------------------------------


def test_retention_holds_what_a_subscription_needs_and_nothing_else() -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(now_us=clock, keep_s=3600) as spool:
            await spool.subscriptions.open(durable("billing"))
            spool.keep([kept(n, ".soccer.italy" if n % 2 else ".tennis", at_us=clock.now_us) for n in range(1, 11)])
            await saved(spool, BILLING, Save(1, Progress(3, ((7, 8),), 8)))
            clock.now_us += DAY_US
            await spool.tidy()
            assert spool.first_place == 11
            assert await left(spool) == ([5, 9], 0)
            assert (await spool.read(0)).items == [], "others read as if they were gone"
            await saved(spool, BILLING, Save(2, Progress(5, ((7, 8),), 8)))
            await spool.tidy()
            assert await left(spool) == ([9], 0)
            await spool.subscriptions.delete(BILLING)
            await spool.tidy()
            assert await ask(spool, "SELECT count(*) FROM events") == [(0,)]
            assert await ask(spool, "SELECT count(*) FROM held") == [(0,)]

    asyncio.run(scenario())


def test_packs_are_held_too_whole_or_event_by_event(tmp_path: Path) -> None:
    whole = packed([Event(named(n), ".soccer", b"%d" % n, ordinal=n) for n in range(1, 5)])
    part = packed([Event(named(n), ".soccer", b"%d" % n, ordinal=n) for n in range(11, 15)])

    async def scenario() -> None:
        clock = Clock()
        async with spooling(tmp_path, now_us=clock, keep_s=3600) as spool:
            await spool.subscriptions.open(durable("billing"))
            spool.keep([KeptPack(whole, ".soccer", 1, clock.now_us, 1)])
            spool.keep([Kept(each, ".soccer", part, 1, clock.now_us) for each in part.ids[:3]])
            before = await spool.subscriptions.read(BILLING, 0, (".",), 100, 1 << 20)
            await saved(spool, BILLING, Save(1, Progress(2, ((5, 5),), 7)))
            clock.now_us += DAY_US
            await spool.tidy()
        async with spooling(tmp_path, now_us=clock, keep_s=3600) as spool:
            found, gone = await spool.subscriptions.read(BILLING, 2, (".",), 100, 1 << 20)
            assert [each.place for each in found.items] == [3, 4, 6, 7]
            assert gone == 0
            assert len(before[0].items) == 7
            assert set(await spool.find(part.ids[:3])) == {*part.ids[1:3]}, "each with a proof of its own"
            await saved(spool, BILLING, Save(2, Progress(7)))
            await spool.tidy()
            assert await left(spool) == ([], 0)

    asyncio.run(scenario())


def test_beyond_its_budget_the_oldest_go_and_it_is_counted_how_many(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        async with spooling(tmp_path, now_us=clock, keep_s=3600, durable_bytes=60_000) as spool:
            await spool.subscriptions.open(durable("billing"))
            await spool.subscriptions.open(durable("elsewhere", ".tennis", owner="b"))
            spool.keep([kept(n, at_us=clock.now_us, size=1000) for n in range(100)])
            clock.now_us += DAY_US
            await spool.tidy()
            assert await left(spool) == ([*range(51, 101)], 50)
        async with spooling(tmp_path, now_us=clock, keep_s=3600, durable_bytes=60_000) as spool:
            assert await left(spool) == ([*range(51, 101)], 50)
            gone = {row.name: row.gone for row in await spool.subscriptions.all()}
            assert gone == {"billing": 50, "elsewhere": 0}
            spool.tune(3600, 1 << 30, 24_000)
            await spool.tidy()
            assert await left(spool) == ([*range(81, 101)], 80)

    asyncio.run(scenario())


def test_what_is_held_takes_no_room_from_what_is_kept_for_others() -> None:
    async def scenario() -> None:
        async with spooling(keep_bytes=200_000, durable_bytes=1 << 20) as spool:
            await spool.subscriptions.open(durable("billing"))
            for n in range(60):
                spool.keep([kept(n, size=10_000)])
                spool.keep([kept(1000 + n, ".tennis", size=2_000)])
                await spool.read(0)
            assert len((await left(spool))[0]) >= 60
            assert len((await spool.read(0, (".tennis",))).items) >= 5

    asyncio.run(scenario())
