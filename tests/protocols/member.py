"""One dynamic node, a member of the root community, taken step by step."""

from msgspec import Struct

from gossamer.core.machine import SECOND_US, Effect, Fired, Given, Received, Send, SetTimer, Subscribe
from gossamer.core.stack import Stack
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.messages import Forward
from gossamer.protocols.scamp.params import Params
from protocols.towns import layer

LEASE = 60 * SECOND_US


class One:
    """A member of ".", with the steps it takes."""

    def __init__(self, *held: int, params: Params | None = None) -> None:
        self.node: Stack = camcast_node(1, seed=1, scamp=params)
        self.scamp = layer(self.node, Scamp)
        self.now_us = 0
        self.timers: list[SetTimer] = []
        self.first = self.take(Subscribe("."))
        for peer in held:
            self.hear(peer, Forward(".", peer, 1, 1, LEASE))

    def take(self, given: Given) -> list[Effect]:
        effects = self.node.step(given, self.now_us)
        self.timers += [effect for effect in effects if type(effect) is SetTimer]
        return effects

    def fire(self, kind: type[Struct]) -> list[Effect]:
        """Lets the newest timer of a kind go off."""
        timer = next(each for each in reversed(self.timers) if type(each.timer) is kind)
        self.now_us += timer.after_us
        return self.take(Fired(timer.timer))

    def hear(self, peer: int, message: Struct) -> list[Effect]:
        return self.take(Received(peer, message))

    @property
    def held(self) -> list[int]:
        return [*self.scamp.views["."].held]


def sent(effects: list[Effect], kind: type[Struct]) -> list[tuple[int, Struct]]:
    return [(p, e.message) for e in effects if type(e) is Send and type(e.message) is kind for p in e.peers]


def timers(effects: list[Effect], kind: type[Struct]) -> list[SetTimer]:
    return [effect for effect in effects if type(effect) is SetTimer and type(effect.timer) is kind]
