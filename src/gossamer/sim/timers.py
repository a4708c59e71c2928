"""No timer is lost: whatever a node does again and again, it has a timer for."""

from collections.abc import Mapping

from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import (
    Effect,
    Fired,
    Given,
    Publish,
    SetTimer,
    Started,
    StartPublishing,
    Subscribe,
    Timer,
)
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts import tree
from gossamer.parts.tree import SpanningTree
from gossamer.protocols.camcast.links import Keep, Links
from gossamer.protocols.hpmcast import membership
from gossamer.protocols.hpmcast.membership import Membership
from gossamer.protocols.interests import layer as interests
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.scamp.headcount import Count, Headcount
from gossamer.protocols.scamp.layer import Scamp, Tick
from gossamer.protocols.spidercast.layer import Maintain, Spidercast
from gossamer.sim.checkers import CheckFailed
from gossamer.sim.world import Watcher, World

OF_EACH_COMMUNITY: Mapping[type[Layer], type[Timer]] = {
    Scamp: Tick,
    Headcount: Count,
    Links: Keep,
    SpanningTree: tree.Tick,
}
OF_EACH_NODE: Mapping[type[Layer], type[Timer]] = {
    Interests: interests.Turn,
    Spidercast: Maintain,
    Membership: membership.CompareTurn,
}


class Timers(Watcher):
    """The timers under way of every process, and whether those are there that it lives by: where such a timer fires,
    and where a community or a life begins."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.pending: dict[Peer, dict[tuple[type[Timer], Topic | None], int]] = {}
        "How many of each kind, by the community they are about."

    def is_pending(self, peer: Peer, kind: type[Timer], topic: Topic | None) -> bool:
        return self.pending.get(peer, {}).get((kind, topic), 0) > 0

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started:
            self.pending[peer] = {}
        pending = self.pending[peer]
        if type(given) is Fired:
            self._count(pending, given.timer, -1)
        for effect in effects:
            if type(effect) is SetTimer:
                self._count(pending, effect.timer, 1)
        match given:
            case Fired(timer):
                if type(timer) in OF_EACH_COMMUNITY.values() or type(timer) in OF_EACH_NODE.values():
                    self._check(peer, getattr(timer, "topic", None))
            case Started() | Subscribe() | StartPublishing():
                self._check(peer, getattr(given, "topic", None))
            case Publish(event):
                self._check(peer, event.topic)

    def crashed(self, peer: Peer, now_us: int) -> None:
        self.pending[peer] = {}

    @staticmethod
    def _count(pending: dict[tuple[type[Timer], Topic | None], int], timer: Timer, change: int) -> None:
        what = (type(timer), getattr(timer, "topic", None))
        count = pending.get(what, 0) + change
        if count > 0:
            pending[what] = count
        else:
            pending.pop(what, None)

    def _check(self, peer: Peer, topic: Topic | None) -> None:
        node = self.world.machines[peer]
        if not isinstance(node, Stack):
            return
        topics = node.interest.mine() if topic is None else (topic,) if node.interest.takes_part(topic) else ()
        for layer in node.layers:
            each, once = OF_EACH_COMMUNITY.get(type(layer)), OF_EACH_NODE.get(type(layer))
            lost = [t for t in topics if each is not None and not self.is_pending(peer, each, t)]
            if lost or (once is not None and not self.is_pending(peer, once, None)):
                raise CheckFailed(
                    f"process {peer} lost a timer that {type(layer).__name__} lives by, on {lost or 'all'}"
                )
