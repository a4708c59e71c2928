"""The log by streams: what came in, what is there, what went, and the events themselves by their ordinals."""

import asyncio
import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.spool import Commit, Kept, KeptPack, Stretch
from gossamer.live.spool.streams import merged, stretches_of
from gossamer.wire.pack import Pack
from gossamer.wire.sealed import head_of, seal, unseal
from live.spool.spooling import DAY_US, Clock, ask, file_of, held_up, spooling
from live.spool.versions import BACK_TO_5, BACK_TO_6
from wire.test_pack import packed

NOW_US = 1_000 * DAY_US


def event(sequence: int, ordinal: int, topic: str = ".a", publisher: int = 7) -> Event:
    return Event(EventId(publisher, 1, sequence), topic, b"%d" % sequence, ordinal=ordinal)


def alone(sequence: int, ordinal: int, topic: str = ".a", publisher: int = 7) -> Kept:
    one = event(sequence, ordinal, topic, publisher)
    return Kept(one.id, topic, seal(head_of(one), one.payload, None), 1, NOW_US, ordinal)


def pack_of(first: int, ordinal: int, count: int = 4) -> Pack:
    return packed([event(first + i, ordinal + i) for i in range(count)])


def whole(first: int, ordinal: int, count: int = 4) -> KeptPack:
    return KeptPack(pack_of(first, ordinal, count), ".a", 1, NOW_US, ordinal)


def stretch(first: int, last: int, topic: str = ".a", publisher: int = 7) -> Stretch:
    return Stretch(topic, publisher, 1, first, last)


def ordinals(bodies: Sequence[bytes]) -> list[int]:
    return [unseal(each)[0].ordinal for each in bodies]


def test_every_commit_tells_once_what_came_into_the_log() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            told: list[Commit] = []
            spool.hear(told.append)
            go_on = held_up(spool)
            assert spool.keep([alone(1, 1), alone(2, 2), alone(3, 1, ".b"), whole(4, 3)]) == 1
            assert spool.keep([alone(8, 9)]) == 8
            go_on()
            await spool.held()
            assert [job.first for commit in told for job in commit.kept] == [1, 8]
            assert len(told) == 1, "both went together"
            assert told[0].stretches() == [stretch(1, 6), stretch(9, 9), stretch(1, 1, ".b")]
            assert (told[0].failed, told[0].pruned) == ([], [])

    asyncio.run(scenario())


def test_what_could_not_be_kept_is_told_apart_from_what_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([alone(1, 1)])
            [(pages,)] = await ask(spool, "PRAGMA page_count")
            await ask(spool, f"PRAGMA max_page_count = {pages}")
            told: list[Commit] = []
            spool.hear(told.append)
            large = Kept(EventId(7, 1, 2), ".a", bytes(50_000), 1, NOW_US, 2)
            go_on = held_up(spool)
            spool.keep([large])
            spool.keep([alone(3, 3)])
            go_on()
            assert await spool.held() == [stretch(1, 1), stretch(3, 3)]
            [commit] = told
            assert ([job.first for job in commit.kept], [job.first for job in commit.failed]) == ([3], [2])

    asyncio.run(scenario())


def test_what_there_was_no_room_to_queue_is_told_as_not_kept() -> None:
    async def scenario() -> None:
        async with spooling(queue_bytes=1) as spool:
            told: list[Commit] = []
            spool.hear(told.append)
            go_on = held_up(spool)
            spool.keep([alone(1, 1)])
            spool.keep([alone(2, 2), alone(3, 3)])
            assert told == [], "not while it is being delivered"
            await asyncio.sleep(0)
            assert [(job.first, len(job.kept)) for commit in told for job in commit.failed] == [(2, 2)]
            go_on()
            assert await spool.held() == [stretch(1, 1)]

    asyncio.run(scenario())


