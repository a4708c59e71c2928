"""What must be true of CAMCAST's links, seen from outside: no process ever stops looking for a way up, and once a town
has settled every way up leads to the nearest populated topics."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, Leave, Received
from gossamer.core.messages import Carrier
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.links import Links
from gossamer.sim.checkers import LOOK_EVERY, CheckFailed
from gossamer.sim.timers import Timers
from gossamer.sim.world import Watcher, World


def links_of(node: Stack) -> Links | None:
    return node.links if isinstance(node.links, Links) else None


def has_link(links: Links, topic: Topic) -> bool:
    """Whether `leads` says anything; asked after every step, this must be cheap."""
    return any(table.entries for table in links.frontiers[topic].tables.values())


class Climbing(Watcher):
    """After every step: a process without a live link upwards has a search under way, and a search has a timer. Now and
    then: no table of links holds too many, one twice, or its owner."""

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
        for topic in node.interest.mine():
            searching = links.searching(topic)
            if searching and not self.timers.is_pending(peer, Widen, topic):
                raise CheckFailed(f"process {peer} looks for a way up from {topic}, and has no timer for it")
            if topic != ROOT and not searching and not has_link(links, topic):
                raise CheckFailed(f"process {peer} has no live link upwards from {topic}, and looks for none")
            if self.world.steps % LOOK_EVERY == 0:
                self._look(peer, topic, links.leads(topic), links.settings.of(topic).links)

    @staticmethod
    def _look(peer: Peer, topic: Topic, found: Mapping[Topic, Sequence[Peer]], most: int) -> None:
        for above, table in found.items():
            if len(table) > most or peer in table or len(table) != len(set(table)):
                raise CheckFailed(f"the links of {peer} from {topic} to {above} are out of bounds: {table}")


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
