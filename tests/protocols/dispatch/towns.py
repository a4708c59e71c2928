"""Dispatchers that find each other, and a town of them in which some come and go."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.draws import CHURN, PUBLISH, distinct, draw, fold, upper_pick
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Publish, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.parts.tagging import Tagger
from gossamer.protocols.assemble import DISPATCH_MESSAGES, dispatch_node
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.wire.codec import Codec
from parts.trees import NoCircle, seconds_to_rest, world_of
from protocols.dispatch.networks import Seeing

CODEC = Codec(DISPATCH_MESSAGES)
TOPIC = "."
LIVE = replace(Recovery.live(), store=False)


class Town:
    """`size` dispatchers of 20 patterns, two each; half of them stay, the others come and go."""

    def __init__(self, size: int, seed: int, loss: float = 0.0, recovery: Recovery | None = None) -> None:
        self.size, self.seed = size, seed
        self.world = world_of(lambda me: dispatch_node(me, seed, TOPIC, recovery=recovery), CODEC, seed, loss)
        self.seeing = Seeing()
        self.world.watchers.append(self.seeing)
        self.circles = NoCircle(self.world, TOPIC)
        self.stayers = range(0, size, 2)
        self.taggers: dict[Peer, Tagger] = {}
        self.published: dict[EventId, Event] = {}
        for peer in range(size):
            self.start(peer)

    def wants(self, peer: Peer) -> list[Pattern]:
        return [Pattern(".e", f"p{peer * 7 % 20}"), Pattern(".e", f"p{(peer * 3 + 1) % 20}")]

    def start(self, peer: Peer) -> None:
        up = [*self.world.up]
        key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
        self.world.start(peer, [up[i] for i in distinct(key, len(up), 3)])
        for pattern in self.wants(peer):
            self.world.give(peer, Subscribe(pattern.topic, pattern.where))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def at_rest(self, at_most: float) -> float:
        return seconds_to_rest(self.world, at_most, TOPIC)

    def churn(self, seconds: float, per_minute: float = 0.2) -> None:
        """Now and then somebody goes, by turns without a word, and somebody else comes."""
        changes = round(per_minute * self.size * seconds / 60)
        for number in range(changes):
            at = self.world.now_us + round(seconds * SECOND_US * number / changes)
            self.world.at(at, lambda number=number: self.change(number))  # type: ignore[misc]

    def change(self, number: int) -> None:
        others = [peer for peer in self.world.up if peer not in self.stayers]
        gone = others[upper_pick(draw(fold(self.seed, CHURN), number), len(others))]
        (self.world.crash if number % 2 else self.world.leave)(gone)
        self.start(1000 + number)

    def publish_for(self, seconds: float, every: float) -> None:
        """Some stayer publishes an event of two patterns, over and over."""
        for number in range(round(seconds / every)):
            at = self.world.now_us + round(every * number * SECOND_US)
            self.world.at(at, lambda number=number: self.publish(number))  # type: ignore[misc]

    def publish(self, number: int) -> None:
        key = fold(fold(self.seed, PUBLISH), number)
        peer = self.stayers[upper_pick(draw(key, 0), len(self.stayers))]
        attributes = {f"p{upper_pick(draw(key, index), 20)}": True for index in (1, 2)}
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        tags = self.taggers.setdefault(peer, Tagger()).tags(node.patterns(".e", attributes))
        event = Event(EventId(peer, 0, number + 1), ".e", attributes=dict(attributes), tags=tags)
        self.published[event.id] = event
        self.world.give(peer, Publish(event))

    def missing(self) -> list[tuple[Peer, EventId]]:
        """Who stayed and did not get what it wants."""
        return [(peer, event.id) for event in self.published.values() for peer in self.readers(event)
                if peer not in self.seeing.delivered.get(event.id, ())]  # fmt: skip

    def readers(self, event: Event) -> Sequence[Peer]:
        return [peer for peer in self.stayers if any(each.where in event.attributes for each in self.wants(peer))]

    def twice(self) -> list[EventId]:
        return [event for event, peers in self.seeing.delivered.items() if len(peers) != len(set(peers))]
