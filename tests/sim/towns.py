"""Towns of any design, for tests of the simulator, and ways to break a node."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Given, Received, SetTimer
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.designs import flood_node
from gossamer.sim.town import Town

Make = Callable[[Peer], Stack]
DESIGNS: dict[str, tuple[Make, Sequence[type[Struct]] | None]] = {
    "camcast": (lambda me: camcast_node(me, 1), CATALOGUE["camcast"].spoken),
    "spidercast": (lambda me: spidercast_node(me, 1), CATALOGUE["spidercast"].spoken),
    "dispatch": (lambda me: dispatch_node(me, 1), CATALOGUE["dispatch"].spoken),
    "hpmcast": (
        lambda me: hpmcast_node(me, 1, (me // 4, me % 4), (4, 4), params=HpmcastParams.live()),
        CATALOGUE["hpmcast"].spoken,
    ),
    "flood": (lambda me: flood_node(me, 1), None),
}


def town_of(spread: str = "camcast", size: int = 0, **options: object) -> Town:
    make, messages = DESIGNS[spread]
    town = Town(make, messages, **options)  # type: ignore[arg-type]
    for peer in range(size):
        town.start(peer, ".d" if peer % 2 else ".d.g", Pattern(".price", f"x > {peer}"))
    return town


class Unheard(Struct, frozen=True, tag="test.unheard"):
    """Nobody knows what this means."""


LIVE = replace(Recovery.live(), store=False)
STRAY = Event(EventId(99, 0, 1), ".elsewhere")
OURS = Event(EventId(99, 0, 1), ".d")


class Broken:
    """A machine that answers a message with whatever it likes."""

    def __init__(self, node: Stack, answer: Effect) -> None:
        self.node, self.answer = node, answer

    def __call__(self, given: Given, now_us: int) -> list[Effect]:
        return [self.answer] if type(given) is Received else Stack.step(self.node, given, now_us)


def without(node: Stack, kind: type[Struct]) -> None:
    """From now on the node sets no timers of this kind."""
    step = node.step

    def forgetful(given: Given, now_us: int) -> list[Effect]:
        return [e for e in step(given, now_us) if not (type(e) is SetTimer and type(e.timer) is kind)]

    node.step = forgetful  # type: ignore[method-assign]


def busy(town: Town, seconds: int) -> None:
    """Two publish, one of them wants more and more."""
    for number in range(seconds):
        town.publish(0, ".d.g")
        town.publish(1, ".d.g")
        town.subscribe(1, f".d.n{number}")
        town.run(1)
