"""One node with super-topic tables, on a search and members that only do as told."""

from collections.abc import Sequence

from msgspec import Struct

from composing import use
from gossamer.core.draws import distinct
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Given, Received, Send, SetTimer, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.camcast.links import Keep, Links
from gossamer.protocols.camcast.messages import Alive
from gossamer.protocols.camcast.params import Params, Settings
from gossamer.protocols.camcast.probing import Check
from gossamer.protocols.camcast.table import Table


class Finding:
    """A search that only remembers what it was asked."""

    uniform = False

    def __init__(self) -> None:
        self.asked: list[list[Topic]] = []

    def ask(self, wanted: Sequence[Topic], joining: bool = False) -> None:
        self.asked.append([*wanted])


class Fixed:
    """Members that never change."""

    def __init__(self, members: list[Peer]) -> None:
        self.members = members

    def about(self, topic: Topic) -> list[Peer]:
        return self.members

    def sure(self, topic: Topic) -> list[Peer]:
        return self.members

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        return [self.members[i] for i in distinct(key, len(self.members), k)]

    def size(self, topic: Topic) -> int:
        return 1 + len(self.members)

    def ready(self, topic: Topic) -> bool:
        return True


class One:
    """Node 1, a member of one topic, whose timers are fired by hand."""

    def __init__(self, topic: Topic = ".a.b.c", hierarchy: Hierarchy | None = None, **changes: float) -> None:
        self.topic = topic
        self.params = Params(small=100, **{"rotation": 0.0, "probes": 1, **changes})  # type: ignore[arg-type]
        self.node = Stack(1, 1, hierarchy or Hierarchy(), Seen())
        self.search = Finding()
        members = Fixed([2, 3, 4, 5])
        self.links = Links(self.node, members, self.search, Settings(lambda topic: self.params))
        use(self.node, self.links, members=members, contacts=self.search, links=self.links)
        self.now_us = 0
        self.timers: list[SetTimer] = []
        self.take(Subscribe(topic))

    def take(self, given: Given) -> list[Effect]:
        effects = self.node.step(given, self.now_us)
        self.timers += [effect for effect in effects if type(effect) is SetTimer]
        return effects

    def hear(self, peer: Peer, message: Struct) -> list[Effect]:
        return self.take(Received(peer, message))

    def fire(self, kind: type[Struct]) -> list[Effect]:
        """Lets the newest timer of a kind go off."""
        timer = next(each for each in reversed(self.timers) if type(each.timer) is kind)
        self.now_us += timer.after_us
        return self.take(Fired(timer.timer))

    def found(self, topic: Topic, *peers: Peer) -> None:
        """The search names these, they say that they are there, and count as our own from then on."""
        self.node.tell(lambda layer: layer.contacts_found(topic, peers))
        self.timers += [effect for effect in self.node.out.take() if type(effect) is SetTimer]
        for frontier in [*self.links.frontiers.values()]:
            for table in [*frontier.tables.values()]:
                if table.checking:
                    for peer in [*table.entries]:
                        self.hear(peer, Alive(table.nonce, table.topic))
                    self.fire(Check)
                table.exchanges = 0
                table.asked.clear()

    def table(self, above: Topic = ".a.b") -> Table:
        return self.links.frontiers[self.topic].tables[above]

    def alive(self, *peers: Peer) -> None:
        """They answer the probes of now."""
        for peer in peers:
            self.hear(peer, Alive(self.table().nonce, self.table().topic))

    def checked(self, *alive: Peer) -> list[Effect]:
        """One round of CHECK in which these answer."""
        self.fire(Keep)
        self.alive(*alive)
        return self.fire(Check)


def sent(effects: list[Effect], kind: type[Struct]) -> list[tuple[Peer, Struct]]:
    return [(p, e.message) for e in effects if type(e) is Send and type(e.message) is kind for p in e.peers]
