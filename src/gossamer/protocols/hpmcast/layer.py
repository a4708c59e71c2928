"""hpmcast as a node has it: views in levels and a spread through them, one object for both."""

import math
from collections.abc import Sequence

from gossamer.core.draws import distinct, fold
from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.seen import Seen
from gossamer.parts.topical import Topical
from gossamer.protocols.hpmcast.addresses import Address, address_of
from gossamer.protocols.hpmcast.levels import Gossiped, Levels, Line
from gossamer.protocols.hpmcast.membership import Membership
from gossamer.protocols.hpmcast.messages import SEATS_MAX, Gossip
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.static import Hierarchy, StaticViews, Subsystem
from gossamer.protocols.hpmcast.tables import Known, Tables
from gossamer.protocols.hpmcast.upkeep import Upkeep

LEVELS = 3
"Of experiments that know communities and no addresses."


class Hpmcast(Topical, Levels):
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
        tables = Tables(node.me, address, branching, params.delegates, upkeep or Upkeep(), node.hierarchy)
        self.members = Membership(node, tables)
        super().__init__(node, self.members, params)

    # -- events ---------------------------------------------------------------------------------------------------

    def on_gossip(self, peer: Peer, message: Gossip) -> None:
        self.members.watch.heard(peer, self.node.now_us)
        super().on_gossip(peer, message)

    def gossip(self, it: Gossiped) -> Sequence[Peer]:
        told = super().gossip(it)
        self.members.ride(it.level, told)
        return told

    def recovered(self, carried: Carried) -> None:
        """Below us others may wait for it, and who would gossip it to us now tells us nothing new."""
        standing = max(level for level in range(1, self.members.levels + 1) if self.members.tables.stands(level))
        if standing > 1 and (not self.params.hops or carried.hops < self.params.hops):
            gossiped = Gossiped(carried, standing - 1)
            self.measure(gossiped)
            self._keep(gossiped)

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

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        """Participants in the hierarchy."""
        return sum(known.row.count for known in self.members.lines(self.members.levels))

    def ready(self, topic: Topic) -> bool:
        return self.members.ready()

    # -- what recovery asks ---------------------------------------------------------------------------------------

    def wants(self, pattern: Pattern) -> bool:
        """What our users want, and what is wanted where this node is a delegate: it is lost to them otherwise."""
        return super().wants(pattern) or any(
            line.wanted is not None and line.wanted.touches(pattern.topic, self.node.hierarchy)
            for line in self.stands_for()
        )

    def stands_for(self) -> Sequence[Known]:
        """Our own subsystems of which this node is a delegate."""
        tables = self.members.tables
        standing = [level for level in range(2, tables.levels + 1) if tables.stands(level)]
        return [tables.summary(level) for level in standing]

    def towards(self, pattern: Pattern) -> Sequence[Peer]:
        return self.about(pattern.topic)

    def picked(self, k: int, key: int) -> tuple[Sequence[tuple[Peer, Line]], bool]:
        """Some participants of one level, each with the line it stands in. Where this node does not stand itself, only
        what it published may have come to nobody: the others have been told of all else."""
        (level,) = (1 + i for i in distinct(key, self.members.levels, 1))
        seats = [seat for seat in self.seats(level) if seat[0] != self.node.me]
        return [seats[i] for i in distinct(fold(key, 1), len(seats), k)], self.members.tables.stands(level)


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: all processes in one hierarchy, everybody subscribed to its community's topic."""
    params = setting.communities[0].params
    node = Stack(me, seed, setting.hierarchy(), Seen())
    topics = {peer: community.topic for community in setting.communities for peer in community.members}

    def wants(peer: Peer, event: Event) -> bool:
        return node.hierarchy.includes(topics[peer], event.topic)

    n, levels = setting.processes, LEVELS if params.variant == "hpmcast" else 1
    branching = (math.ceil(n ** (1 / levels)),) * levels
    addresses = [address_of(number, branching) for number in range(n)]
    everybody = Hierarchy(addresses, params.delegates, lambda peers, members: Subsystem(peers, members, wants))
    Levels(node, StaticViews(everybody, me), params)
    return node
