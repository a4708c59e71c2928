"""Nodes put together from several protocols. The one place that may know more than one of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.tree import Tree
from gossamer.protocols.camcast import messages as camcast_messages
from gossamer.protocols.camcast.handover import Handover
from gossamer.protocols.camcast.layer import Camcast
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.messages import Carry, Contacts
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.dispatch import messages as dispatch_messages
from gossamer.protocols.dispatch.community import Community, OneCommunity
from gossamer.protocols.dispatch.layer import Dispatch, fill
from gossamer.protocols.dispatch.messages import Offer, Part, Route, Tell
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.recovery import messages as recovery_messages
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Latest, Lost, Want
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp import messages as scamp_messages
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search import messages as search_messages
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.protocols.search.params import Params as SearchParams

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

MEMBERS_ONLY: tuple[type[Struct], ...] = (
    *search_messages.MEMBERS_ONLY,
    *scamp_messages.MEMBERS_ONLY,
    *camcast_messages.MEMBERS_ONLY,
    *recovery_messages.MEMBERS_ONLY,
    *dispatch_messages.MEMBERS_ONLY,
)
"Messages that only a process that may read the topic they are about may say."

SpreadName: TypeAlias = Literal["camcast", "dispatch"]
Claim: TypeAlias = tuple[Topic, Peer]
Meaning: TypeAlias = Callable[[str], Topic | None]


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


class Design(Struct, frozen=True, kw_only=True):
    """How a node's events travel. All nodes of a network have the same."""

    spread: SpreadName = "camcast"
    dispatch: DispatchParams = DispatchParams()
    community: Topic = ROOT
    "Where events are dispatched by content: the topic of which every node is a member."

    @property
    def title(self) -> str:
        """What two nodes must have in common to understand each other."""
        return self.spread if self.spread == "camcast" else f"{self.spread} below {self.community}"

    @property
    def messages(self) -> tuple[type[Struct], ...]:
        """What such a node hears: the types its codec must speak."""
        return DYNAMIC_MESSAGES if self.spread == "camcast" else DISPATCH_MESSAGES


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
    return dispatch_node(me, seed, design.community, hierarchy, design.dispatch, scamp, search, spell, recovery)


def membership(node: Stack) -> Scamp:
    """Whom a node that finds its place itself knows."""
    return next(layer for layer in node.layers if isinstance(layer, Scamp))


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


# -- what messages say of peers: for a driver that asks for everybody's grant before the machine hears of it ----------


def meaning(node: Stack) -> Meaning:
    """Reads the spelled topic of an answer to this node's own search; None: it never asked for such a topic."""
    return next(layer for layer in node.layers if isinstance(layer, Search)).meant


def claims(message: Message, sender: Peer, meant: Meaning | None = None) -> tuple[Claim, ...]:
    """If this message is believed, these peers count as members of these topics: events will be sent to them.

    An answer to a search names its topic in a spelling that only the asker can read; pass `meaning(node)`."""
    claimed = _CLAIMS.get(type(message))
    if claimed is not None:
        return claimed(message, sender)
    if type(message) is AnsContact and meant is not None and (topic := meant(message.topic)) is not None:
        return tuple((topic, peer) for peer in message.peers)
    return ()


def introduces(message: Message) -> tuple[Peer, ...]:
    """The peers a message names (its sender may be among them): whoever hears it must be able to reach and judge them,
    so their records travel along."""
    named = _NAMES.get(type(message))
    return () if named is None else named(message)


def _of_sender(message: Any, sender: Peer) -> tuple[Claim, ...]:
    return ((message.topic, sender),)


def _of_both(message: Any, sender: Peer) -> tuple[Claim, ...]:
    """A subscription is told by its subscriber, then passed on by members."""
    if message.who == sender:
        return ((message.topic, sender),)
    return ((message.topic, message.who), (message.topic, sender))


def _of_initiator(message: Lost | Ask, sender: Peer) -> tuple[Claim, ...]:
    """Whoever asks, and not who passes it on, is going to be sent events."""
    asked = (message.pattern,) if isinstance(message, Lost) else tuple(each.pattern for each in message.wanted)
    return tuple(dict.fromkeys((pattern.topic, message.initiator) for pattern in asked))


def _of_heir(message: Gone, sender: Peer) -> tuple[Claim, ...]:
    return () if message.instead is None else ((message.topic, message.instead),)


_CLAIMS: dict[type[Struct], Callable[[Any, Peer], tuple[Claim, ...]]] = {
    **dict.fromkeys((Accept, Kept, Beat, Here, Marks, Offer), _of_sender),
    **dict.fromkeys((Join, Forward), _of_both),
    Gone: _of_heir,
    **dict.fromkeys((Lost, Ask), _of_initiator),
    Want: lambda message, sender: ((message.pattern.topic, sender),),
    Contacts: lambda message, sender: tuple((message.topic, peer) for peer in message.peers),
    Tell: lambda message, sender: tuple((topic, sender) for topic in dict.fromkeys(each.topic for each in message.add)),
}
_NAMES: dict[type[Struct], Callable[[Any], tuple[Peer, ...]]] = {
    **dict.fromkeys((Join, Forward), lambda message: (message.who,)),
    Gone: lambda message: () if message.instead is None else (message.instead,),
    ReqContact: lambda message: (message.origin,),
    AnsContact: lambda message: message.peers,
    Contacts: lambda message: message.peers,
    **dict.fromkeys((Carry, Again), lambda message: (message.carried.event.id.publisher,)),
    **dict.fromkeys((Digest, Lost), lambda message: (message.initiator,)),
    Ask: lambda message: tuple(dict.fromkeys((message.initiator, *(message.route or (message.source,))[-1:]))),
    Latest: lambda message: (message.source,),
    Route: lambda message: (message.carried.event.id.publisher,),
}
