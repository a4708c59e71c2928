"""Publishing from outside: a node that may not read a topic hands its events to a few that want it, and gets none.

Whom to hand them to, the interest view says. Events wait as long as it knows nobody.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import PICK, distinct, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US
from gossamer.core.publications import PUBLISHED_MAX
from gossamer.core.roles import InterestView
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.wants import Chain, Wants
from gossamer.protocols.flood.messages import Pass

HANDED_TO = 3
"Nodes an event is handed to; all, if fewer are known."
LOOK_EVERY_US = SECOND_US // 5
"How soon it is seen that somebody is known now."


class LookAgain(Struct, frozen=True):
    """Timer: perhaps somebody is known for events that wait."""


class Outlets(Layer):
    """The spread of events on topics this node is not interested in itself."""

    relays = False

    def __init__(self, node: Stack, view: InterestView[Wants], chain: Callable[[Topic], Chain]) -> None:
        super().__init__(node)
        self.view = view
        self.chain = chain
        self.outlets: dict[Topic, None] = {}
        "Topics that events are handed over on, until `Publications` has no more use for them."
        self.waits = False

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {LookAgain: self.on_look_again}

    def bounds(self) -> Iterator[Bound]:
        yield "outlets", len(self.outlets), PUBLISHED_MAX + len(self.node.publications.topics())

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and any(each in self.outlets for each in self.node.publications.topics()):
            yield LookAgain()

    def publish(self, event: Event) -> bool:
        self.outlets[event.topic] = None
        known = self.members(event.topic)
        if not known:
            self.look_again()
            return False
        carried = Carried(event)
        if not self.node.knows(event.id):
            self.node.accept(carried, via=self.node.me)
        key = self.node.key(PICK, fold(event.id.word(), self.node.now_us))
        self.out.send([known[i] for i in distinct(key, len(known), HANDED_TO)], Pass(carried.hop()))
        return True

    def members(self, topic: Topic) -> list[Peer]:
        chain = self.chain(topic)
        return [peer for peer, wants in self.view.entries().items() if wants.covers(chain)]

    def look_again(self) -> None:
        if not self.waits:
            self.waits = True
            self.out.timer(LOOK_EVERY_US, LookAgain())

    def on_look_again(self, timer: LookAgain) -> None:
        self.waits = False
        for topic in [each for each in self.node.publications.topics() if each in self.outlets]:
            if self.has_place(topic):
                self.node.is_ready(topic)
            else:
                self.look_again()

    def has_place(self, topic: Topic) -> bool:
        return bool(self.members(topic))

    def close(self, topic: Topic) -> None:
        self.outlets.pop(topic, None)

    def topics(self) -> Sequence[Topic]:
        return tuple(self.outlets)

    def joined(self, topic: Topic) -> None:
        self.outlets.pop(topic, None)  # the overlay finds neighbours for it now

    def left(self, topic: Topic) -> None:
        if topic in self.node.publications.by_topic:
            self.outlets[topic] = None  # what waits goes out from outside
            self.look_again()
