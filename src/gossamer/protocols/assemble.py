"""Nodes put together from several protocols. The one place that may know more than one of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Peers
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.tree import Tree
from gossamer.protocols.camcast import messages as camcast_messages
from gossamer.protocols.camcast.handover import Handover
from gossamer.protocols.camcast.layer import Camcast
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.dispatch import messages as dispatch_messages
from gossamer.protocols.dispatch.community import Community, OneCommunity
from gossamer.protocols.dispatch.layer import Dispatch, fill
from gossamer.protocols.dispatch.messages import Offer, Part
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.flood import messages as flood_messages
from gossamer.protocols.flood.handover import Outlets
from gossamer.protocols.flood.params import Params as FloodParams
from gossamer.protocols.flood.tree import flooding
from gossamer.protocols.hpmcast import messages as hpmcast_messages
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.interests import messages as interests_messages
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.recovery import messages as recovery_messages
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp import messages as scamp_messages
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search import messages as search_messages
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.protocols.spidercast import messages as spidercast_messages
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.params import Params as SpidercastParams

DYNAMIC_MESSAGES: tuple[type[Struct], ...] = (
    *get_args(search_messages.Message),
    *get_args(scamp_messages.Message),
    *get_args(camcast_messages.Message),
    *get_args(recovery_messages.Message),
)
"What a dynamic node hears: the types its codec must speak."

DISPATCH_MESSAGES: tuple[type[Struct], ...] = (
    *get_args(search_messages.Message),
    *get_args(scamp_messages.Message),
    *get_args(dispatch_messages.Message),
    *get_args(recovery_messages.Message),
)
"What a dispatcher hears."

SPIDERCAST_MESSAGES: tuple[type[Struct], ...] = (
    *get_args(interests_messages.Message),
    *get_args(spidercast_messages.Message),
    *get_args(flood_messages.Message),
    *get_args(recovery_messages.Message),
)
"What a node of an interest-aware overlay hears."

HPMCAST_MESSAGES: tuple[type[Struct], ...] = (
    *get_args(hpmcast_messages.Message),
    *get_args(recovery_messages.Message),
)
"What a participant of a hierarchy hears."

MEMBERS_ONLY: tuple[type[Struct], ...] = (
    *search_messages.MEMBERS_ONLY,
    *scamp_messages.MEMBERS_ONLY,
    *camcast_messages.MEMBERS_ONLY,
    *recovery_messages.MEMBERS_ONLY,
    *dispatch_messages.MEMBERS_ONLY,
    *interests_messages.MEMBERS_ONLY,
    *spidercast_messages.MEMBERS_ONLY,
    *flood_messages.MEMBERS_ONLY,
    *hpmcast_messages.MEMBERS_ONLY,
)
"Messages that only a process that may read the topic they are about may say."

SpreadName: TypeAlias = Literal["camcast", "dispatch", "spidercast", "hpmcast"]
BY_CONTENT: tuple[SpreadName, ...] = ("dispatch", "hpmcast")
"Those in which filters run inside the network, and every node carries events for others: all read one topic."


def dynamic_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: Callable[[Topic], CamcastParams] | CamcastParams | None = None,
    scamp: ScampParams | None = None,
    search: SearchParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Callable[[Topic], RecoveryParams] | RecoveryParams | None = None,
) -> Stack:
    """A node that finds its communities itself: contacts by search, members by SCAMP, links and spread by CAMCAST.

    `spell` says how topics stand in requests that strangers pass on; all nodes of a network must spell alike.
    `recovery` says how what is lost is found again, topic by topic; None: not at all."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    finder = Search(node, search or SearchParams(), spell)
    members = Scamp(node, finder, scamp or ScampParams())
    settings = params if callable(params) else lambda topic: params or CamcastParams.live()
    links = Links(node, members, finder, lambda topic: spread.params_of(topic))
    spread = Camcast(node, members, links, settings)
    members.greets.append(links.greet)
    Handover(node, links)
    if recovery is not None:
        Recovery(node, spread, recovery if callable(recovery) else lambda topic: recovery)
    return node


def dispatch_node(
    me: Peer,
    seed: int,
    topic: Topic = ROOT,
    hierarchy: Hierarchy | None = None,
    params: DispatchParams | None = None,
    scamp: ScampParams | None = None,
    search: SearchParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Callable[[Topic], RecoveryParams] | RecoveryParams | None = None,
) -> Stack:
    """A dispatcher that finds the others itself: they are all members of one community, `topic`, whatever their users
    subscribe to; the tree stands on its SCAMP views, content-based routing on the tree, recovery on that."""
    settings = params or DispatchParams()
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    node.interest = OneCommunity(node.hierarchy, topic)
    finder = Search(node, search or SearchParams(), spell)
    members = Scamp(node, finder, scamp or ScampParams())
    tree = Tree(node, members, settings.pace, Offer, Part)
    _recover(Dispatch(node, settings, tree, topic), settings, recovery)
    Community(node, topic, tree)
    return node


