"""Nodes put together from several protocols. The one place that may know more than one of them."""

from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.camcast import messages as camcast_messages
from gossamer.protocols.camcast.handover import Handover
from gossamer.protocols.camcast.layer import Camcast
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.messages import Carry, Contacts
from gossamer.protocols.camcast.params import Params as CamcastParams
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
)
"What a dynamic node hears: the types its codec must speak."


MEMBERS_ONLY: tuple[type[Struct], ...] = (
    *search_messages.MEMBERS_ONLY,
    *scamp_messages.MEMBERS_ONLY,
    *camcast_messages.MEMBERS_ONLY,
)
"Messages that only a process that may read the topic they are about may say."

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
) -> Stack:
    """A node that finds its communities itself: contacts by search, members by SCAMP, links and spread by CAMCAST.

    `spell` says how topics stand in requests that strangers pass on; all nodes of a network must spell alike."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    finder = Search(node, search or SearchParams(), spell)
    members = Scamp(node, finder, scamp or ScampParams())
    settings = params if callable(params) else lambda topic: params or CamcastParams.live()
    links = Links(node, members, finder, lambda topic: spread.params_of(topic))
    spread = Camcast(node, members, links, settings)
    members.greets.append(links.greet)
    Handover(node, links)
    return node


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


def _of_heir(message: Gone, sender: Peer) -> tuple[Claim, ...]:
    return () if message.instead is None else ((message.topic, message.instead),)


_CLAIMS: dict[type[Struct], Callable[[Any, Peer], tuple[Claim, ...]]] = {
    **dict.fromkeys((Accept, Kept, Beat, Here, Marks), _of_sender),
    **dict.fromkeys((Join, Forward), _of_both),
    Gone: _of_heir,
    Contacts: lambda message, sender: tuple((message.topic, peer) for peer in message.peers),
}
_NAMES: dict[type[Struct], Callable[[Any], tuple[Peer, ...]]] = {
    **dict.fromkeys((Join, Forward), lambda message: (message.who,)),
    Gone: lambda message: () if message.instead is None else (message.instead,),
    ReqContact: lambda message: (message.origin,),
    AnsContact: lambda message: message.peers,
    Contacts: lambda message: message.peers,
    Carry: lambda message: (message.carried.event.id.publisher,),
}
