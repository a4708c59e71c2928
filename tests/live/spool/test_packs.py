"""Events that came in packs: kept once, and every one of them comes back by itself, with its own proof."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.spool import Kept
from gossamer.live.spool.courier import size_of
from gossamer.live.spool.jobs import ROW_BYTES
from gossamer.wire.pack import Pack
from gossamer.wire.proof import Proofs
from gossamer.wire.sealed import unseal
from live.spool.spooling import DAY_US, Clock, ask, kept, read_all, spooling
from wire.test_pack import packed
from wire.test_proof import verify


def pack_of(first: int, count: int, topic: str = ".soccer") -> Pack:
    return packed([Event(EventId(7, 1, first + i), topic, b"%d" % i) for i in range(count)])


def in_pack(pack: Pack, ids: Sequence[EventId] | None = None, at_us: int = 1_000 * DAY_US) -> list[Kept]:
    return [Kept(event_id, ".soccer", pack, 2, at_us) for event_id in ids or pack.ids]


def is_proved(sealed: bytes, event_id: EventId) -> bool:
    event, leaf, proof = unseal(sealed)
    return event.id == event_id and proof is not None and Proofs().holds(leaf, proof, verify)


def test_every_event_of_a_pack_comes_back_with_a_proof_of_its_own(tmp_path: Path) -> None:
    pack = pack_of(1, 64)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([kept(100), *in_pack(pack), kept(101)])
        async with spooling(tmp_path) as spool:
            items, lost = await read_all(spool, limit=10)
            assert [each.place for each in items] == [*range(1, 67)]
            assert all(is_proved(item.sealed, each) for item, each in zip(items[1:-1], pack.ids, strict=True))
            assert lost == []
            found = await spool.find(pack.ids[::-1])
            assert all(is_proved(found[each], each) for each in pack.ids)

    asyncio.run(scenario())


def test_the_bytes_of_a_pack_are_kept_and_counted_once() -> None:
    pack = pack_of(1, 64)
    assert size_of(in_pack(pack)) == len(pack) + 64 * ROW_BYTES

    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep(in_pack(pack))
            (count, size), *_ = await ask(spool, "SELECT count(*), sum(length(content)) FROM packs")
            assert (count, size) == (1, len(pack))
            assert await ask(spool, "SELECT sum(length(sealed)) FROM events") == [(0,)]

    asyncio.run(scenario())


def test_a_pack_of_which_not_all_was_delivered_and_packs_in_turns() -> None:
    one, other = pack_of(1, 4), pack_of(11, 4)

    async def scenario() -> None:
        async with spooling() as spool:
            turns = [each for pair in zip(in_pack(one), in_pack(other), strict=True) for each in pair]
            spool.keep(turns[1:5])
            spool.keep(turns[5:7])  # the same packs in another commit
            items, _ = await read_all(spool)
            assert all(is_proved(item.sealed, each.id) for item, each in zip(items, turns[1:7], strict=True))

    asyncio.run(scenario())


def test_an_event_kept_before_its_pack_stays_where_it_was() -> None:
    pack = pack_of(1, 3)

    async def scenario() -> None:
        async with spooling() as spool:
            alone = pack.alone(pack.ids[2])[1]
            spool.keep([Kept(pack.ids[2], ".soccer", alone)])
            spool.keep(in_pack(pack))
            items, _ = await read_all(spool)
            assert [(each.place, unseal(each.sealed)[0].id) for each in items] == [
                (1, pack.ids[2]),
                (2, pack.ids[0]),
                (3, pack.ids[1]),
            ]

    asyncio.run(scenario())


def test_a_pack_goes_with_the_last_of_its_events() -> None:
    clock = Clock()
    old, young = pack_of(1, 4), pack_of(11, 4)

    async def scenario() -> None:
        async with spooling(now_us=clock, keep_s=86400) as spool:
            spool.keep(in_pack(old, old.ids[:2], clock.now_us - 2 * DAY_US))
            spool.keep([*in_pack(old, old.ids[2:], clock.now_us), *in_pack(young, at_us=clock.now_us)])
            await spool.tidy()
            assert [each.place for each in (await read_all(spool))[0]] == [3, 4, 5, 6, 7, 8]
            assert await ask(spool, "SELECT last FROM packs ORDER BY last") == [(4,), (8,)]
            clock.now_us += 3 * DAY_US
            await spool.tidy()
            assert await ask(spool, "SELECT last FROM packs") == []

    asyncio.run(scenario())
