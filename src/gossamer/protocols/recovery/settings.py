"""What a node does about losses, topic by topic: as its network does, or as it was told for itself."""

from collections.abc import Callable

from msgspec import Struct

from gossamer.core.topics import Topic
from gossamer.protocols.recovery.params import Params


class Settings:
    """`network` says what the network does about a topic; `Tune` changes what this node does for itself."""

    def __init__(self, network: Callable[[Topic], Params]) -> None:
        self.network = network
        self.own: dict[Topic, Params] = {}

    def of(self, topic: Topic) -> Params:
        return self.own.get(topic) or self.network(topic)

    def tune(self, topic: Topic, params: Struct) -> bool:
        """Whether these parameters are about losses, and so may have changed something."""
        if not isinstance(params, Params):
            return False
        if params == self.network(topic):
            self.own.pop(topic, None)  # like the network again, whatever that will be
        else:
            self.own[topic] = params
        return True
