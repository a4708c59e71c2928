"""Participants of a hierarchy that find each other, and a town of them in which some come, go and die."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from gossamer.core.draws import CHURN, distinct, fold
from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Message, Note, Publish, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols.assemble import HPMCAST_MESSAGES, hpmcast_node
from gossamer.protocols.hpmcast.addresses import Address, address_of, branch, view
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.sim.world import Watcher
from gossamer.wire.codec import Codec
from parts.trees import world_of

CODEC = Codec(HPMCAST_MESSAGES)
EXCHANGE = replace(Recovery.live(), store=False, method="exchange", push_every_us=0, tail_after_us=0)


class Seeing(Watcher):
    """Who was delivered what, who carried what for others, and what must never be."""

    def __init__(self) -> None:
        self.delivered: dict[EventId, list[Peer]] = {}
        self.relayed: dict[EventId, list[Peer]] = {}
        self.parasites: list[Note] = []
        self.rejects: list[tuple[Peer, Note]] = []
        self.sent_kinds: dict[type, int] = {}
        self.set_out: set[EventId] = set()
        "Events of which a copy left their publisher."

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        assert sender != target
        self.sent_kinds[type(message)] = self.sent_kinds.get(type(message), 0) + 1
        if (carried := getattr(message, "carried", None)) is not None:
            self.set_out.add(carried.event.id)

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        for effect in effects:
            if type(effect) is Deliver:
                self.delivered.setdefault(effect.event.id, []).append(peer)
            elif type(effect) is Note and effect.kind == "relay" and effect.event is not None:
                self.relayed.setdefault(effect.event, []).append(peer)
            elif type(effect) is Note and effect.kind == "parasite":
                self.parasites.append(effect)
            elif type(effect) is Note and effect.kind == "reject":
                self.rejects.append((peer, effect))


class Town:
    """`wants` says what each subscribes to; a participant's number is its address."""

    def __init__(
        self,
        peers: Sequence[Peer],
        wants: Callable[[Peer], Sequence[Pattern]],
        branching: Sequence[int] = (5, 4, 5),
        seed: int = 1,
        loss: float = 0.0,
        params: Params | None = None,
        upkeep: Upkeep | None = None,
        recovery: Recovery | None = None,
    ) -> None:
        self.wants, self.branching, self.seed = wants, tuple(branching), seed
        self.params, self.upkeep, self.recovery = params or Params(), upkeep, recovery
        self.world = world_of(self.make, CODEC, seed, loss)
        self.seeing = Seeing()
        self.world.watchers.append(self.seeing)
        self.published: dict[EventId, Event] = {}
        self.due: dict[EventId, dict[Peer, int]] = {}
        "Who was up and wanted an event when it was published, in which of its lives."
        for peer in peers:
            self.start(peer)

    def make(self, me: Peer) -> Stack:
        return hpmcast_node(
            me, self.seed, self.address(me), self.branching, None, self.params, self.upkeep, self.recovery
        )

    def address(self, peer: Peer) -> Address:
        return address_of(peer, self.branching)

    def start(self, peer: Peer, contacts: Sequence[Peer] | None = None) -> None:
        up = [*self.world.up]
        key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
        drawn = [up[i] for i in distinct(key, len(up), 2)]
        self.world.start(peer, drawn if contacts is None else contacts)
        for pattern in self.wants(peer):
            self.world.give(peer, Subscribe(pattern.topic, pattern.where))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def node(self, peer: Peer) -> Stack:
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        return node

    def hpmcast(self, peer: Peer) -> Hpmcast:
        spread = self.node(peer).spread
        assert isinstance(spread, Hpmcast)
        return spread

    # -- views --------------------------------------------------------------------------------------------------

    def views(self, peer: Peer) -> list[list[tuple[Address, list[Peer]]]]:
        """What a participant has in its tables, from level 1 up: subsystems, and who stands for each."""
        members = self.hpmcast(peer).members
        return [
            [(line.row.about, [*line.peers]) for line in members.lines(level)] for level in range(1, members.levels + 1)
        ]

    def should(self, peer: Peer) -> list[list[tuple[Address, list[Peer]]]]:
        """The same, read off all addresses there are."""
        everybody = {self.address(each): each for each in self.world.up}
        addresses, mine = sorted(everybody), self.address(peer)
        return [
            [
                (below, [everybody[each] for each in standing])
                for below, standing in view(addresses, branch(mine, level), level, self.params.delegates)
            ]
            for level in range(1, len(mine) + 1)
        ]

    def astray(self) -> list[Peer]:
        """Whose views are not what they should be."""
        return [peer for peer in self.world.up if self.views(peer) != self.should(peer)]

    def seconds_to_rest(self, at_most: float) -> float:
        began_us = self.world.now_us
        while self.astray():
            waited = (self.world.now_us - began_us) / SECOND_US
            assert waited < at_most, f"astray after {waited} s: {self.astray()}"
            self.run(0.5)
        return (self.world.now_us - began_us) / SECOND_US

    # -- events -------------------------------------------------------------------------------------------------

    def publish(self, peer: Peer, number: int, topic: str, attributes: Mapping[str, Attribute] = {}) -> EventId:
        event = Event(EventId(peer, 0, number), topic, attributes=dict(attributes))
        self.published[event.id] = event
        wanting = [each for each in self.world.up if self.node(each).interest.matches(event)]
        self.due[event.id] = {each: self.world.lives[each] for each in wanting}
        self.world.give(peer, Publish(event))
        return event.id

    def missing(self) -> list[tuple[Peer, EventId]]:
        """Who wanted it, has been up since then and did not get it. What died with its publisher, within a step, nobody
        could get."""
        return [
            (peer, event)
            for event, due in self.due.items()
            if event in self.seeing.set_out or event.publisher in self.world.up
            for peer, life in due.items()
            if peer in self.world.up
            and life == self.world.lives[peer]
            and peer not in self.seeing.delivered.get(event, ())
        ]

    def twice(self) -> list[EventId]:
        """Events delivered more than once to somebody that had one life only."""
        once = {
            event: [peer for peer in peers if self.world.lives[peer] == 1]
            for event, peers in self.seeing.delivered.items()
        }
        return [event for event, peers in once.items() if len(peers) != len(set(peers))]
