"""A node that hears whatever peers say, and all that is asked of it whatever it hears. Tests add the bounds of its
tables."""

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Given, Received, Send, SetTimer
from gossamer.core.stack import Stack
from gossamer.wire.codec import Codec
from protocols.saying import ME


class Victim:
    """It never sends much at once, nothing to itself, and only what can be written and read."""

    sends_max = 200
    "Messages one given may cause."

    def __init__(self, node: Stack, codec: Codec, *givens: Given, now_us: int = 0) -> None:
        self.node, self.codec, self.now_us = node, codec, now_us
        self.waiting: list[tuple[int, Struct]] = []
        for given in givens:
            self.take(given)

    def take(self, given: Given) -> list[Effect]:
        effects = self.node.step(given, self.now_us)
        self.waiting += [(self.now_us + each.after_us, each.timer) for each in effects if type(each) is SetTimer]
        sends = [each for each in effects if type(each) is Send]
        assert sum(len(send.peers) for send in sends) <= self.sends_max, given
        for send in sends:
            assert ME not in send.peers, given
            self.codec.decode(self.codec.encode(send.message))
        return effects

    def hear(self, peer: Peer, message: Struct) -> list[Effect]:
        return self.take(Received(peer, self.codec.decode(self.codec.encode(message))))

    def wait(self, us: int) -> list[Effect]:
        self.now_us += us
        due = [each for each in self.waiting if each[0] <= self.now_us]
        self.waiting = [each for each in self.waiting if each[0] > self.now_us]
        return [effect for _, timer in due for effect in self.take(Fired(timer))]
