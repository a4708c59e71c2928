"""hpmcast as a node has it: views in levels and a spread through them, one object for both."""

from collections.abc import Mapping, Sequence

from gossamer.core.draws import PHASE, chance, distinct, fold
from gossamer.core.errors import Misuse
from gossamer.core.events import Carried
from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.levels import Gossiped, Levels, ViewLine
from gossamer.protocols.hpmcast.membership import Membership
from gossamer.protocols.hpmcast.messages import SEATS_MAX, LevelGossip
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.tables import KnownRow, ViewTables
from gossamer.protocols.hpmcast.upkeep import Upkeep


class Hpmcast(Levels):
    """One node's part in hpmcast. It stands for others where it is a delegate, and carries what they want."""

    def __init__(
        self, node: Stack, address: Address, branching: Sequence[int], params: Params, upkeep: Upkeep | None = None
    ) -> None:
        if len(address) != len(branching) or any(digit >= radix for digit, radix in zip(address, branching)):
            raise Misuse(f"{address} is no address of a hierarchy of {tuple(branching)}: one digit below each of these")
        if params.delegates > SEATS_MAX:
            raise Misuse(f"delegates must be at most {SEATS_MAX} where views are kept up, not {params.delegates}")
        if params.variant != "hpmcast" and len(branching) > 1:
            raise Misuse(f"{params.variant} has one level: branching must be one number")
        tables = ViewTables(node.me, address, branching, params.delegates, upkeep or Upkeep(), node.hierarchy)
        self.members = Membership(node, tables)
        super().__init__(node, self.members, params, phase=chance(node.key(PHASE, 0), 0))
        self.within = (self.members,)

    # -- events ---------------------------------------------------------------------------------------------------

    def on_gossip(self, peer: Peer, message: LevelGossip) -> None:
        self.members.watch.heard(peer, self.node.now_us)
        super().on_gossip(peer, message)

    def gossip(self, it: Gossiped) -> Sequence[Peer]:
        told = super().gossip(it)
        self.members.ride(it.level, told)
        return told

    def recovered(self, carried: Carried) -> None:
        """Below us others may wait for it, and who would gossip it to us now tells us nothing new."""
        standing = self.members.tables.rank()
        if standing > 1 and (not self.params.hops or carried.hops < self.params.hops):
            self.begin(carried, standing - 1)

    # -- who else is there ----------------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        """Everybody in the views that wants events of the topic, or stands for some who may."""
        tables, found = self.members.tables, {}
        for level in range(1, tables.levels + 1):
            for known in tables.lines(level):
                if known.wanted is not None and known.wanted.touches(topic, self.node.hierarchy):
                    found.update(dict.fromkeys(known.peers))
        found.pop(self.node.me, None)
        return [*found]

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        """Participants in the hierarchy."""
        return sum(known.row.count for known in self.members.lines(self.members.levels))

    def ready(self, topic: Topic) -> bool:
        return self.members.ready()

    def gauges(self) -> Mapping[str, int]:
        tables = self.members.tables
        return {
            "hierarchy_nodes": sum(known.row.count for known in self.members.lines(self.members.levels)),
            "hierarchy_view": len(tables.peers()),
            "hierarchy_level": tables.rank(),
        }

    # -- what recovery asks ---------------------------------------------------------------------------------------

    def carries(self, topic: Topic, besides: Peer) -> bool:
        """What is wanted where this node is a delegate: it is lost to them otherwise."""
        return any(
            line.wanted is not None and line.wanted.touches(topic, self.node.hierarchy) for line in self.stands_for()
        )

    def stands_for(self) -> Sequence[KnownRow]:
        """Our own subsystems of which this node is a delegate."""
        tables = self.members.tables
        standing = [level for level in range(2, tables.levels + 1) if tables.stands(level)]
        return [tables.summary(level) for level in standing]

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, ViewLine]], bool]:
        """Some participants of one level, each with the line it stands in. Where this node does not stand itself, only
        what it published may have come to nobody: the others have been told of all else."""
        (level,) = (1 + i for i in distinct(key, self.members.levels, 1))
        seats = [seat for seat in self.seats(level) if seat[0] != self.node.me]
        return [seats[i] for i in distinct(fold(key, 1), len(seats), k)], self.members.tables.stands(level)
