"""Which spread a network uses, and its nodes. How a node is put together stands in its spread's `node.py`."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.flood.params import Params as FloodParams
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.pgrid.params import Params as PGridParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.protocols.spidercast.params import Params as SpidercastParams

SpreadName: TypeAlias = Literal["camcast", "dispatch", "spidercast", "hpmcast"]
BY_CONTENT: tuple[SpreadName, ...] = ("dispatch", "hpmcast")
"Those in which filters run inside the network, and every node carries events for others: all read one topic."


class Design(Struct, frozen=True, kw_only=True):
    """How a node's events travel. All nodes of a network have the same."""

    spread: SpreadName = "camcast"
    membership: MembershipName = "unstructured"
    "Where events travel along communities: how their members find each other."
    pgrid: PGridParams = PGridParams()
    "The overlay they are found in, unless it is unstructured."
    dispatch: DispatchParams = DispatchParams()
    community: Topic = ROOT
    "Where events travel by content: the topic of which every node is a member."
    spidercast: SpidercastParams = SpidercastParams.live()
    interests: InterestsParams = InterestsParams()
    flood: FloodParams = FloodParams(tree=True)
    "How they travel over SpiderCast's links."
    hpmcast: HpmcastParams = HpmcastParams.live()
    upkeep: Upkeep = Upkeep()
    "How hpmcast's views are kept."
    branching: tuple[int, ...] = ()
    "How many subsystems each may have on every level of hpmcast's hierarchy, the topmost first."
    address: Address = ()
    "Where this node lives in it."

    @property
    def title(self) -> str:
        """What two nodes must have in common to understand each other."""
        if self.spread == "hpmcast":
            params, shape = self.hpmcast, ".".join(map(str, self.branching))
            standing = f"{params.delegates} delegates by {self.upkeep.choice}"
            return f"{params.variant} of {shape} with {standing} below {self.community}"
        if self.spread == "camcast" and self.membership != "unstructured":
            return f"{self.membership} camcast"
        return f"{self.spread} below {self.community}" if self.spread == "dispatch" else self.spread

    @property
    def messages(self) -> tuple[type[Struct], ...]:
        """What such a node hears: the types its codec must speak."""
        return CATALOGUE[self.spread].spoken

    def node(
        self,
        me: Peer,
        seed: int,
        hierarchy: Hierarchy,
        camcast: Callable[[Topic], CamcastParams],
        scamp: Callable[[], ScampParams],
        search: SearchParams,
        spell: Callable[[Topic], str],
        recovery: Callable[[Topic], RecoveryParams],
        catchup: CatchUpParams | None = None,
    ) -> Stack:
        """A node that finds its place itself."""
        match self.spread:
            case "camcast":
                found = (recovery, catchup)
                placed = (self.membership, self.pgrid)
                return camcast_node(me, seed, hierarchy, camcast, scamp, search, spell, *found, *placed)
            case "dispatch":
                params, lost = self.dispatch, (recovery, catchup)
                return dispatch_node(me, seed, self.community, hierarchy, params, scamp, search, spell, *lost)
            case "spidercast":
                overlay = (self.spidercast, self.interests, self.flood)
                return spidercast_node(me, seed, hierarchy, *overlay, spell, recovery, catchup)
            case "hpmcast":
                place = (self.address, self.branching)
                kept = (self.hpmcast, self.upkeep)
                return hpmcast_node(me, seed, *place, hierarchy, *kept, recovery, self.community, catchup)
