"""When a publisher may forget an event, and where the bytes of one come from that is to be sent again."""

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Effect, Fetch, Fetched, Given, Leave, Send
from gossamer.live.bodies import Bodies
from gossamer.live.clock import Clock
from gossamer.live.driver import Driver
from gossamer.live.handover import HandOver
from gossamer.live.metrics import Metrics
from gossamer.live.retrieval import Retrieval
from gossamer.protocols.assemble import DYNAMIC_MESSAGES
from gossamer.protocols.recovery.messages import Again
from gossamer.testing import Network
from gossamer.wire.codec import Codec
from gossamer.wire.sealed import head_of, seal
from live.watching import until

ME = 1
EVENTS = [Event(EventId(ME, 0, number), ".a", b"x" * 100) for number in (1, 2, 3)]
SEALED = {event.id: seal(head_of(event), event.payload, None) for event in EVENTS}


def hand_over() -> HandOver:
    driver: Any = SimpleNamespace(feed=lambda given: None, clock=Clock(), closed=False)
    return HandOver(ME, driver, Bodies(), None, again_s=1000.0, forget_after_s=1000.0)


def test_whoever_missed_an_event_makes_the_members_that_must_have_it_no_fewer() -> None:
    async def scenario() -> None:
        handover, event = hand_over(), EVENTS[0]
        handover.begin([event], [SEALED[event.id]])
        handover.told([event.id], (2, 3, 4, 5))
        handover.acked(2, ((0, 1, 1),))
        handover.told([event.id], (6,), again=True)
        assert event.id in handover.unacked
        handover.acked(6, ((0, 1, 1),))
        assert event.id in handover.unacked
        handover.acked(3, ((0, 1, 1),))
        assert event.id not in handover.unacked
        handover.close()

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


def driver_that(answers: Callable[[Given], list[Effect]], bodies: Bodies) -> Driver:
    machine: Any = SimpleNamespace(step=lambda given, now_us: answers(given))
    carriers: dict[str, type[Struct]] = {str(Again.__struct_config__.tag): Again}
    return Driver(ME, machine, Clock(), Codec(DYNAMIC_MESSAGES), carriers, bodies, Metrics(), None)


def test_an_event_whose_bytes_gave_way_to_others_is_asked_of_the_spool() -> None:
    async def scenario() -> None:
        driver = driver_that(lambda given: [Send((7, 8), Again(Carried(EVENTS[0])))], Bodies())
        asked: list[Fetch] = []
        driver.fetch = asked.append
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

        retrieval = Retrieval(driver_that(answer, bodies), bodies, cast(Any, Shelf()))
        retrieval.fetch(Fetch(7, tuple(SEALED)))
        await asyncio.gather(*retrieval.searches)
        assert at_hand == [*SEALED]

    asyncio.run(scenario())
