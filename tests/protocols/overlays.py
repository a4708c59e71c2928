"""Overlay nodes for tests: one that is told everything by hand, and a village that lives in virtual time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from composing import use
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import (
    Effect,
    Fired,
    Given,
    Received,
    Send,
    SetTimer,
    StartPublishing,
    Subscribe,
)
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.wants import Wants
from gossamer.protocols import CATALOGUE
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.layer import Maintain, Spidercast
from gossamer.protocols.spidercast.messages import Connect, ConnectOk, Standing
from gossamer.protocols.spidercast.params import Params
from gossamer.protocols.spidercast.task import Task
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from gossamer.wire.codec import Codec

PLAIN = Hierarchy()
CODEC = Codec(CATALOGUE["spidercast"].messages)
NO = Standing(0, 0, False)
"How a task does that does nothing."


def wants(*topics: Topic, hierarchy: Hierarchy = PLAIN) -> Wants:
    return Wants.of(topics, hierarchy, str)


def only(said: list[Struct]) -> Struct:
    (message,) = said
    return message


class Told:
    """A view that holds what a test puts into it."""

    def __init__(self, homes: Mapping[int, Peer] | None = None) -> None:
        self.known: dict[Peer, Wants] = {}
        self.changes = 0
        self.homes = homes or {}

    def put(self, peer: Peer, *topics: Topic) -> None:
        self.known[peer] = wants(*topics)
        self.changes += 1

    def entries(self) -> Mapping[Peer, Wants]:
        return self.known

    def towards_home(self, word: int) -> Peer | None:
        return self.homes.get(word)


class LinkNotes(Layer):
    """Notes what the overlay tells other layers."""

    def __init__(self, node: Stack) -> None:
        self.told: list[tuple[str, Peer]] = []
        super().__init__(node)

    def link_up(self, peer: Peer) -> None:
        self.told.append(("up", peer))

    def link_down(self, peer: Peer) -> None:
        self.told.append(("down", peer))

    def wants_changed(self, peer: Peer) -> None:
        self.told.append(("wants", peer))


class One:
    """Node 0; its view, its timers and its peers do as a test says."""

    def __init__(
        self,
        *topics: Topic,
        seed: int = 1,
        hierarchy: Hierarchy = PLAIN,
        homes: Mapping[int, Peer] | None = None,
        **params: Any,
    ) -> None:
        self.params = Params(**params)
        self.node = Stack(0, seed, hierarchy, Seen())
        self.view = Told(homes)
        self.overlay = Spidercast(self.node, self.view, self.params)
        self.link_notes = LinkNotes(self.node)
        use(self.node, self.overlay, self.link_notes, members=self.overlay)
        self.now_us = 0
        self.timers: list[SetTimer] = []
        for topic in topics:
            self.give(Subscribe(topic))

    @property
    def tasks(self) -> tuple[Task, ...]:
        return self.overlay.links.tasks

    @property
    def greedy(self) -> Task:
        return self.tasks[rules.GREEDY]

    def give(self, given: Given) -> list[Struct]:
        effects: list[Effect] = self.node.step(given, self.now_us)
        self.timers += [effect for effect in effects if type(effect) is SetTimer]
        self.effects = effects
        for effect in effects:
            if type(effect) is Send:
                assert 0 not in effect.peers
                assert CODEC.decode(CODEC.encode(effect.message)) == effect.message
        return [effect.message for effect in effects if type(effect) is Send]

    def sent(self) -> list[tuple[Peer, Struct]]:
        """Of the last step, with whom it went to."""
        return [(peer, effect.message) for effect in self.effects if type(effect) is Send for peer in effect.peers]

    def hear(self, peer: Peer, message: Struct) -> list[Struct]:
        return self.give(Received(peer, CODEC.decode(CODEC.encode(message))))

    def round(self, rounds: int = 1) -> list[Struct]:
        """The next one; what the last of them says."""
        said: list[Struct] = []
        for _ in range(rounds):
            self.now_us += self.params.round_us
            said = self.give(Fired(Maintain(self.overlay.number)))
        return said

    def link(self, peer: Peer, *topics: Topic, task: int = 0, degree: int = 1, target: int = 9) -> list[Struct]:
        """A peer connects."""
        return self.hear(peer, Connect(task, degree, target, wants(*topics).packed))

    def accept(self, peer: Peer, *topics: Topic, task: int = 0, degree: int = 1, target: int = 9) -> list[Struct]:
        """A peer answers."""
        return self.hear(peer, ConnectOk(task, degree, target, wants(*topics).packed))


class Perfect:
    """A membership that knows at once what everybody up wants."""

    def __init__(self, me: Peer, village: "Village") -> None:
        self.me, self.village = me, village

    @property
    def changes(self) -> int:
        return self.village.changes

    def entries(self) -> Mapping[Peer, Wants]:
        return {peer: each for peer, each in self.village.known.items() if peer != self.me}

    def towards_home(self, word: int) -> Peer | None:
        home = min(self.village.world.machines, key=lambda peer: (peer - word) % 101)
        return None if home == self.me else home


class Village(Town):
    """A town of overlay nodes that spread nothing. Who is gone, they are not told."""

    def __init__(
        self,
        topics: Mapping[Peer, Sequence[Topic]],
        params: Params | None = None,
        *,
        seed: int = 1,
        loss: float = 0.0,
        view: Callable[[Peer, "Village"], Any] | None = None,
        hierarchy: Hierarchy = PLAIN,
    ) -> None:
        self.params, self.hierarchy = params or Params.live(), hierarchy
        self.view = view or Perfect
        self.known: dict[Peer, Wants] = {}
        self.changes = 0
        self.overlays: dict[Peer, Spidercast] = {}
        spoken, near = CATALOGUE["spidercast"].messages, Latency(median_us=5_000)
        super().__init__(self.make, spoken, seed, latency=near, loss=loss, told_of_failures=False)
        for peer, mine in topics.items():
            self.come(peer, *mine)

    def make(self, peer: Peer) -> Stack:
        node = Stack(peer, self.seed, self.hierarchy, Seen())
        self.overlays[peer] = Spidercast(node, self.view(peer, self), self.params)
        return use(node, self.overlays[peer], members=self.overlays[peer])

    def come(self, peer: Peer, *topics: Topic) -> None:
        self.start(peer, contacts=())
        self.change(peer, add=topics)

    def change(
        self, peer: Peer, add: Iterable[Topic] = (), remove: Iterable[Topic] = (), publish: Iterable[Topic] = ()
    ) -> None:
        for topic in add:
            self.subscribe(peer, topic)
        for topic in remove:
            self.unsubscribe(peer, topic)
        for topic in publish:
            self.world.give(peer, StartPublishing(topic))
        self.known[peer] = self.overlays[peer].links.wants
        self.changes += 1

    def kill(self, peer: Peer) -> None:
        self.crash(peer)
        del self.known[peer], self.overlays[peer]
        self.changes += 1

    def links(self, task: int) -> dict[Peer, list[Peer]]:
        return {peer: [*overlay.links.tasks[task].neighbours] for peer, overlay in self.overlays.items()}

    def one_sided(self) -> list[tuple[int, Peer, Peer]]:
        return [
            (task, peer, other)
            for task in (rules.GREEDY, rules.RANDOM)
            for peer, neighbours in self.links(task).items()
            for other in neighbours
            if other not in self.overlays or peer not in self.links(task)[other]
        ]

    def parts(self, topic: Topic) -> int:
        """Into how many parts the nodes fall that are interested in a topic."""
        left = [peer for peer, overlay in self.overlays.items() if overlay.node.interest.communities(topic)]
        parts = 0
        while left:
            parts += 1
            reached = [left.pop()]
            for peer in reached:
                near = [other for other in self.overlays[peer].about(topic) if other in left]
                reached += near
                left = [other for other in left if other not in near]
        return parts
