"""All dispatchers are members of one community, whatever their users subscribe to: it holds the tree together."""

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.ids import Peer
from gossamer.core.interest import Interest
from gossamer.core.layer import Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic


class Planted(Protocol):
    """The part of the tree this layer uses."""

    def plant(self, topic: Topic) -> None: ...


class OneCommunity(Interest):
    """Patterns of any topic, and one community only."""

    def mine(self) -> tuple[Topic, ...]:
        return (self.community,)

    def takes_part(self, topic: Topic) -> bool:
        return topic == self.community


class Community(Layer):
    """Takes the node into the dispatchers' community when it starts."""

    def __init__(self, node: Stack, topic: Topic, tree: Planted) -> None:
        super().__init__(node)
        self.topic = topic
        self.tree = tree
        self.inside = False

    def started(self, contacts: Sequence[Peer]) -> None:
        if not self.inside:
            self.inside = True
            for layer in self.node.layers:
                layer.joined(self.topic)
            self.tree.plant(self.topic)
