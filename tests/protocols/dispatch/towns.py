"""Dispatchers that find each other, and a town of them in which some come and go."""

from msgspec.structs import replace

from gossamer.core.draws import CHURN, PUBLISH, draw, fold, upper_pick
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.protocols import CATALOGUE
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.sim.town import Town
from parts.trees import NoCircle, seconds_to_rest

TOPIC = "."
LIVE = replace(Recovery.live(), store=False)


class DispatchTown(Town):
    """`size` dispatchers of 20 patterns, two each; half of them stay, the others come and go."""

    def __init__(self, size: int, seed: int, loss: float = 0.0, recovery: Recovery | None = None) -> None:
        super().__init__(
            lambda me: dispatch_node(me, seed, TOPIC, recovery=recovery),
            CATALOGUE["dispatch"].spoken,
            seed,
            loss=loss,
            told_of_failures=False,
        )
        self.size = size
        self.circles = NoCircle(self.world, TOPIC)
        self.world.watch(self.circles)
        self.stayers = range(0, size, 2)
        for peer in range(size):
            self.come(peer)

    def come(self, peer: Peer) -> None:
        self.start(peer, Pattern(".e", f"p{peer * 7 % 20}"), Pattern(".e", f"p{(peer * 3 + 1) % 20}"))

    def at_rest(self, at_most: float) -> float:
        return seconds_to_rest(self.world, at_most, TOPIC)

    def churn(self, seconds: float, per_minute: float = 0.2) -> None:
        """Now and then somebody goes, by turns without a word, and somebody else comes."""
        changes = round(per_minute * self.size * seconds / 60)
        for number in range(changes):
            self.after(seconds * number / changes, lambda number=number: self.change(number))  # type: ignore[misc]

    def change(self, number: int) -> None:
        others = [peer for peer in self.up if peer not in self.stayers]
        gone = others[upper_pick(draw(fold(self.seed, CHURN), number), len(others))]
        (self.crash if number % 2 else self.leave)(gone)
        self.come(1000 + number)

    def publish_for(self, seconds: float, every: float) -> None:
        """Some stayer publishes an event of two patterns, over and over."""
        for number in range(round(seconds / every)):
            self.after(every * number, lambda number=number: self.publish_two(number))  # type: ignore[misc]

    def publish_two(self, number: int) -> None:
        key = fold(fold(self.seed, PUBLISH), number)
        peer = self.stayers[upper_pick(draw(key, 0), len(self.stayers))]
        self.publish(peer, ".e", {f"p{upper_pick(draw(key, index), 20)}": True for index in (1, 2)})
