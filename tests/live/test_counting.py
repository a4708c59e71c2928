"""A publication that is refused leaves no hole: whoever comes next has its numbers, and nobody misses anything."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import Delivery
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Event
from gossamer.live.publishing.counting import Counting, Draft
from gossamer.testing import Network
from live.spool.spooling import ask, held_up
from live.watching import payloads, until

Some = st.lists(st.tuples(st.sampled_from([".a", ".b"]), st.frozensets(st.integers(1, 3))), max_size=4)


def draft(topic: str, payload: bytes = b"", **attributes: str) -> Draft:
    future: Any = None
    return Draft(topic, payload, attributes, None, 5, None, future)


@given(st.lists(st.tuples(Some, st.booleans()), max_size=8))
def test_the_events_that_stay_are_numbered_as_if_the_others_had_never_been(
    groups: list[tuple[list[tuple[str, frozenset[int]]], bool]],
) -> None:
    counting, only = Counting(1, 2, 1 << 20), Counting(1, 2, 1 << 20)
    for group, refused in groups:
        events = [counting.number(draft(topic), sorted(patterns), 7)[0] for topic, patterns in group]
        if refused:
            counting.take_back(events)
        else:
            assert events == [only.number(draft(topic), sorted(patterns), 7)[0] for topic, patterns in group]


def test_an_event_that_could_never_be_published_is_refused_before_it_has_numbers() -> None:
    counting = Counting(1, 2, 100_000)
    assert counting.refusal(draft(".a", bytes(80_000)), lambda _: [1]) is None
    assert counting.refusal(draft(".a", bytes(99_900)), lambda _: [1]) is None
    assert isinstance(counting.refusal(draft(".a", bytes(99_990)), lambda _: [1]), Misuse)
    assert isinstance(counting.refusal(draft(".a", b"", about="x" * 70_000), lambda _: [1]), Misuse)
    event, head = counting.number(draft(".a", b"", about="x" * 65_000), range(400), 7)
    assert len(head) <= 64 << 10, "tags give way"
    assert (event.id.sequence, event.ordinal) == (1, 1)


def test_a_spool_that_refuses_publications_leaves_no_hole_in_any_count(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            reader = await network.node("reader", subscribe=[".x"])
            publisher = await network.node("publisher", spool={"folder": str(tmp_path)}, publish=[".x"])
            spool = publisher.station.spool
            assert spool is not None
            async with reader.subscribe(".x", ordered=True) as inbox:
                first = await publisher.publish(".x", b"0")
                assert await payloads(inbox, 1) == [b"0"]
                await until(lambda: not publisher.station.handover.unacked)
                [(pages,)] = await ask(spool, "PRAGMA page_count")
                await ask(spool, f"PRAGMA max_page_count = {pages}")
                refused = [publisher.publish(".x", b"refused" + bytes(10_000)) for _ in range(366)]
                for each in refused:
                    with pytest.raises(TransportDown, match="is full: free space"):
                        await each
                await ask(spool, "PRAGMA max_page_count = 1000000")
                ids = await asyncio.gather(*[publisher.publish(".x", b"%d" % n) for n in range(1, 100)])
                assert [each.sequence - first.sequence for each in ids] == [*range(1, 100)]
                items = [await asyncio.wait_for(anext(inbox), 60) for _ in range(99)]
                assert [item.payload for item in items if isinstance(item, Delivery)] == [
                    b"%d" % n for n in range(1, 100)
                ]
                assert [item.ordinal for item in items if isinstance(item, Event)] == [*range(2, 101)]
                assert reader.metrics.gaps == 0

    asyncio.run(scenario())


def test_what_is_published_while_the_disk_works_goes_in_one_group_behind_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("node", spool={"folder": str(tmp_path)})
            spool = node.station.spool
            assert spool is not None
            groups: list[int] = []
            accept = spool.accept
            spool.accept = lambda some: (groups.append(sum(1 + each.more for each in some)), accept(some))[1]  # type: ignore[method-assign]
            go_on = held_up(spool)
            under_way = [node.publish(".x", b"0")]
            await until(lambda: groups == [1])
            under_way += [node.publish(".x", b"%d" % n) for n in range(1, 501)]
            await asyncio.sleep(0.02)
            assert groups == [1], "one group at a time"
            go_on()
            ids = await asyncio.gather(*under_way)
            assert groups == [1, 500], "several signatures, one commit"
            assert [each.sequence for each in ids] == [*range(1, 502)]

    asyncio.run(scenario())
