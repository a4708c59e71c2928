"""A node without a log: others compare theirs with it, and must not wait for an answer."""

from collections.abc import Mapping

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.protocols.catchup.messages import Answered, Brings, Compare, Holds, Lacks

NOTHING = 1
"What no log at all comes to: an empty one comes to 0."


class Logless(Layer):
    """It says once that it has nothing, and asks for nothing."""

    def hears(self) -> Mapping[type[Struct], Handler]:
        ignored: dict[type[Struct], Handler] = dict.fromkeys((Holds, Brings, Answered), self.on_other)
        return {Compare: self.on_compare, Lacks: self.on_lacks, **ignored}

    def on_compare(self, peer: Peer, asked: Compare) -> None:
        if asked.seen != NOTHING and self.node.interest.communities(asked.topic):
            self.out.send([peer], Holds(asked.topic, NOTHING, (), asked.after))

    def on_lacks(self, peer: Peer, lacks: Lacks) -> None:
        self.out.send([peer], Answered(lacks.number, (), lacks.runs))

    def on_other(self, peer: Peer, said: Struct) -> None:
        """Nobody here wanted it."""