def spidercast_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: SpidercastParams | None = None,
    interests: InterestsParams | None = None,
    flood: FloodParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Callable[[Topic], RecoveryParams] | RecoveryParams | None = None,
) -> Stack:
    """A node with many unrelated topics and few links: it learns what others want by gossip, links to those that cover
    its topics by SpiderCast, and events are flooded, or follow trees, over the links whose both ends want them."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    view = Interests(node, interests or InterestsParams(), spell)
    overlay = Spidercast(node, view, params or SpidercastParams.live(), spell)
    spread = flooding(node, overlay, flood or FloodParams(tree=True))
    Outlets(node, view, overlay.chain)
    if recovery is not None:
        Recovery(node, spread, recovery if callable(recovery) else lambda topic: recovery)
    return node


def hpmcast_node(
    me: Peer,
    seed: int,
    address: Address,
    branching: Sequence[int],
    hierarchy: Hierarchy | None = None,
    params: HpmcastParams | None = None,
    upkeep: Upkeep | None = None,
    recovery: Callable[[Topic], RecoveryParams] | RecoveryParams | None = None,
) -> Stack:
    """A participant of a hierarchy in which everybody has an address: it learns of its neighbours and of the delegates
    of others by gossip, and events go level by level to those whose filters they match."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    spread = Hpmcast(node, address, branching, params or HpmcastParams(), upkeep)
    if recovery is not None:
        Recovery(node, spread, recovery if callable(recovery) else lambda topic: recovery)
    return node


class Design(Struct, frozen=True, kw_only=True):
    """How a node's events travel. All nodes of a network have the same."""

    spread: SpreadName = "camcast"
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
        return f"{self.spread} below {self.community}" if self.spread == "dispatch" else self.spread

    @property
    def messages(self) -> tuple[type[Struct], ...]:
        """What such a node hears: the types its codec must speak."""
        return _MESSAGES[self.spread]


_MESSAGES: dict[SpreadName, tuple[type[Struct], ...]] = {
    "camcast": DYNAMIC_MESSAGES,
    "dispatch": DISPATCH_MESSAGES,
    "spidercast": SPIDERCAST_MESSAGES,
    "hpmcast": HPMCAST_MESSAGES,
}


def node_of(
    design: Design,
    me: Peer,
    seed: int,
    hierarchy: Hierarchy,
    camcast: Callable[[Topic], CamcastParams],
    scamp: ScampParams,
    search: SearchParams,
    spell: Callable[[Topic], str],
    recovery: Callable[[Topic], RecoveryParams],
) -> Stack:
    """A node that finds its place itself."""
    if design.spread == "camcast":
        return dynamic_node(me, seed, hierarchy, camcast, scamp, search, spell, recovery)
    if design.spread == "dispatch":
        return dispatch_node(me, seed, design.community, hierarchy, design.dispatch, scamp, search, spell, recovery)
    if design.spread == "hpmcast":
        return hpmcast_node(
            me, seed, design.address, design.branching, hierarchy, design.hpmcast, design.upkeep, recovery
        )
    return spidercast_node(me, seed, hierarchy, design.spidercast, design.interests, design.flood, spell, recovery)


def membership(node: Stack) -> Peers:
    """Whom a node that finds its place itself knows, topic by topic."""
    return next(layer for layer in node.layers if isinstance(layer, Scamp | Spidercast | Hpmcast))


def overlay_of(node: Stack) -> Spidercast | None:
    """A node's overlay, if it has one."""
    return next((layer for layer in node.layers if isinstance(layer, Spidercast)), None)


def hierarchy_of(node: Stack) -> Hpmcast | None:
    """A node's part in a hierarchy of delegates, if it has one."""
    return next((layer for layer in node.layers if isinstance(layer, Hpmcast)), None)


def dispatch_of(node: Stack) -> Dispatch | None:
    """A node's part in a tree of dispatchers, if it has one."""
    return next((layer for layer in node.layers if isinstance(layer, Dispatch)), None)


def scamp_of(node: Stack) -> Scamp | None:
    """A node's SCAMP, if its communities are kept by that."""
    return next((layer for layer in node.layers if isinstance(layer, Scamp)), None)


def static_dispatcher(
    me: Peer,
    seed: int,
    neighbours: Mapping[Peer, Sequence[Peer]],
    subscriptions: Mapping[Peer, Sequence[Pattern]],
    recovery: RecoveryParams | None = None,
    params: DispatchParams | None = None,
) -> Stack:
    """A dispatcher of an experiment: the links of every node are given and make a tree, and so is what the users of
    each subscribed to; tables are full from the start."""
    settings = params or DispatchParams()
    node = Stack(me, seed, Hierarchy(), Seen())
    dispatch = Dispatch(node, settings)
    fill(dispatch, neighbours, subscriptions)
    _recover(dispatch, settings, recovery)
    return node


def _recover(
    dispatch: Dispatch,
    params: DispatchParams,
    recovery: Callable[[Topic], RecoveryParams] | RecoveryParams | None,
) -> None:
    if recovery is None:
        return
    of_topic = recovery if callable(recovery) else lambda topic: recovery
    if params.covering and of_topic(ROOT).method not in ("none", "push"):
        raise Misuse("covering hides patterns that pulls count by: leave covering off, or choose push or none")
    Recovery(dispatch.node, dispatch, of_topic).noticing.interest_changed()
