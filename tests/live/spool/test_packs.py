"""Events that came in packs: kept once, and every one of them comes back by itself, with its own proof."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.spool import Kept, KeptPack, Outgoing
from gossamer.live.spool.courier import size_of
from gossamer.live.spool.items import places, topics
from gossamer.live.spool.jobs import ROW_BYTES
from gossamer.wire.pack import Pack
from gossamer.wire.proof import Proofs
from gossamer.wire.sealed import unseal
from live.spool.spooling import DAY_US, Clock, ask, kept, named, outgoing, read_all, spooling
from wire.test_pack import beside_another_tree, packed
from wire.test_proof import verify


def pack_of(first: int, count: int, topic: str = ".soccer") -> Pack:
    return packed([Event(EventId(7, 1, first + i), topic, b"%d" % i) for i in range(count)])


def in_pack(pack: Pack, ids: Sequence[EventId] | None = None, at_us: int = 1_000 * DAY_US) -> list[Kept]:
    return [Kept(event_id, ".soccer", pack, 2, at_us) for event_id in ids or pack.ids]


def whole(pack: Pack, at_us: int = 1_000 * DAY_US) -> KeptPack:
    return KeptPack(pack, ".soccer", 2, at_us)


def is_proved(sealed: bytes, event_id: EventId) -> bool:
    event, leaf, proof = unseal(sealed)
    return event.id == event_id and proof is not None and Proofs().holds(leaf, proof, verify)


@pytest.mark.parametrize("together", [False, True])
def test_every_event_of_a_pack_comes_back_with_a_proof_of_its_own(tmp_path: Path, together: bool) -> None:
    pack = pack_of(1, 64)
    its = [whole(pack)] if together else in_pack(pack)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            assert spool.keep([kept(100), *its, kept(101)]) == 1
            assert spool.last_place == 66
        async with spooling(tmp_path) as spool:
            items, lost = await read_all(spool, limit=10)
            assert [each.place for each in items] == [*range(1, 67)]
            assert [unseal(item.sealed)[0].id for item in items[1:-1]] == [*pack.ids]
            assert lost == []
            found = await spool.find(pack.ids[::-1])
            assert all(is_proved(found[each], each) for each in pack.ids)

    asyncio.run(scenario())


@pytest.mark.parametrize("together", [False, True])
def test_a_pack_that_proves_no_event_alone_is_read_and_passed_on_to_nobody(together: bool) -> None:
    """Its publisher signed it beside another tree."""
    lie = beside_another_tree([Event(EventId(8, 1, i), ".soccer", b"%d" % i) for i in range(4)])
    true = pack_of(1, 3)

    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([whole(lie), whole(true)] if together else in_pack(lie) + in_pack(true))
            items, lost = await read_all(spool)
            assert [unseal(item.sealed)[0].id for item in items] == [*lie.ids, *true.ids]
            assert lost == []
            found = await spool.find([*lie.ids, *true.ids])
            assert [*found] == [*true.ids]

    asyncio.run(scenario())


def test_whoever_reads_past_an_event_whose_bytes_were_gone_is_told() -> None:
    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([kept(1), Kept(named(2), ".soccer", b""), kept(3), Kept(named(4), ".soccer", b"")])
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [1, 3]
            assert [(each.first, each.last, each.events) for each in lost] == [(2, 2, 1), (4, 4, 1)]

    asyncio.run(scenario())


def test_the_bytes_of_a_pack_are_kept_and_counted_once() -> None:
    pack = pack_of(1, 64)
    assert size_of(in_pack(pack)) == len(pack) + 64 * ROW_BYTES
    assert size_of([whole(pack)]) == len(pack) + ROW_BYTES
    assert (places([whole(pack), kept(1)]), topics([whole(pack), kept(1, ".a")])) == (65, [".soccer"] * 64 + [".a"])

    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([whole(pack)])
            assert await ask(spool, "SELECT count(*), sum(length(content)) FROM runs") == [(1, len(pack))]
            assert await ask(spool, "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM packs)") == [(0,)]
            part = pack_of(101, 64)
            spool.keep(in_pack(part))
            assert await ask(spool, "SELECT count(*), sum(length(content)) FROM packs") == [(1, len(part))]
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
            assert [unseal(item.sealed)[0].id for item in items] == [each.id for each in turns[1:7]]
            found = await spool.find([each.id for each in turns[1:7]])
            assert all(is_proved(sealed, each) for each, sealed in found.items())
            assert len(found) == 6

    asyncio.run(scenario())


def test_an_event_kept_before_its_pack_stays_where_it_was() -> None:
    pack = pack_of(1, 3)

    async def scenario() -> None:
        async with spooling() as spool:
            alone = pack.alone(pack.ids[2])[1]
            spool.keep([Kept(pack.ids[2], ".soccer", alone)])
            spool.keep([whole(pack)])
            items, _ = await read_all(spool)
            assert [(each.place, unseal(each.sealed)[0].id) for each in items] == [
                (1, pack.ids[2]),
                (2, pack.ids[0]),
                (3, pack.ids[1]),
            ]

    asyncio.run(scenario())


def test_an_event_kept_with_its_pack_stays_where_it_was() -> None:
    pack = pack_of(1, 3)

    async def scenario() -> None:
        async with spooling() as spool:
            spool.keep([whole(pack)])
            spool.keep([Kept(pack.ids[2], ".soccer", pack.alone(pack.ids[2])[1]), whole(pack_of(3, 2)), kept(9)])
            items, _ = await read_all(spool)
            assert [each.place for each in items] == [1, 2, 3, 6, 7]
            assert [unseal(each.sealed)[0].id.sequence for each in items[:4]] == [1, 2, 3, 4]

    asyncio.run(scenario())


def test_events_delivered_with_their_pack_are_not_news_to_the_next_life(tmp_path: Path) -> None:
    one, other = pack_of(1, 5), pack_of(11, 5)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            spool.keep([whole(one), whole(other, at_us=1_001 * DAY_US)])
        async with spooling(tmp_path) as spool:
            assert spool.last_place == 10
            assert await spool.seen(100) == [*one.ids, *other.ids]
            assert await spool.seen(7) == [*one.ids[3:], *other.ids]
            assert await spool.delivered([*one.ids, EventId(7, 1, 6), EventId(7, 2, 1)]) == {*one.ids}

    asyncio.run(scenario())


def test_young_events_are_not_lost_because_their_pack_ends_late() -> None:
    clock = Clock()
    pack = pack_of(1, 4)

    async def scenario() -> None:
        async with spooling(now_us=clock, keep_s=86400) as spool:
            spool.keep([kept(100, at_us=clock.now_us - 2 * DAY_US), whole(pack, clock.now_us)])
            await spool.tidy()
            items, lost = await read_all(spool)
            assert [each.place for each in items] == [2, 3, 4, 5]
            assert [(each.first, each.last) for each in lost] == [(1, 1)]

    asyncio.run(scenario())


GAPS = packed([Event(EventId(7, 1, sequence), ".soccer", b"") for sequence in (50, 52, 51)])
PACKS = [GAPS, *(pack_of(1 + 10 * number, size) for number, size in enumerate((3, 4, 1, 5)))]
PARTS = st.tuples(st.sampled_from(PACKS), st.integers(0, 4), st.integers(1, 5), st.booleans())


@given(st.lists(st.lists(PARTS, min_size=1, max_size=4), max_size=6), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_whole_or_in_parts_every_event_stands_where_it_was_kept_first(
    turns: list[list[tuple[Pack, int, int, bool]]], limit: int
) -> None:
    wanted: dict[EventId, int] = {}

    async def scenario() -> None:
        place = 0
        async with spooling() as spool:
            for turn in turns:
                batch: list[Kept | KeptPack] = []
                for pack, start, count, together in turn:
                    ids = pack.ids if together else pack.ids[start : start + count] or pack.ids[:1]
                    batch += [whole(pack)] if together else in_pack(pack, ids)
                    for each in ids:
                        place += 1
                        wanted.setdefault(each, place)
                spool.keep(batch)
            items, lost = await read_all(spool, limit=limit)
            assert lost == []
            assert {unseal(each.sealed)[0].id: each.place for each in items} == wanted
            assert [each.place for each in items] == sorted(wanted.values())
            found = await spool.find([each for pack in PACKS for each in pack.ids])
            assert {*found} == {*wanted}
            assert all(is_proved(sealed, each) for each, sealed in found.items())

    asyncio.run(scenario())


def test_a_pack_goes_with_the_last_of_its_events() -> None:
    clock = Clock()
    old, young = pack_of(1, 4), pack_of(11, 4)

    async def scenario() -> None:
        async with spooling(now_us=clock, keep_s=86400) as spool:
            spool.keep(in_pack(old, old.ids[:2], clock.now_us - 2 * DAY_US))
            spool.keep([*in_pack(old, old.ids[2:], clock.now_us), whole(young, clock.now_us)])
            await spool.tidy()
            assert [each.place for each in (await read_all(spool))[0]] == [3, 4, 5, 6, 7, 8]
            assert await ask(spool, "SELECT last FROM packs UNION SELECT last FROM runs") == [(4,), (8,)]
            clock.now_us += 3 * DAY_US
            await spool.tidy()
            assert await ask(spool, "SELECT last FROM packs UNION SELECT last FROM runs") == []

    asyncio.run(scenario())


# -- publications ------------------------------------------------------------------------------------------------


def test_a_pack_that_was_published_waits_in_one_row_and_is_found_event_by_event(tmp_path: Path) -> None:
    pack = pack_of(1, 64)

    async def scenario() -> None:
        async with spooling(tmp_path) as spool:
            await spool.accept([outgoing(0), Outgoing(pack.ids[0], ".soccer", pack), outgoing(65)])
        async with spooling(tmp_path) as spool:
            assert [each.more for each in await spool.outbox(100)] == [0, 63, 0]
            (row,) = await spool.outbox(64, after=1)
            assert (row.ids, [each for each, _ in row.each()]) == ([*pack.ids], [*pack.ids])
            assert all(is_proved(sealed, each) for each, sealed in row.each())
            assert await spool.outbox(1, after=1) == [row], "a row that has more than were asked for comes whole"
            found = await spool.find([named(0), *pack.ids, named(65), named(66)])
            assert [*found] == [named(0), *pack.ids, named(65)]
            assert all(is_proved(found[each], each) for each in pack.ids)
            assert await spool.seen(1000) == [named(n) for n in range(66)]
            spool.done([pack.ids[0]])
            assert [*await spool.find(pack.ids)] == []
            assert [each.id for each in await spool.outbox(100)] == [named(0), named(65)]
        async with spooling(tmp_path) as spool:
            assert len(await spool.seen(1000)) == 66, "handed over, and still known"

    asyncio.run(scenario())
