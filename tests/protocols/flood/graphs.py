"""Worlds of flooding nodes on graphs made by hand: links come and go, and everything is counted from outside."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from composing import use
from gossamer.core.draws import CHURN, VIEW, distinct, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import Effect, Given, Message, Note
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.flood.messages import Message as FloodMessage
from gossamer.protocols.flood.messages import Pass
from gossamer.protocols.flood.params import Params
from gossamer.protocols.flood.tree import BroadcastTree, flooding
from gossamer.protocols.recovery.messages import Message as RecoveryMessage
from gossamer.protocols.recovery.node import recovering
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.sim.network import Latency
from gossamer.sim.town import NEAR, Town
from gossamer.sim.world import Watcher
from gossamer.wire.codec import Codec

TREE = Params(tree=True)
FLOOD = Params()
NEWS: Topic = ".news"
MESSAGES = [*FloodMessage.__args__, *RecoveryMessage.__args__]
CODEC = Codec(MESSAGES)
Links = Mapping[Peer, Sequence[Peer]]


def mutual(arcs: Links) -> dict[Peer, list[Peer]]:
    """The same links, known at both ends."""
    both: dict[Peer, dict[Peer, None]] = {peer: {} for peer in arcs}
    for peer, others in arcs.items():
        for other in others:
            both[peer][other] = both[other][peer] = None
    return {peer: [*others] for peer, others in both.items()}


def arcs(size: int, degree: int, seed: int) -> dict[Peer, list[Peer]]:
    """Each node knows the next one round a circle, and some drawn ones: reached, whatever the draws."""
    drawn: dict[Peer, list[Peer]] = {}
    for peer in range(size):
        picks = distinct(fold(fold(seed, VIEW), peer), size, degree)
        drawn[peer] = [*dict.fromkeys([(peer + 1) % size, *(other for other in picks if other != peer)])]
    return drawn


class Neighbours(Layer):
    """Peers as an overlay is: neighbours, and what each wants."""

    def __init__(self, node: Stack, graph: "Graph") -> None:
        super().__init__(node)
        self.graph = graph

    def about(self, topic: Topic) -> Sequence[Peer]:
        includes = self.node.hierarchy.includes
        return [
            peer
            for peer in self.graph.links[self.node.me]
            if any(includes(wanted, topic) for wanted in self.graph.wants[peer])
        ]

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        return len(self.graph.links)

    def ready(self, topic: Topic) -> bool:
        return True


class Counts(Watcher):
    """Copies, those of them that were in vain, and bytes."""

    def __init__(self) -> None:
        self.messages = self.bytes = self.last_bytes = 0
        self.last: Message | None = None
        self.copies: list[tuple[Peer, Peer, Event]] = []
        self.log: list[tuple[Peer, Peer, Message]] = []
        self.keep_log = False
        self.in_vain = 0

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if message is not self.last:  # the same one may go to many
            self.last, self.last_bytes = message, len(CODEC.encode(message))
        self.messages += 1
        self.bytes += self.last_bytes
        if self.keep_log:
            self.log.append((sender, target, message))
        if type(message) is Pass:
            self.copies.append((sender, target, message.carried.event))

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        self.in_vain += sum(type(effect) is Note and effect.kind == "duplicate" for effect in effects)


class Graph(Town):
    """Nodes on links; each wants `NEWS`, or what `wants` says. Who is gone, a test says: see `notice`."""

    def __init__(
        self,
        links: Links,
        params: Params = TREE,
        *,
        seed: int = 1,
        wants: Mapping[Peer, Sequence[Topic]] | None = None,
        latency: Latency = NEAR,
        loss: float = 0.0,
        recovery: RecoveryParams | None = None,
        payload: bytes = b"news",
    ) -> None:
        self.links = {peer: [*others] for peer, others in links.items()}
        self.wants = {peer: [*(wants[peer] if wants else (NEWS,))] for peer in links}
        self.params, self.recovery, self.payload = params, recovery, payload
        super().__init__(self.make, MESSAGES, seed, latency=latency, loss=loss, told_of_failures=False)
        self.world.watch(watch := Counts())
        self.watch = watch
        for peer in links:
            self.come(peer)

    def make(self, me: Peer) -> Stack:
        node = Stack(me, self.seed, Hierarchy(), Seen())
        members = Neighbours(node, self)
        spread = flooding(node, members, self.params)
        recover = recovering(node, spread, self.recovery)
        return use(node, members, spread, recover, members=members, spread=spread, recover=recover)

    def come(self, peer: Peer) -> None:
        self.start(peer, *self.wants[peer], contacts=())

    def tree(self, peer: Peer) -> BroadcastTree:
        spread = self.node(peer).spread
        assert isinstance(spread, BroadcastTree)
        return spread

    def flood(self, peer: Peer) -> Flood:
        spread = self.node(peer).spread
        assert isinstance(spread, Flood)
        return spread

    # -- links come and go: both ends notice ------------------------------------------------------------------

    def unlink(self, one: Peer, other: Peer) -> None:
        for here, there in ((one, other), (other, one)):
            self.links[here] = [peer for peer in self.links[here] if peer != there]
            self._hook(here, lambda layer, there=there: layer.link_down(there))  # type: ignore[misc]

    def link(self, one: Peer, other: Peer) -> None:
        for here, there in ((one, other), (other, one)):
            self.links[here] = [*dict.fromkeys([*self.links[here], there])]
            self._hook(here, lambda layer, there=there: layer.link_up(there))  # type: ignore[misc]

    def notice(self, gone: Peer) -> None:
        for peer in [*self.links[gone]]:
            self.unlink(gone, peer)

    def _hook(self, peer: Peer, say: Callable[[Layer], None]) -> None:
        if peer in self.world.up:
            self.node(peer).tell(say)
            self.node(peer).era += 1

    # -- events -----------------------------------------------------------------------------------------------

    def stream(self, count: int, publishers: Sequence[Peer], every_s: float = 0.5, topic: Topic = NEWS) -> None:
        for number in range(count):
            self.publish(publishers[number % len(publishers)], topic, payload=self.payload)
            self.run(every_s)

    def eager(self, topic: Topic = NEWS) -> list[tuple[Peer, Peer]]:
        """Arcs over which events are pushed, as far as anybody has decided."""
        found = []
        for peer in self.world.up:
            branch = self.tree(peer).branches.get(topic)
            found += [] if branch is None else [(peer, other) for other in branch.eager() if other in self.world.up]
        return found


def some(seed: int, of: int, count: int) -> list[Peer]:
    return distinct(fold(seed, CHURN), of, count)


def pieces(peers: Iterable[Peer], links: Iterable[tuple[Peer, Peer]]) -> int:
    """Connected pieces, arcs taken both ways."""
    near: dict[Peer, set[Peer]] = {peer: set() for peer in peers}
    for one, other in links:
        near[one].add(other)
        near[other].add(one)
    unseen, count = set(near), 0
    while unseen:
        count += 1
        edge = [unseen.pop()]
        while edge:
            fresh = near[edge.pop()] & unseen
            unseen -= fresh
            edge.extend(fresh)
    return count
