"""One recovering node on a ground made by hand, taken step by step; and events as their publishers tag them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from composing import use
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.machine import Effect, Fired, Given, Publish, Received, Send, SetTimer, Started, Subscribe
from gossamer.core.messages import Carrier
from gossamer.core.patterns import Pattern, Tag
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.topical import Below
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Params

ME: Peer = 5
S: Peer = 9
"A publisher."
A, B, C = sorted((Pattern(".a"), Pattern(".b"), Pattern(".c")), key=lambda pattern: pattern.signature)


class Carry(Carrier, frozen=True, tag="field.carry"):
    """An event."""


class Field(Layer):
    """A spread that knows what it is told: patterns, and for each the neighbours that lead to it."""

    relays = True
    instead: Pattern | None = None

    def __init__(self, node: Stack, ways: dict[Pattern, Sequence[Peer]], tree: bool) -> None:
        super().__init__(node)
        self.ways, self.tree = ways, tree
        node.interest.by_content = True
        self.matching: Sequence[Pattern] = (A, B, C)
        "Those an event may match, as far as this node knows."

    def has_place(self, topic: Topic) -> bool:
        return True

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Carry: self.on_carry}

    def on_carry(self, peer: Peer, carry: Carry) -> None:
        self.node.accept(carry.carried, peer)

    def publish(self, events: Sequence[Event]) -> bool:
        accepted = [self.node.accept(Carried(event), self.node.me) is not None for event in events]
        return all(accepted)

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[Pattern, ...]:
        return tuple(pattern for pattern in self.matching if self.node.hierarchy.includes(pattern.topic, topic))

    def local(self) -> Sequence[Pattern]:
        return sorted(self.node.interest.patterns, key=lambda pattern: pattern.signature)

    def known(self) -> Sequence[Pattern]:
        return sorted(self.ways, key=lambda pattern: pattern.signature)

    def wants(self, pattern: Pattern) -> bool:
        return pattern in self.node.interest.patterns

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return self.ways.get(pattern, ())

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, Below]], bool]:
        hierarchy = self.node.hierarchy
        return [(peer, Below(hierarchy, each.topic)) for each, peers in self.ways.items() for peer in peers], True

    def carries(self, topic: Topic, besides: Peer) -> bool:
        return False


def event(
    sequence: int,
    *places: tuple[Pattern, int],
    source: Peer = S,
    life: int = 0,
    payload: bytes = b"",
    at_us: int = 0,
    age_ms: int = 0,
) -> Event:
    """The publisher's n-th event, at these places in its counts, which began so long before."""
    tags = tuple(Tag(pattern.signature, place, age_ms) for pattern, place in places)
    return Event(EventId(source, life, sequence), places[0][0].topic, payload, published_us=at_us, tags=tags)


class Node:
    """A node that subscribed to some patterns."""

    def __init__(
        self,
        params: Params,
        *local: Pattern,
        ways: dict[Pattern, Sequence[Peer]] | None = None,
        tree: bool = True,
        me: Peer = ME,
        seed: int = 1,
    ) -> None:
        self.node = Stack(me, seed, Hierarchy(), Seen())
        self.field = Field(self.node, {A: (1, 2, 3)} if ways is None else ways, tree)
        self.recovery = Recovery(self.node, self.field, lambda topic: params)
        use(self.node, self.field, self.recovery, spread=self.field, recover=self.recovery)
        self.now_us = 0
        self.timers: list[tuple[int, Struct]] = []
        "Those of recovery."
        self.take(Started())
        for pattern in local:
            self.take(Subscribe(pattern.topic, pattern.where))

    def take(self, given: Given) -> list[Effect]:
        effects = self.node.step(given, self.now_us)
        timers = [e for e in effects if type(e) is SetTimer and type(e.timer) in self.recovery.hears()]
        self.timers += [(self.now_us + each.after_us, each.timer) for each in timers]
        return effects

    def hear(self, *carried: Event, via: Peer = 1, route: tuple[Peer, ...] = ()) -> list[Effect]:
        return [e for each in carried for e in self.take(Received(via, Carry(Carried(each, 1, route))))]

    def publish(self, *events: Event) -> list[Effect]:
        return [effect for each in events for effect in self.take(Publish(each))]

    def get(self, peer: Peer, message: Struct) -> list[Effect]:
        return self.take(Received(peer, message))

    def wait(self, us: int) -> list[Effect]:
        """Lets time pass; every timer goes off at its time."""
        effects, until_us = [], self.now_us + us
        while due := [each for each in self.timers if each[0] <= until_us]:
            first = min(due, key=lambda each: each[0])
            self.timers.remove(first)
            self.now_us = first[0]
            effects += self.take(Fired(first[1]))
        self.now_us = until_us
        return effects


def said(effects: list[Effect], *kinds: type[Struct]) -> list[tuple[Peer, Struct]]:
    """Who was sent what of these kinds."""
    return [(p, e.message) for e in effects if type(e) is Send and type(e.message) in kinds for p in e.peers]


def only(effects: list[Effect], kind: type[Struct]) -> list[Effect]:
    return [effect for effect in effects if type(effect) is kind]
