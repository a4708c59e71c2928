"""What must be true of CAMCAST's links, seen from outside: no process ever stops looking for a way up, and once a town
has settled every way up leads to the nearest populated topics."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import Effect, Fired, Given, Leave, Received
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.frontier import Frontier
from gossamer.protocols.camcast.links import Links
from gossamer.sim.checkers import AT_ONCE, LOOK_EVERY, CheckFailed, in_turn
from gossamer.sim.timers import Timers
from gossamer.sim.world import Watcher, World


def links_of(node: Stack) -> Links | None:
    return node.links if isinstance(node.links, Links) else None


class Climbing(Watcher):
    """After every step: a process without a live link upwards, from a community it is in or hands events to, has a
    search under way, and whatever is under way has its timer. Now and then: nobody links to itself, or twice. A node
    with many topics has those looked at that the step was about, and some others."""

    def __init__(self, world: World, timers: Timers) -> None:
        self.world, self.timers = world, timers

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        node = self.world.machines[peer]
        if not isinstance(node, Stack) or type(given) is Leave:
            return
        if type(given) is Received and isinstance(given.message, Carrier):
            return  # events change no link
        links = links_of(node)
        if links is None:
            return
        self._timers(peer, links.probing, None)
        for topic in touched(links, given, self.world.steps):
            self._check(peer, links, topic)
        if self.world.steps % LOOK_EVERY == 0:
            self.look(peer, links)

    def _check(self, peer: Peer, links: Links, topic: Topic) -> None:
        frontier = links.frontiers[topic]
        self._timers(peer, links, topic)
        self._timers(peer, links.finding, topic)
        if frontier.above and frontier.search is None and not is_linked(frontier):
            raise CheckFailed(f"process {peer} has no live link upwards from {topic}, and looks for none")

    def _timers(self, peer: Peer, layer: Layer, topic: Topic | None) -> None:
        for timer in layer.lives_by(topic):
            if not self.timers.is_pending(peer, timer):
                raise CheckFailed(f"process {peer} lost a timer that {type(layer).__name__} lives by: {timer}")

    @staticmethod
    def look(peer: Peer, links: Links) -> None:
        for above, table in links.finding.tables.items():
            if peer in table.entries or len(table.entries) != len({*table.entries}):
                raise CheckFailed(f"the links of {peer} to {above} are out of bounds: {table.entries}")


def touched(links: Links, given: Given, steps: int) -> Iterable[Topic]:
    """The communities a step may have changed the links of, as far as that can be told cheaply."""
    frontiers = links.frontiers
    if len(frontiers) <= AT_ONCE:
        return frontiers
    about = given.timer if type(given) is Fired else given.message if type(given) is Received else given
    named = [getattr(about, field, None) for field in ("topic", "below")]
    return {topic: None for topic in (*named, *in_turn((*frontiers,), steps)) if topic in frontiers}


def is_linked(frontier: Frontier) -> bool:
    """Whether a link is proven, or somebody was asked whether it is one; asked after every step, this must be cheap."""
    for table in frontier.tables.values():
        if table.confirmed:
            return True
        if table.checking and table.unanswered.asks:
            return True
    return False


class Astray(Struct, frozen=True):
    """A process whose links lead elsewhere than they should."""

    peer: Peer
    topic: Topic
    leads: tuple[Topic, ...]
    should: tuple[Topic, ...]
    strangers: tuple[Peer, ...]
    "Links to processes that are gone, or not in the community they are taken to be in."


def astray(world: World) -> list[Astray]:
    """Whose links do not lead to the nearest populated topics above, or lead to somebody who is not there."""
    members: dict[Topic, dict[Peer, None]] = {}
    for peer, node in _nodes(world):
        for topic in node.interest.mine():
            members.setdefault(topic, {})[peer] = None
    wrong = []
    for peer, node in _nodes(world):
        links = links_of(node)
        if links is None:
            continue
        for topic in node.interest.mine():
            found = links.leads(topic)
            should, may = _ways_up(node, peer, topic, members)
            gone = [each for above, peers in found.items() for each in peers if each not in members.get(above, {})]
            if not {*should} <= {*found} <= {*should, *may} or gone:
                wrong.append(Astray(peer, topic, tuple(found), should, tuple(gone)))
    return wrong


def _nodes(world: World) -> Iterable[tuple[Peer, Stack]]:
    return [(peer, node) for peer, node in world.up.items() if isinstance(node, Stack)]


def _ways_up(
    node: Stack, me: Peer, topic: Topic, members: Mapping[Topic, Mapping[Peer, None]]
) -> tuple[tuple[Topic, ...], tuple[Topic, ...]]:
    """Where links must lead: to the nearest populated topics. One that only this node itself is in needs no link: it
    has its own way up; links past it, to the nearest topics that others are in, do no harm."""
    nearest = node.hierarchy.nearest_populated(topic, members)
    others = [each for each, there in members.items() if {*there} != {me}]
    return tuple(each for each in nearest if each in others), node.hierarchy.nearest_populated(topic, others)
