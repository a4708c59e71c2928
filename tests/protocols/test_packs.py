"""Events that come together are met as if they had come one by one: same deliveries, losses, copies, and memory."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from composing import use
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import (
    Deliver,
    Effect,
    Given,
    Note,
    Publish,
    Received,
    Send,
    SetTimer,
    Started,
    StartPublishing,
    Subscribe,
)
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.parts.tagging import Tagger
from gossamer.protocols.camcast.layer import Camcast, FixedLinks
from gossamer.protocols.camcast.messages import Carry
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.camcast.params import Settings
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.messages import Again
from gossamer.protocols.recovery.params import Eviction, Params

ME, VIA, PUBLISHER = 3, 4, 40
TOPICS = (".a", ".a.b", ".c")
Packs: TypeAlias = list[tuple[type[Struct], int, list[Event]]]
"With what carries them, and their hops."
COMMUNITIES = {".a": range(20), ".a.b": range(30), ".c": range(10)}


def node(wishes: Sequence[Given], small: int, eviction: Eviction) -> Stack:
    made = Stack(ME, 7, Hierarchy(), Seen())
    members, links = Static(made, COMMUNITIES), FixedLinks([[50, 51]])
    camcast = Camcast(made, members, links, Settings(CamcastParams(small=small)))
    recover = Recovery(made, camcast, lambda topic: replace(Params.live(), eviction=eviction, cache=60))
    use(made, camcast, recover, members=members, links=links, spread=camcast, recover=recover)
    for step in (Started(), *wishes):
        made.step(step, 0)
    return made


def history(topics: Sequence[str], climbs: Sequence[float | None], lives: int) -> list[Event]:
    """What a publisher made, counted as publishers count."""
    events: list[Event] = []
    tagger = Tagger()
    for number, (topic, climb) in enumerate(zip(topics, climbs, strict=True)):
        life = number * lives // len(topics)
        if events and life != events[-1].id.incarnation:
            tagger = Tagger()
        tags = tagger.tags([Pattern(each).signature for each in (topic, *Hierarchy().ancestors(topic))], 0)
        attributes = {"n": number % 3}
        events.append(Event(EventId(PUBLISHER, life, number), topic, b"x" * number, attributes, climb, 0, 0, tags))
    return events


@st.composite
def usual(draw: st.DrawFn) -> Packs:
    """Packs as a publisher makes them, some of them lost, late, known in part, in another order or with holes."""
    events = history([".a"] * 40, [None] * 40, 1)
    cuts = sorted({0, 40, *draw(st.lists(st.integers(1, 39), min_size=2, max_size=5))})
    packs = [events[start:end] for start, end in pairwise(cuts)]
    order = draw(st.permutations(packs)) if draw(st.booleans()) else packs
    known = [pack[: draw(st.integers(1, 3))] for pack in order if draw(st.integers(0, 3)) == 0]
    odd = st.sampled_from([slice(None), slice(None), slice(None, None, -1), slice(None, None, 2), slice(0)])
    kept = [pack[draw(odd)] for pack in order]
    return [(Carry, draw(st.integers(0, 3)), pack) for pack in [*known, *kept, *known] if pack] or [(Carry, 1, events)]


@st.composite
def unusual(draw: st.DrawFn) -> Packs:
    """Packs of anything: topics, climbs and lives mixed, out of order, with an event twice, or to fill a gap."""
    count = draw(st.integers(2, 30))
    topics = draw(st.lists(st.sampled_from(TOPICS), min_size=count, max_size=count))
    climbs = draw(st.lists(st.sampled_from([None, 0.4, 1.0]), min_size=count, max_size=count))
    events = history(topics, climbs, draw(st.integers(1, 2)))
    packs: Packs = []
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, count - 1))
        some = events[start : start + draw(st.integers(1, 10))]
        if draw(st.booleans()):
            some = draw(st.permutations(some))
        if draw(st.integers(0, 5)) == 0:
            some = [*some, some[0]]
        packs.append((draw(st.sampled_from([Carry, Carry, Again])), draw(st.integers(0, 3)), some))
    return packs


def by_event(effects: Sequence[Effect]) -> list[Effect]:
    """Effects with what is sent taken apart, deliveries first: their order among others does not matter."""
    apart: list[Effect] = []
    for effect in effects:
        if isinstance(effect, Send) and isinstance(effect.message, Carry):
            apart += [Send(effect.peers, Carry(one)) for one in effect.message.carried.each()]
        else:
            apart.append(effect)

    def kind(effect: Effect) -> tuple[bool, str, str]:
        about = effect.message if isinstance(effect, Send) else effect.timer if isinstance(effect, SetTimer) else ""
        said = type(about).__name__
        return not isinstance(effect, Deliver), type(effect).__name__, said

    return sorted(apart, key=kind)


def state(made: Stack, events: Sequence[Event]) -> object:
    recovery = made.recover
    assert isinstance(recovery, Recovery)
    streams, holding = recovery.streams, recovery.holding
    return (
        {who: (source.highest, source.route) for who, source in streams.sources.items()},
        streams.lost.noticed_us,
        streams.gaps.waiting,
        [made.knows(event.id) for event in events],
        [holding.get(event.id) for event in events],
        [
            holding.at(PUBLISHER, event.id.incarnation, tag.pattern, tag.sequence)
            for event in events
            for tag in event.tags
        ],
        {pattern: holding.digest(Pattern(pattern).signature, made.now_us) for pattern in TOPICS},
    )


WISHES = st.lists(
    st.one_of(
        st.builds(Subscribe, st.sampled_from([".a", ".a.b", ".c", "."])),
        st.builds(Subscribe, st.just(".a"), st.sampled_from(["n > 0", "n == 1"])),
    ),
    max_size=2,
)


@pytest.mark.parametrize("eviction", ["fifo", "random"])
@pytest.mark.parametrize("small", [0, 32])
@given(st.one_of(st.tuples(usual(), st.just([Subscribe(".a")])), st.tuples(st.one_of(usual(), unusual()), WISHES)))
@settings(max_examples=60)
def test_events_that_come_together_are_met_as_if_they_came_one_by_one(
    small: int, eviction: Eviction, drawn: tuple[Packs, list[Subscribe]]
) -> None:
    packs, wishes = drawn
    whole, apart = node(wishes, small, eviction), node(wishes, small, eviction)
    met: dict[EventId, Event] = {}
    for number, (kind, hops, events) in enumerate(packs):
        now_us = 40_000 * number
        carried = Carried(events[0], hops, (8, VIA), tuple(events[1:]))
        together = whole.step(Received(VIA, kind(carried)), now_us)  # type: ignore[call-arg]
        alone = [effect for one in carried.each() for effect in apart.step(Received(VIA, kind(one)), now_us)]  # type: ignore[call-arg]
        assert by_event(together) == by_event(alone)
        met |= {event.id: event for event in events}
        assert state(whole, [*met.values()]) == state(apart, [*met.values()])


def test_a_pack_of_one_topic_is_one_send_and_one_parcel() -> None:
    made = node([Subscribe(".a")], 32, "fifo")
    events = history([".a"] * 10, [None] * 10, 1)
    effects = made.step(Received(VIA, Carry(Carried(events[0], 2, (), tuple(events[1:])))), 5)
    assert [effect for effect in effects if isinstance(effect, Deliver)] == [Deliver(event, 2) for event in events]
    (send,) = [effect for effect in effects if isinstance(effect, Send)]
    assert send.message == Carry(Carried(events[0], 3, (), tuple(events[1:])))
    assert all(isinstance(effect, (Deliver, Send, SetTimer)) for effect in effects)
    assert isinstance(made.recover, Recovery)
    assert (len(made.recover.holding.cache.order), len(made.recover.holding.cache)) == (1, 10)


@pytest.mark.parametrize("small", [0, 32])
@given(usual(), WISHES, st.booleans())
@settings(max_examples=40)
def test_events_published_together_are_spread_as_if_they_were_one_by_one(
    small: int, packs: Packs, wishes: list[Subscribe], announced: bool
) -> None:
    before = [*wishes, *([StartPublishing(".a")] if announced else [])]
    whole, apart = node(before, small, "fifo"), node(before, small, "fifo")
    met: dict[EventId, Event] = {}
    for number, (_, _, events) in enumerate(packs):
        ours = [replace(each, id=replace(each.id, publisher=ME)) for each in events]
        together = whole.step(Publish(ours[0], True, tuple(ours[1:])), 40_000 * number)
        alone = [effect for each in ours for effect in apart.step(Publish(each), 40_000 * number)]
        assert by_event(together) == by_event(alone)
        met |= {each.id: each for each in ours}
        assert state(whole, [*met.values()]) == state(apart, [*met.values()])


def test_what_is_published_together_goes_out_as_one() -> None:
    made = node([StartPublishing(".a")], 32, "fifo")
    events = history([".a"] * 10, [None] * 10, 1)
    effects = made.step(Publish(events[0], True, tuple(events[1:])), 5)
    assert effects[:10] == [Note("publish", event.id, topic=".a") for event in events]
    (send,) = [effect for effect in effects if isinstance(effect, Send)]
    assert send.message == Carry(Carried(events[0], 1, (), tuple(events[1:])))
