"""The designs that are compared: how a node of each is put together, and what it keeps in its tables."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.dispatch.community import Community, OneCommunity
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.sim.compared import ComparedDesign

PULL = replace(RecoveryParams.live(), store=False)
EXCHANGE = replace(PULL, method="exchange", push_every_us=0, tail_after_us=0)
"Where events are matched on their way, nobody sees gaps: whoever holds events tells those that want them."


def node_of(
    design: ComparedDesign, params: HpmcastParams, me: Peer, seed: int, address: Address, branching: Sequence[int]
) -> Stack:
    """A node that finds its place itself, with parameters for networks in use; `params` are hpmcast's."""
    live = EXCHANGE if design.spread == "hpmcast" else PULL
    recovery = {"none": None, "live": live, "paper": RecoveryParams.paper()}[design.recovery]
    match design.spread:
        case "camcast":
            return camcast_node(me, seed, recovery=recovery)
        case "spidercast":
            return spidercast_node(me, seed, recovery=recovery)
        case "dispatch":
            return dispatch_node(me, seed, recovery=recovery)
        case "hpmcast":
            return hpmcast_node(me, seed, address, branching, params=params, recovery=recovery)
        case "flood":
            return flood_node(me, seed)


def flood_node(me: Peer, seed: int) -> Stack:
    """Broadcast by flooding: all nodes are members of one community, whatever their users want, and tell all they
    know."""
    order = Hierarchy()
    node = Stack(me, seed, order, Seen(), OneCommunity(order, ROOT))
    contacts = Search(node, SearchParams())
    scamp = Scamp(node, contacts, ScampParams())
    members = Everybody(scamp)
    spread = Flood(node, members)
    node.use(
        *(contacts, scamp, spread, Community(node, ROOT, members)),
        members=members,
        contacts=contacts,
        links=None,
        spread=spread,
        outside=None,
        recover=None,
    )
    return node


class Everybody:
    """The members of one community, whatever the topic."""

    def __init__(self, scamp: Scamp) -> None:
        self.scamp = scamp

    def plant(self, topic: Topic) -> None:
        """Flooding needs no tree."""

    def about(self, topic: Topic) -> Sequence[Peer]:
        return self.scamp.about(ROOT)

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.scamp.sure(ROOT)

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        return self.scamp.sample(ROOT, k, key)

    def size(self, topic: Topic) -> int:
        return self.scamp.size(ROOT)

    def ready(self, topic: Topic) -> bool:
        return self.scamp.ready(ROOT)


# -- what a node keeps ----------------------------------------------------------------------------------------------


def peers_kept(node: Stack) -> int:
    """Entries about other nodes in all tables: one that stands in two tables counts twice."""
    spread, members = node.spread, node.members
    if isinstance(spread, Hpmcast):
        seats = [peer for level in range(1, spread.views.levels + 1) for peer, _ in spread.seats(level)]
        return sum(peer != node.me for peer in seats)
    if isinstance(members, Spidercast):
        return len(members.view.entries()) + len(members.links.neighbours())
    views = [members.about(topic) for topic in node.interest.mine()] if members is not None else []
    tables = [table for topic in node.interest.mine() for table in (node.links.tables(topic) if node.links else ())]
    further = len(spread.table.widest) if isinstance(spread, Dispatch) else 0
    return sum(map(len, [*views, *tables])) + further


def patterns_kept(node: Stack) -> int:
    """Topics and filters kept that others want."""
    spread = node.spread
    match spread:
        case Dispatch():
            return sum(len(patterns) for peer, patterns in spread.table.sources.items() if peer != node.me)
        case Hpmcast():
            tables = spread.members.tables
            lines = [line for level in range(1, tables.levels + 1) for line in tables.lines(level)]
            return sum(len(line.row.interest) for line in lines if line is not tables.own)
    return sum(map(len, node.members.view.entries().values())) if isinstance(node.members, Spidercast) else 0