def test_a_new_life_finds_all_there_is_in_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([alone(1, 1), whole(2, 2), alone(7, 7), alone(8, 1, publisher=8), alone(9, 0)])
        async with spooling(tmp_path) as spool:
            assert await spool.held() == [stretch(1, 5), stretch(7, 7), stretch(1, 1, publisher=8)]

    asyncio.run(scenario())


def test_what_retention_deletes_is_told_by_streams() -> None:
    async def scenario() -> None:
        clock = Clock(NOW_US)
        async with spooling(now_us=clock, keep_s=3600) as spool:
            told: list[Commit] = []
            spool.hear(told.append)
            spool.keep([alone(1, 1), whole(2, 2), alone(9, 4, ".b")])
            clock.now_us += 3601 * 1_000_000
            spool.keep([alone(6, 6)._replace(at_us=clock.now_us)])
            await spool.tidy()
            assert merged(each for commit in told for each in commit.pruned) == [stretch(1, 5), stretch(4, 4, ".b")]
            assert await spool.held() == [stretch(6, 6)]

    asyncio.run(scenario())


def test_events_are_read_by_their_ordinals_from_wherever_they_stand() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            part = pack_of(21, 9)
            apart = [Kept(part.ids[i], ".a", part, 1, NOW_US, 9 + i) for i in (0, 2)]
            spool.keep([alone(20, 8), whole(2, 2), alone(1, 1), alone(99, 3, ".b"), *apart])

            async def read(first: int, last: int, limit_bytes: int = 1 << 20) -> list[int]:
                return ordinals(await spool.read_stream(".a", 7, 1, first, last, limit_bytes))

            assert await read(1, 99) == [1, 2, 3, 4, 5, 8, 9, 11]
            assert await read(3, 9) == [3, 4, 5, 8, 9]
            assert await read(5, 5) == [5]
            assert await read(6, 7) == []
            assert await read(1, 99, limit_bytes=1) == [1]
            two = sum(len(each) for each in await spool.read_stream(".a", 7, 1, 1, 2))
            assert await read(1, 99, limit_bytes=two) == [1, 2]
            assert await spool.read_stream(".a", 7, 2, 1, 99) == []
            assert await spool.read_stream(".b", 7, 1, 1, 99) == [alone(99, 3, ".b").sealed]

    asyncio.run(scenario())


@given(st.lists(st.tuples(st.sampled_from([".a", ".b"]), st.integers(1, 30), st.integers(0, 5)), max_size=12))
def test_stretches_that_meet_are_one_and_stand_for_the_same_events(some: list[tuple[str, int, int]]) -> None:
    each = [Stretch(topic, 7, 1, first, first + more) for topic, first, more in some]
    together = merged(each)

    def events(stretches: list[Stretch]) -> set[tuple[str, int]]:
        return {(one.topic, ordinal) for one in stretches for ordinal in range(one.first, one.last + 1)}

    assert events(together) == events(each)
    assert sum(one.last - one.first + 1 for one in together) == len(events(each))
    assert all(a.topic != b.topic or a.last + 1 < b.first for a, b in pairwise(together))


def test_an_event_without_an_ordinal_is_in_no_stream() -> None:
    assert stretches_of([alone(1, 0), alone(2, 2)]) == [stretch(2, 2)]


def test_events_of_a_spool_of_version_5_get_their_ordinals(tmp_path: Path) -> None:
    part = pack_of(11, 11)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            broken = Kept(EventId(7, 1, 99), ".a", b"no event", 1, NOW_US)
            spool.keep([alone(1, 1), whole(2, 2), Kept(part.ids[1], ".a", part, 1, NOW_US, 12), broken])
        db = sqlite3.connect(file_of(tmp_path))
        db.executescript(f"{BACK_TO_6} {BACK_TO_5} PRAGMA user_version = 5")
        db.close()
        async with spooling(tmp_path) as spool:
            assert await spool.held() == [stretch(1, 5), stretch(12, 12)]
            assert len((await spool.read(0)).items) == 7

    asyncio.run(scenario())
