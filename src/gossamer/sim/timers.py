"""No timer is lost: whatever a node does again and again, it has a timer for."""

from collections.abc import Iterator

from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import Effect, Fired, Given, Leave, Publish, SetTimer, Started, Timer
from gossamer.core.publications import LookForIdle
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.sim.checkers import LOOK_EVERY, CheckFailed, in_turn
from gossamer.sim.world import Watcher, World


class Timers(Watcher):
    """The timers under way of every process, and whether those are there that its layers live by: after a timer fired,
    or a user said something, of the topic that it was about; now and then of others."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pending: dict[Peer, dict[Timer, int]] = {}
        "How many of each."
        self.living: dict[Peer, list[Layer]] = {}
        "Layers that live by any."

    def is_pending(self, peer: Peer, timer: Timer) -> bool:
        return timer in self.pending.get(peer, ())

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started:
            self._begin(peer)
        pending = self.pending[peer]
        if type(given) is Fired:
            self._count(pending, given.timer, -1)
        for effect in effects:
            if type(effect) is SetTimer:
                self._count(pending, effect.timer, 1)
        node = self.world.machines[peer]
        if not isinstance(node, Stack) or type(given) is Leave:
            return
        for topic in self._touched(node, given):
            self.check(peer, topic)

    def crashed(self, peer: Peer, now_us: int) -> None:
        self.pending[peer] = {}

    def _begin(self, peer: Peer) -> None:
        node = self.world.machines[peer]
        layers = node.layers if isinstance(node, Stack) else ()
        self.pending[peer] = {}
        self.living[peer] = [each for each in layers if type(each).lives_by is not Layer.lives_by]

    @staticmethod
    def _count(pending: dict[Timer, int], timer: Timer, change: int) -> None:
        count = pending.get(timer, 0) + change
        if count > 0:
            pending[timer] = count
        else:
            pending.pop(timer, None)

    def _touched(self, node: Stack, given: Given) -> Iterator[Topic | None]:
        match given:
            case Fired(timer):
                yield from (None, getattr(timer, "topic", None))
            case Publish(event):
                yield from (None, event.topic)
            case _ if (topic := getattr(given, "topic", None)) is not None:
                yield from (None, topic)
        if self.world.steps % LOOK_EVERY == 0:
            yield from (None, *in_turn(node.interest.mine(), self.world.steps // LOOK_EVERY))

    def check(self, peer: Peer, topic: Topic | None) -> None:
        pending, node = self.pending[peer], self.world.machines[peer]
        for layer in self.living[peer]:
            for timer in layer.lives_by(topic):
                if timer not in pending:
                    raise CheckFailed(f"process {peer} lost a timer that {type(layer).__name__} lives by: {timer}")
        if isinstance(node, Stack) and node.publications.used and LookForIdle() not in pending:
            raise CheckFailed(f"process {peer} looks no more whether it publishes somewhere still")
