"""Push digests besides pulling: what they tell of, and what they cost."""

import pytest
from msgspec.structs import replace

from composing import use
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import SECOND_US, Effect, Fired, Received, Send, SetTimer, Started, Subscribe
from gossamer.core.patterns import Pattern, Tag
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.dispatch.messages import Route, Tell
from gossamer.protocols.dispatch.node import static_dispatcher
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.messages import Digest
from gossamer.protocols.recovery.offers import TIMES, Offer
from gossamer.protocols.recovery.params import Params
from protocols.test_many_subscriptions import lines_run

ME, OTHER = 0, 1
OFTEN = replace(Params.live(), patience_us=0)


class Offering:
    """A dispatcher that reads one topic, beside one that reads many others."""

    def __init__(self, patterns: int) -> None:
        self.wanted = [Pattern(f".t{number}") for number in range(patterns)]
        wanted = {ME: [Pattern(".")], OTHER: self.wanted}
        self.node = static_dispatcher(ME, 1, {ME: [OTHER], OTHER: [ME]}, wanted, OFTEN)
        self.now_us = 0
        self.offer: Offer | None = None
        self.step(self.node.step(Started(), 0))

    def step(self, effects: list[Effect]) -> list[Digest]:
        """What is said; the timer of the next offer is kept."""
        timers = [e.timer for e in effects if type(e) is SetTimer and type(e.timer) is Offer]
        self.offer = timers[-1] if timers else self.offer
        return [e.message for e in effects if type(e) is Send and type(e.message) is Digest]

    def hear(self, number: int, *patterns: Pattern) -> None:
        self.now_us += 1000
        tags = tuple(Tag(each.signature, number) for each in patterns)
        event = Event(EventId(9, 0, number), patterns[0].topic, published_us=self.now_us, tags=tags)
        self.step(self.node.step(Received(OTHER, Route(Carried(event, 1))), self.now_us))

    def fire(self) -> list[Digest]:
        assert self.offer is not None
        self.now_us = max(self.now_us, self.offer.due_us)
        return self.step(self.node.step(Fired(self.offer), self.now_us))


@pytest.mark.parametrize("events", [0, 30])
def test_what_an_offer_takes_does_not_grow_with_the_patterns_known(events: int) -> None:
    def lines(patterns: int) -> int:
        offering = Offering(patterns)
        offering.hear(1, offering.wanted[0])
        offering.fire()
        for number in range(2, 2 + events):
            offering.hear(number, *offering.wanted[:10])
        return lines_run(offering.fire)

    assert lines(2_000) <= lines(20) + 20


def test_nor_with_the_topics_of_a_node_where_patterns_are_topics() -> None:
    def lines(topics: int) -> int:
        node = Stack(ME, 1, Hierarchy(), Seen())
        members = Static(node, {".": range(3)})
        spread = Flood(node, members)
        recover = Recovery(node, spread, lambda topic: OFTEN)
        use(node, spread, recover, members=members, spread=spread, recover=recover)
        node.step(Started(), 0)
        for number in range(topics):
            node.step(Subscribe(f".t{number}"), 1)
        due_us = recover.offers.pulse.due_us
        assert due_us is not None
        node.step(Fired(Offer(due_us)), due_us)
        due_us = recover.offers.pulse.due_us
        assert due_us is not None
        return lines_run(lambda: node.step(Fired(Offer(due_us)), due_us))

    assert lines(1_000) <= lines(20) + 20


def test_each_pattern_with_news_is_told_of_a_few_times_and_old_news_seldom() -> None:
    offering = Offering(3)
    first, second, third = offering.wanted
    offering.hear(1, first)
    offering.hear(2, second)
    told = [digest.pattern for _ in range(2 * TIMES) for digest in offering.fire()]
    assert [told.count(each) for each in (first, second, third)] == [TIMES, TIMES, 0]
    began_us = offering.now_us
    assert [digest.pattern in (first, second) for _ in range(4) for digest in offering.fire()] == [True] * 4
    assert offering.now_us - began_us > 8 * SECOND_US
    offering.hear(3, third)
    assert [digest.pattern for digest in offering.fire()] == [third]


def test_no_pattern_with_news_is_told_of_again_before_all_others_were() -> None:
    offering = Offering(patterns=10)
    for number, pattern in enumerate(offering.wanted, 1):
        offering.hear(number, pattern)
    for _ in range(TIMES):
        told = [digest.pattern for _ in offering.wanted for digest in offering.fire()]
        assert sorted(told) == sorted(offering.wanted)


def test_a_pattern_that_is_known_later_is_told_of_too() -> None:
    offering, late = Offering(1), Pattern(".late")
    offering.hear(1, late)
    assert [each.pattern for _ in range(3) for each in offering.fire()] == []
    offering.step(offering.node.step(Received(OTHER, Tell(1, 1, (late,))), offering.now_us))
    assert late in [each.pattern for _ in range(3) for each in offering.fire()]


def test_what_is_no_longer_held_is_no_news() -> None:
    offering = Offering(2)
    offering.hear(1, offering.wanted[0])
    for number in range(2, 2 + OFTEN.cache):
        offering.hear(number, offering.wanted[1])
    assert {digest.pattern for _ in range(TIMES) for digest in offering.fire()} == {offering.wanted[1]}
