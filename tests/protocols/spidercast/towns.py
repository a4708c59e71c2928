"""Whole nodes with many topics, that find each other by gossip: a town of them in which some come, go and die."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gossamer.core.draws import CHURN, PUBLISH, WORKLOAD, distinct, draw, fold, upper_pick
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Note, Publish, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.tagging import Tagger
from gossamer.protocols.assemble import SPIDERCAST_MESSAGES, overlay_of, spidercast_node
from gossamer.protocols.interests.params import Params as Interests
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.sim.world import Watcher
from gossamer.wire.codec import Codec
from parts.trees import world_of

CODEC = Codec(SPIDERCAST_MESSAGES)
LIVE = replace(Recovery.live(), store=False)


class Seeing(Watcher):
    """Who was delivered what, and whatever must never be."""

    def __init__(self) -> None:
        self.delivered: dict[EventId, list[Peer]] = {}
        self.parasites: list[Note] = []

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        for effect in effects:
            if type(effect) is Deliver:
                self.delivered.setdefault(effect.event.id, []).append(peer)
            elif type(effect) is Note and effect.kind == "parasite":
                self.parasites.append(effect)


class Town:
    """`wants` says what each node subscribes to."""

    def __init__(
        self,
        size: int,
        wants: Callable[[Peer], Sequence[Topic]],
        seed: int = 1,
        loss: float = 0.0,
        recovery: Recovery | None = None,
        interests: Interests | None = None,
    ) -> None:
        self.wants, self.seed = wants, seed
        self.make = lambda me: spidercast_node(me, seed, recovery=recovery, interests=interests)
        self.world = world_of(self.make, CODEC, seed, loss)
        self.seeing = Seeing()
        self.world.watchers.append(self.seeing)
        self.taggers: dict[Peer, Tagger] = {}
        self.published: dict[EventId, Event] = {}
        for peer in range(size):
            self.start(peer)

    def start(self, peer: Peer) -> None:
        up = [*self.world.up]
        key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
        self.world.start(peer, [up[i] for i in distinct(key, len(up), 2)])
        for topic in self.wants(peer):
            self.world.give(peer, Subscribe(topic))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def overlay(self, peer: Peer) -> Spidercast:
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        found = overlay_of(node)
        assert found is not None
        return found

    # -- links --------------------------------------------------------------------------------------------------

    def links(self) -> dict[Peer, list[Peer]]:
        return {peer: [*self.overlay(peer).links.neighbours()] for peer in self.world.up}

    def one_sided(self) -> int:
        links = self.links()
        return sum(peer not in links.get(other, ()) for peer, others in links.items() for other in others)

    def alive(self) -> bool:
        """Whether nobody counts on a neighbour that is gone."""
        return all(other in self.world.up for others in self.links().values() for other in others)

    def apart(self) -> list[Topic]:
        """Topics whose subscribers are not in one piece without the help of others."""
        links = self.links()
        among: dict[Topic, list[Peer]] = {}
        for peer in self.world.up:
            for topic in self.mine(peer):
                among.setdefault(topic, []).append(peer)
        return [topic for topic, peers in among.items() if not in_one_piece(peers, links)]

    def mine(self, peer: Peer) -> Sequence[Topic]:
        return self.world.machines[peer].interest.mine()  # type: ignore[attr-defined,no-any-return]

    def seconds_until(self, condition: Callable[[], bool], at_most: float) -> float:
        passed = 0.0
        while not condition():
            if passed >= at_most:
                return float("inf")
            passed += 0.5
            self.run(0.5)
        return passed

    def connected(self) -> bool:
        return not self.apart()

    def churn(self, seconds: float, changes: int) -> None:
        """Now and then somebody goes, by turns without a word, and somebody else comes."""
        for number in range(changes):
            at = self.world.now_us + round(seconds * SECOND_US * number / changes)
            self.world.at(at, lambda number=number: self.change(number))  # type: ignore[misc]

    def change(self, number: int) -> None:
        up = [peer for peer in self.world.up if peer % 2]
        gone = up[upper_pick(draw(fold(self.seed, CHURN), number), len(up))]
        (self.world.crash if number % 4 < 2 else self.world.leave)(gone)
        self.start(1001 + 2 * number)

    # -- events -------------------------------------------------------------------------------------------------

    def publish(self, peer: Peer, topic: Topic) -> Event:
        node, number = self.world.machines[peer], len(self.published) + 1
        assert isinstance(node, Stack)
        tags = self.taggers.setdefault(peer, Tagger()).tags(node.patterns(topic, {}))
        event = Event(EventId(peer, 0, number), topic, tags=tags)
        self.published[event.id] = event
        self.world.give(peer, Publish(event))
        return event

    def publish_some(self, count: int, every: float, stayers: Sequence[Peer]) -> None:
        """Nodes publish on topics of theirs, one after the other."""
        for number in range(count):
            key = fold(fold(self.seed, PUBLISH), number)
            peer = stayers[upper_pick(draw(key, 0), len(stayers))]
            topics = self.mine(peer)
            self.publish(peer, topics[upper_pick(draw(key, 1), len(topics))])
            self.run(every)

    def missing(self, stayers: Sequence[Peer]) -> list[tuple[Peer, Topic]]:
        """Who wanted an event and did not get it, of those that were there all the time."""
        return [
            (peer, event.topic)
            for event in self.published.values()
            for peer in stayers
            if event.topic in self.mine(peer) and peer not in self.seeing.delivered.get(event.id, ())
        ]

    def twice(self) -> list[EventId]:
        return [event for event, peers in self.seeing.delivered.items() if len(peers) != len(set(peers))]


def in_one_piece(among: Sequence[Peer], links: dict[Peer, list[Peer]]) -> bool:
    inside = dict.fromkeys(among)
    found = {among[0]: None}
    for at in (ahead := [among[0]]):
        for peer in links[at]:
            if peer in inside and peer not in found and at in links[peer]:
                found[peer] = None
                ahead.append(peer)
    return len(found) == len(inside)


def unrelated(of: int, least: int = 10, most: int = 70) -> Callable[[Peer], list[Topic]]:
    """Ten to seventy topics that have nothing to do with each other, drawn for each node."""

    def topics(peer: Peer) -> list[Topic]:
        key = fold(fold(7, WORKLOAD), peer)
        count = least + upper_pick(draw(key, 0), most - least + 1)
        return [f".t{i}" for i in distinct(fold(key, 1), of, count)]

    return topics
