"""Deliveries of one turn: kept pack by pack where packs are whole, and every event in its place."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from gossamer.core.events import Event
from gossamer.core.filters import parse
from gossamer.core.ids import EventId
from gossamer.core.machine import Deliver, Missing, Relayed
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.limits import ReadingLimits
from gossamer.live.reading.readers import Readers
from gossamer.live.reading.subscriptions import Subscriptions
from gossamer.live.spool import Kept, KeptPack
from gossamer.live.spool.items import Delivered, places
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.protocols.recovery.params import Params
from gossamer.wire.pack import Pack
from live.test_subscriptions import Fed
from wire.test_pack import packed


class Shelf:
    """A spool that remembers what it was to keep."""

    last_place = 100
    subscriptions = None

    def __init__(self) -> None:
        self.kept: list[Kept | KeptPack] = []

    def lived_us(self) -> int:
        return 5

    def hear(self, hearer: Any) -> None:
        self.hearer = hearer

    def keep(self, deliveries: Delivered) -> int:
        first = self.last_place + 1
        self.kept += deliveries
        self.last_place += places(deliveries)
        return first


class Receiving:
    """Whoever tells publishers what was kept."""

    def keeping(self, ids: list[EventId]) -> None: ...


def events(first: int, count: int, topic: str = ".a") -> list[Event]:
    return [Event(EventId(7, 1, first + i), topic, b"%d" % i, ordinal=first + i) for i in range(count)]


def delivered(some: list[Event], hops: int = 1) -> list[Deliver | Relayed]:
    return [Deliver(event, hops) for event in some]


def readers(*packs: Pack, shelf: Any = None) -> Readers:
    bodies = Bodies()
    for pack in packs:
        bodies.add_pack(pack)
    subscriptions = Subscriptions(Fed([]), False, lambda topic: Params())
    limits = ReadingLimits(1000, 1 << 20)
    loop: Any = shelf and WatchedLoop(Failures(Metrics()))  # without a spool nothing happens later
    return Readers(
        shelf, Hierarchy(), bodies, Metrics(), None, subscriptions, lambda: 0, "me", limits, Receiving(), loop
    )


def test_packs_delivered_whole_are_kept_whole_and_others_event_by_event() -> None:
    one, two, three = events(1, 4), events(11, 4), events(21, 3)
    whole, part, split = packed(one), packed(two), packed(three)

    async def scenario() -> None:
        shelf = Shelf()
        alone = events(99, 1)
        turn = delivered(one), delivered(two[:2]), delivered(alone), delivered(three[:1], 1), delivered(three[1:], 2)
        readers(whole, part, split, shelf=shelf).deliver([each for some in turn for each in some], 5)
        first, *rest = shelf.kept
        assert isinstance(first, KeptPack)
        assert (first.pack, first.topic, first.hops, first.at_us, first.ordinal) == (whole, ".a", 1, 5, 1)
        assert [(each.id, each.sealed, each.hops, each.ordinal) for each in rest if isinstance(each, Kept)] == [
            *((event.id, part, 1, event.ordinal) for event in two[:2]),
            (alone[0].id, b"", 1, 99),
            (three[0].id, split, 1, 21),
            *((event.id, split, 2, event.ordinal) for event in three[1:]),
        ]
        assert shelf.last_place == 110

    asyncio.run(scenario())


def test_every_reader_gets_its_topics_in_the_places_they_were_given() -> None:
    async def scenario() -> None:
        desk = readers()
        async with (
            desk.open(".a", None, False, False, True) as narrow,
            desk.open(".", None, False, False, True) as wide,
        ):
            turn = delivered([*events(1, 3), *events(4, 2, ".b"), *events(6, 2, ".a.c")])
            desk.deliver(turn, 5)
            desk.deliver(delivered(events(8, 1, ".b")), 6)
            items = [[item for item in inbox.memory if isinstance(item, Delivery)] for inbox in (narrow, wide)]
            assert [[(item.place, item.id.sequence) for item in some] for some in items] == [
                [(place, place) for place in (1, 2, 3, 6, 7)],
                [(place, place) for place in range(1, 9)],
            ]
            assert desk.metrics.deliveries == {".a": 3, ".b": 3, ".a.c": 2}
            assert desk.metrics.events_delivered == desk.last_place() == 8

    asyncio.run(scenario())


READERS = [(".", None), (".e", None), (".e", "p > 0"), (".e", "p > 1"), (".e", "q"), (".e.f", None), (".e.f", "p == 5")]


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (Pattern(".e"), READERS),
        (Pattern(".e", "p > 0"), [(".e", "p > 0"), (".e", "p > 1"), (".e.f", "p == 5")]),
        (Pattern(".e", "p > 1"), [(".e", "p > 1"), (".e.f", "p == 5")]),
        (Pattern(".e.f", "p > 0"), [(".e", "p > 0"), (".e.f", "p == 5")]),
        (Pattern(".e", "true"), READERS[1:]),  # asked for in place of what could not be told
        (Pattern(".x"), [(".", None)]),
    ],
)
def test_who_reads_a_part_of_what_is_counted_is_told_that_something_is_missing(
    missing: Pattern, told: list[tuple[str, str | None]]
) -> None:
    async def scenario() -> None:
        desk = readers()
        async with AsyncExitStack() as open_inboxes:
            inboxes = {}
            for topic, where in READERS:
                inbox = desk.open(topic, None if where is None else parse(where), False, False, True)
                inboxes[topic, where] = await open_inboxes.enter_async_context(inbox)
            desk.missing(Missing(9, 1, missing, 3, 4))
            gaps = {reader: [*inbox.memory] for reader, inbox in inboxes.items() if inbox.memory}
            assert [*gaps] == told
            why = f"events of {missing.topic} from one publisher have not come: they follow if they are found"
            assert all(gap == [Gap(2, why, missing.topic, 9)] for gap in gaps.values())

    asyncio.run(scenario())
