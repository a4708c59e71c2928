"""Nodes put together from several protocols. The one place that may know more than one of them."""

from collections.abc import Callable
from typing import get_args

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.camcast import messages as camcast_messages
from gossamer.protocols.camcast.layer import Camcast
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.scamp import messages as scamp_messages
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search import messages as search_messages
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams

DYNAMIC_MESSAGES: tuple[type[Struct], ...] = (
    *get_args(search_messages.Message),
    *get_args(scamp_messages.Message),
    *get_args(camcast_messages.Message),
)
"What a dynamic node hears: the types its codec must speak."


def dynamic_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: Callable[[Topic], CamcastParams] | CamcastParams | None = None,
    scamp: ScampParams | None = None,
    search: SearchParams | None = None,
) -> Stack:
    """A node that finds its communities itself: contacts by search, members by SCAMP, links and spread by CAMCAST."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    finder = Search(node, search or SearchParams())
    members = Scamp(node, finder, scamp or ScampParams())
    settings = params if callable(params) else lambda topic: params or CamcastParams.live()
    links = Links(node, members, finder, lambda topic: spread.params_of(topic))
    spread = Camcast(node, members, links, settings)
    members.greets.append(links.greet)
    return node
