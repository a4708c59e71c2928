"""When a publisher may forget an event, and where the bytes of one come from that is to be sent again."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Effect, Fetch, Fetched, Given, Leave, Send
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.arriving.seals import Seals
from gossamer.live.keys.trust import OpenTrust
from gossamer.live.links.control import How
from gossamer.live.node import Node
from gossamer.live.publishing.handover import HandOver
from gossamer.live.publishing.parcel import Row
from gossamer.live.publishing.sealing import Sealing
from gossamer.live.reading.retrieval import Retrieval
from gossamer.live.running.clock import Clock
from gossamer.live.running.driver import Driver
from gossamer.live.running.performers import Performers
from gossamer.live.running.spread_rules import SpreadRules
from gossamer.live.watching.failures import Failures
from gossamer.live.watching.metrics import Metrics
from gossamer.live.watching.watched_loop import WatchedLoop
from gossamer.protocols import CATALOGUE
from gossamer.protocols.recovery.messages import Again
from gossamer.testing import Network
from gossamer.wire.codec import Codec
from gossamer.wire.proof import BATCH_MAX
from gossamer.wire.sealed import head_of, seal
from live.handing import Hows, Plain
from live.watching import payloads, until
from wire.test_pack import packed

ME = 1
EVENTS = [Event(EventId(ME, 0, number), ".a", b"x" * 100) for number in (1, 2, 3)]
SEALED = {event.id: seal(head_of(event), event.payload, None) for event in EVENTS}


def hand_over(rules: SpreadRules | None = None, settle_s: float = 0.0) -> HandOver:
    loop = WatchedLoop(Failures(Metrics()))
    driver: Any = SimpleNamespace(feed=lambda given: None, clock=Clock(), closed=False, loop=loop)
    rules, trust, bodies = rules or SpreadRules(), OpenTrust("me"), Bodies()
    return HandOver(
        *(ME, driver, bodies, None, Permissions(trust), rules, Sealing(trust, bodies)),
        again_s=1000.0,
        forget_after_s=1000.0,
        copies=3,
        settle_s=settle_s,
    )


def test_whoever_missed_an_event_makes_the_members_that_must_have_it_no_fewer() -> None:
    async def scenario() -> None:
        handover, event = hand_over(), EVENTS[0]
        handover.begin([event], [SEALED[event.id]], [Row(event.id, 1, 0)])
        handover.told([event.id], (2, 3, 4, 5))
        handover.acked(2, ((0, 1, 1),), "disk")
        handover.told([event.id], (6,), again=True)
        assert event.id in handover.unacked
        handover.acked(6, ((0, 1, 1),), "disk")
        assert event.id in handover.unacked
        handover.acked(3, ((0, 1, 1),), "disk")
        assert event.id not in handover.unacked
        handover.close()

    asyncio.run(scenario())


# -- packs -------------------------------------------------------------------------------------------------------

FIRST, LAST = 1, 8
PACK = packed([Event(EventId(ME, 0, number), ".a", b"x") for number in range(FIRST, LAST + 1)])
Peers = st.lists(st.integers(2, 7), min_size=1, max_size=5, unique=True)
Told = st.tuples(st.integers(FIRST, LAST), st.integers(FIRST, LAST), Peers, st.booleans())
Acked = st.tuples(st.integers(FIRST - 2, LAST + 2), st.integers(FIRST - 2, LAST + 2), st.integers(2, 7), Hows)


class Alone:
    """Each event by itself: what becomes of it, whatever it was spread with."""

    def __init__(self) -> None:
        self.plain, self.done = Plain(), False

    def hear(self, forgetful: set[int], about: Any, more: Any) -> None:
        """It went to these, or one of them says how it has it."""
        if self.done:
            return
        if isinstance(about, list):
            self.plain.tell(about, more)
        elif about in self.plain.asked:
            self.plain.hear(about, more)
        else:
            return
        self.done = self.plain.is_taken(forgetful)


@given(Peers, st.lists(Told | Acked, max_size=20))
def test_a_pack_is_counted_as_its_events_would_be_and_its_row_goes_with_the_last(
    peers: list[int], calls: list[tuple[int, int, list[int], bool] | tuple[int, int, int, How]]
) -> None:
    done: list[EventId] = []

    async def scenario() -> None:
        handover, events = hand_over(), [Event(each, ".a", b"x") for each in PACK.ids]
        handover.spool = cast(Any, SimpleNamespace(done=done.extend))
        handover.begin(events, PACK, [Row(PACK.ids[0], 5, 0)] * 5 + [Row(PACK.ids[5], 3, 0)] * 3)
        plain = {number: Alone() for number in range(FIRST, LAST + 1)}
        for low, high, *said in [(FIRST, LAST, peers, False), *calls]:
            match said:
                case [list(told), bool(again)]:
                    low, high = sorted((low, high))
                    handover.told([EventId(ME, 0, number) for number in range(low, high + 1)], tuple(told), again)
                case [int(peer), str(how)]:
                    handover.acked(peer, ((0, low, high),), cast(How, how))
            for number in range(max(FIRST, low), min(LAST, high) + 1):
                plain[number].hear({*handover.forgetful}, *said)
            assert [each.sequence for each in handover.unacked] == [n for n, each in plain.items() if not each.done]
        await asyncio.sleep(0)
        rows = {PACK.ids[0]: range(1, 6), PACK.ids[5]: range(6, 9)}
        assert sorted(done) == [row for row, its in rows.items() if all(plain[number].done for number in its)]
        handover.close()

    asyncio.run(scenario())


async def read_and_handed_over(network: Network, publisher: Node, count: int) -> None:
    """A reader comes and gets everything once; then nothing waits any more."""
    spool = publisher.station.spool
    assert spool is not None
    reader = await network.node("reader")
    async with reader.subscribe(".x") as inbox:
        assert sorted(await payloads(inbox, count)) == sorted(b"%d" % number for number in range(count))
        assert await publisher.handed_over(30)
        assert await spool.outbox(10) == []
        assert not inbox.at_hand()


def test_packs_left_to_the_spool_are_taken_from_there_once_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.publishing.handover.UNACKED_MAX", 150)
    monkeypatch.setattr("gossamer.live.publishing.backlog.AT_ONCE", 100)

    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("publisher", timeouts={"ack_s": 0.05})
            for start in (0, 200):
                await asyncio.gather(*[node.publish(".x", b"%d" % number) for number in range(start, start + 200)])
            assert node.station.handover.backlog.left > 0
            await read_and_handed_over(network, node, 400)

    asyncio.run(scenario())


def test_whether_nobody_wants_an_event_is_waited_for_before_anybody_says_that_nobody_took_it() -> None:
    async def scenario() -> None:
        rules: Any = SpreadRules()
        handover, event = hand_over(rules), EVENTS[0]
        handover.driver.machine = cast(Any, SimpleNamespace(waiting=0))
        handover.begin([event], [SEALED[event.id]], [Row(event.id, 1, 0)])
        rules.is_unwanted = lambda event_id: True  # for the time being: who wants what is heard only now
        finished = asyncio.create_task(handover.finished(60, hopefully=True))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not finished.done()
        handover.told([event.id], (2,))
        handover.acked(2, ((0, 1, 1),), "disk")
        assert await finished
        handover.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("spread", ["camcast", "dispatch"])
def test_what_was_too_much_to_wait_for_a_place_is_offered_again_before_anybody_says_that_nobody_took_it(
    spread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.core.publications.PENDING_MAX", 10)

    async def scenario() -> None:
        async with Network() as network:
            reader = await network.node("reader", spread=spread)
            async with reader.subscribe(".x") as inbox:
                node = await network.node("publisher", spread=spread, timeouts={"ack_s": 0.5})
                await asyncio.gather(*[node.publish(".x", b"%d" % number) for number in range(30)])
                assert node.station.machine.waiting == 10
                assert await node.handed_over(30)
                assert sorted(await payloads(inbox, 30)) == sorted(b"%d" % number for number in range(30))

    asyncio.run(scenario())


@pytest.mark.parametrize("at_once", [100, 100_000])
def test_packs_that_nobody_took_are_sent_by_the_next_life(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.live.publishing.handover.UNACKED_MAX", at_once)
    monkeypatch.setattr("gossamer.live.publishing.backlog.PAGES_AT_ONCE", 1)
    monkeypatch.setattr("gossamer.live.publishing.backlog.AT_ONCE", at_once)

    async def scenario() -> None:
        async with Network() as network:
            settings: dict[str, Any] = {"spool": {"folder": str(tmp_path)}, "timeouts": {"ack_s": 0.05, "leave_s": 0.1}}
            node = await network.node("publisher", **settings)
            await asyncio.gather(*[node.publish(".x", b"%d" % number) for number in range(200)])
            assert node.station.spool is not None
            assert max(each.more for each in await node.station.spool.outbox(200)) == BATCH_MAX - 1
            await network.crash("publisher")
            again = await network.node("publisher", **settings)
            assert (len(again.station.handover.unacked) == 200) == (at_once > 200)
            await read_and_handed_over(network, again, 200)

    asyncio.run(scenario())


def test_what_nobody_takes_is_offered_for_as_long_as_the_spool_keeps_events_and_then_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", timeouts={"ack_s": 0.01}, spool={"keep_s": 3600.0})
            handover, spool = node.station.handover, node.station.spool
            assert spool is not None
            lonely = await node.publish(".x", b"where nobody is")
            await until(lambda: handover.unacked[lonely].tries >= 2)
            assert [each.id for each in await spool.outbox(10)] == [lonely]
            node.station.clock.offset_us += 3600 * 1_000_000
            await until(lambda: not handover.unacked)
            assert await spool.outbox(10) == []
            assert caplog.messages == [f"nobody took over {lonely} on .x in 3600 s: given up"]

    with caplog.at_level(logging.WARNING, "gossamer.publishing"):
        asyncio.run(scenario())


def driver_that(answers: Callable[[Given], list[Effect]], bodies: Bodies, fetch: Callable[[Fetch], None]) -> Driver:
    machine: Any = SimpleNamespace(step=lambda given, now_us: answers(given))
    carriers: dict[str, type[Struct]] = {str(Again.__struct_config__.tag): Again}
    trust, nobody = OpenTrust("me"), cast(Any, None)
    return Driver(
        *(ME, machine, Clock(), Codec(CATALOGUE["camcast"].spoken), carriers, bodies, Metrics(), None),
        Permissions(trust),
        Seals(ME, trust, SpreadRules()),
        WatchedLoop(Failures(Metrics())),
        lambda driver: Performers(nobody, nobody, hand_over(), cast(Any, SimpleNamespace(fetch=fetch)), nobody),
    )


def test_an_event_whose_bytes_gave_way_to_others_is_asked_of_the_spool() -> None:
    async def scenario() -> None:
        asked: list[Fetch] = []
        driver = driver_that(lambda given: [Send((7, 8), Again(Carried(EVENTS[0])))], Bodies(), asked.append)
        driver.feed(Leave())
        assert asked == [Fetch(7, (EVENTS[0].id,)), Fetch(8, (EVENTS[0].id,))]

    asyncio.run(scenario())


def test_what_the_spool_had_is_at_hand_when_it_is_sent_however_few_bytes_are_kept() -> None:
    class Shelf:
        async def find(self, ids: tuple[EventId, ...]) -> dict[EventId, bytes]:
            return {each: SEALED[each] for each in ids}

    async def scenario() -> None:
        bodies = Bodies(bytes_max=1)
        at_hand: list[EventId] = []

        def answer(given: Given) -> list[Effect]:
            assert isinstance(given, Fetched)
            at_hand.extend(event.id for event in given.events if bodies.sealed(event.id) == SEALED[event.id])
            return []

        retrieval = Retrieval(driver_that(answer, bodies, lambda fetch: None), bodies, cast(Any, Shelf()))
        retrieval.fetch(Fetch(7, tuple(SEALED)))
        await asyncio.gather(*retrieval.searches)
        assert at_hand == [*SEALED]

    asyncio.run(scenario())


# -- newcomers ---------------------------------------------------------------------------------------------------


def test_who_has_just_come_to_a_topic_offers_an_event_once_more_before_fewer_than_wanted_are_enough() -> None:
    async def scenario() -> None:
        handover, event, fed = hand_over(settle_s=0.05), EVENTS[0], list[Given]()
        handover.driver = cast(Any, SimpleNamespace(feed=fed.append, clock=Clock(), closed=False))
        handover.begin([event], [SEALED[event.id]], [Row(event.id, 1, 0)])
        handover.told([event.id], (2,))
        handover.acked(2, ((0, 1, 1),), "memory")
        assert event.id in handover.unacked
        await until(lambda: len(fed) == 2)  # by now it knows of 3 too
        handover.told([event.id], (2, 3))
        assert event.id in handover.unacked
        handover.acked(3, ((0, 1, 1),), "disk")
        assert event.id not in handover.unacked
        handover.close()

    asyncio.run(scenario())


def test_as_many_on_disk_as_are_wanted_are_enough_for_newcomers_too() -> None:
    async def scenario() -> None:
        handover, event = hand_over(settle_s=1000.0), EVENTS[0]
        handover.begin([event], [SEALED[event.id]], [Row(event.id, 1, 0)])
        handover.told([event.id], (2, 3, 4))
        for peer in (2, 3, 4):
            assert event.id in handover.unacked
            handover.acked(peer, ((0, 1, 1),), "disk")
        assert event.id not in handover.unacked
        handover.close()

    asyncio.run(scenario())
