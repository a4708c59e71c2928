"""Publishing from outside: a node that may not read a topic hands its events to a few members, and never becomes one.

It looks for members as a community below the topic would look for links, and keeps them as it would: the same tables,
searches and probes. What climbs or spreads from there is the members' doing.
"""

from collections.abc import Iterator, Sequence

from gossamer.core.draws import PICK, distinct, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Layer
from gossamer.core.publications import PUBLISHED_MAX
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.messages import Carry

HANDED_TO = 3
"Members (of each super-topic that stands in for an empty community) an event is handed to; all, if fewer are known."


class HandToMembers(Layer):
    """The spread of events on topics this node is not a member of."""

    relays = False

    def __init__(self, node: Stack, links: Links) -> None:
        super().__init__(node)
        self.links = links
        self.outlets: dict[Topic, None] = {}
        "Topics whose members are kept at hand, until `Publications` has no more use for them."

    def bounds(self) -> Iterator[Bound]:
        yield "outlets", len(self.outlets), PUBLISHED_MAX + len(self.node.publications.topics())

    def publish(self, event: Event) -> bool:
        """Hands an event to whoever is known. It waits on until the nearest communities were looked for: what was
        handed to a topic above does not come down again."""
        self.use(event.topic)
        leads = self.links.leads(event.topic)
        fresh = self.node.publications.not_yet(event, [*leads])
        if fresh:
            carried = Carried(event)
            if not self.node.knows(event.id):
                self.node.accept(carried, via=self.node.me)
            self.out.send(self.chosen(event, [leads[topic] for topic in fresh]), Carry(carried.hop()))
        return self.has_place(event.topic)

    def use(self, topic: Topic) -> None:
        if topic not in self.outlets:
            self.outlets[topic] = None
            self.links.open(topic, (topic, *self.node.hierarchy.ancestors(topic)))

    def chosen(self, event: Event, tables: Sequence[Sequence[Peer]]) -> list[Peer]:
        """A few members of each community, others if the event goes out again."""
        key = self.node.key(PICK, fold(event.id.word(), self.node.now_us))
        return [*dict.fromkeys(table[i] for table in tables for i in distinct(key, len(table), HANDED_TO))]

    def links_changed(self, topic: Topic) -> None:
        """Members were found: what waited for them goes out."""
        if topic in self.outlets:
            self.node.is_ready(topic)

    def has_place(self, topic: Topic) -> bool:
        return self.links.explored(topic) and any(self.links.tables(topic))

    def close(self, topic: Topic) -> None:
        """No more publications on this topic: its members are forgotten."""
        if topic in self.outlets:
            del self.outlets[topic]
            self.links.left(topic)

    def topics(self) -> Sequence[Topic]:
        return tuple(self.outlets)

    def joined(self, topic: Topic) -> None:
        self.outlets.pop(topic, None)  # a member now: the tables are those of the community

    def left(self, topic: Topic) -> None:
        if topic in self.node.publications.by_topic:
            self.use(topic)  # what waits goes out from outside
