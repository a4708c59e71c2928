"""Whom an event is for: the index asks what each inbox would ask itself."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.events import Event
from gossamer.core.filters import parse
from gossamer.core.ids import EventId
from gossamer.core.topics import Hierarchy
from gossamer.live.reading.audience import Audience
from gossamer.live.reading.inbox import Inbox
from live.watching import lone_inbox

HIERARCHY = Hierarchy({".z": (".x",)})
TOPICS = (".", ".x", ".x.y", ".z", ".z.q")
FILTERS = ("", "n > 3", "n in (1, 5)", 's == "a" or n < 2', "not n")


def inbox(topic: str, where: str, ordered: bool = False) -> Inbox:
    filter = parse(where) if where else None
    return lone_inbox(topic, HIERARCHY, None, lambda: 0, filter=filter, ordered=ordered)


def event(topic: str, **attributes: str | int | bool) -> Event:
    return Event(EventId(1, 1, 1), topic, attributes=attributes)


WISHES = st.tuples(st.sampled_from(TOPICS), st.sampled_from(FILTERS), st.booleans())
EVENTS = st.builds(
    lambda topic, attributes: event(topic, **attributes),
    st.sampled_from(TOPICS),
    st.dictionaries(st.sampled_from("ns"), st.sampled_from([0, 1, 2, 5, "a", True])),
)


def of(audience: Audience, event: Event) -> list[Inbox]:
    offered = [reader for reader, events in audience.divided(event.topic, [event]) if [*events] == [event]]
    assert audience.has(event.topic) or not offered
    return offered


@given(st.lists(WISHES, max_size=8), st.lists(EVENTS, max_size=5), st.sampled_from(TOPICS))
def test_events_of_a_topic_go_together_to_whom_they_would_go_one_by_one(wishes, news: list[Event], topic: str) -> None:
    async def scenario() -> None:
        audience = Audience(HIERARCHY)
        for wish in wishes:
            audience.add(inbox(*wish))
        same = [replace(each, topic=topic) for each in news]
        together: dict[Inbox, list[Event]] = {}
        for reader, events in audience.divided(topic, same):
            together.setdefault(reader, []).extend(events)
        alone: dict[Inbox, list[Event]] = {}
        for each in same:
            for reader in of(audience, each):
                alone.setdefault(reader, []).append(each)
        assert {reader: [*map(id, events)] for reader, events in together.items() if events} == {
            reader: [*map(id, events)] for reader, events in alone.items()
        }

    asyncio.run(scenario())


@given(st.lists(WISHES, max_size=8), st.data())
def test_an_event_is_offered_to_whom_it_concerns_whoever_came_and_left(wishes, data: st.DataObject) -> None:
    async def scenario() -> None:
        audience = Audience(HIERARCHY)
        everybody = [inbox(*wish) for wish in wishes]
        for each in everybody:
            audience.add(each)
            of(audience, data.draw(EVENTS))  # what is remembered must not outlive a change
        for each in [each for each in everybody if data.draw(st.booleans())]:
            audience.remove(each)
        news = data.draw(EVENTS)
        offered = of(audience, news)
        assert len(offered) == len(set(offered))
        for each in audience.inboxes:
            matches = each.filter is None or each.filter.matches(news.attributes)
            if each.wants(news.topic) and matches:
                assert each in offered
            elif each in offered:  # who keeps an order hears of all of its topic
                assert each.wants(news.topic)
                assert each.order
        assert set(offered) <= set(audience.inboxes)

    asyncio.run(scenario())


def test_a_reader_of_little_is_not_even_asked() -> None:
    async def scenario() -> None:
        audience = Audience(HIERARCHY)
        readers = [inbox(".x", f"n == {n}") for n in range(1000)]
        for each in readers:
            audience.add(each)
        assert of(audience, event(".x.y", n=7)) == [readers[7]]
        assert of(audience, event(".", n=7)) == []
        for each in readers:
            audience.remove(each)
        assert of(audience, event(".x", n=7)) == []

    asyncio.run(scenario())
