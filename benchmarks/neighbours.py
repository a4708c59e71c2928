"""Two linked nodes of any spread, in simulated time: one of them subscribes, and what its steps cost is metered."""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Deliver, Effect, Given, Subscribe, Unsubscribe
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import World

OTHER, ME = 0, 1
SPREADS: dict[str, Callable[[Peer], Stack]] = {
    "camcast": lambda me: camcast_node(me, 1, recovery=Recovery.live()),
    "dispatch": lambda me: dispatch_node(me, 1, recovery=Recovery.live()),
    "spidercast": lambda me: spidercast_node(me, 1, recovery=Recovery.live()),
    "hpmcast": lambda me: hpmcast_node(me, 1, (0, me), (4, 16), recovery=replace(Recovery.live(), method="exchange")),
}


class Metered:
    """A machine, and the CPU time of its steps."""

    def __init__(self, machine: Stack) -> None:
        self.machine = machine
        self.cpu_s = 0.0
        self.delivered: list[Event] = []

    def step(self, given: Given, now_us: int) -> list[Effect]:
        began_s = time.process_time()
        effects = self.machine.step(given, now_us)
        self.cpu_s += time.process_time() - began_s
        self.delivered += [effect.event for effect in effects if type(effect) is Deliver]
        return effects

    def __getattr__(self, name: str) -> object:
        return getattr(self.machine, name)


class Neighbours:
    """A node that subscribes, and another it is linked with."""

    def __init__(self, spread: str, network: Network | None = None) -> None:
        network = network or Network(1, Latency(median_us=5_000))
        self.world = World(lambda me: Metered(SPREADS[spread](me)), network)  # type: ignore[arg-type,return-value]
        for peer in (OTHER, ME):
            self.world.start(peer, [OTHER] if peer == ME else [])
            self.world.give(peer, Subscribe(".other"))
        self.run(4)

    @property
    def me(self) -> Metered:
        return self.world.machines[ME]  # type: ignore[return-value]

    @property
    def other(self) -> Metered:
        return self.world.machines[OTHER]  # type: ignore[return-value]

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def subscribe(self, wishes: Sequence[Subscribe], every_s: float) -> float:
        """The CPU time that all of them took, and what followed within a second."""
        return self._give(wishes, every_s)

    def unsubscribe(self, wishes: Sequence[Subscribe], every_s: float) -> float:
        return self._give([Unsubscribe(wish.topic, wish.where) for wish in wishes], every_s)

    def _give(self, given: Sequence[Given], every_s: float) -> float:
        before_s = self.me.cpu_s
        for each in given:
            self.world.give(ME, each)
            if every_s:
                self.run(every_s)
        self.run(1)
        return self.me.cpu_s - before_s
