"""Nodes of a SpiderCast overlay: who has which role.

    contacts  –           Interests knows some of the other nodes, and what each wants
    members   Spidercast  the neighbours that want a topic
    links     –           events do not climb: whoever wants a topic is linked to others that do
    spread    Flood       floods events over the links whose both ends want them, or follows the tree that grows there
    outside   Outlets     hands events to nodes that want them, where this node may not read the topic
    recover   Recovery    finds again what was lost

Spidercast asks Interests whom it could link to. Flood asks Spidercast for the neighbours of a topic. Outlets asks
Interests.
"""

from collections.abc import Callable

from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.seen import Seen
from gossamer.protocols.flood.outside import Outlets
from gossamer.protocols.flood.params import Params as FloodParams
from gossamer.protocols.flood.tree import flooding
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.recovery.node import Wish, recovering
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.params import Params


def spidercast_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: Params | None = None,
    interests: InterestsParams | None = None,
    flood: FloodParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Wish = None,
) -> Stack:
    """A node with many unrelated topics and few links."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    own = OwnWants(node.hierarchy, spell)
    view = Interests(node, interests or InterestsParams(), own)
    members = Spidercast(node, view, params or Params.live(), own)
    spread = flooding(node, members, flood or FloodParams(tree=True))
    outside = Outlets(node, view, members.chain)
    recover = recovering(node, spread, recovery)
    node.use(
        *(view, members, spread, outside, recover),
        members=members,
        contacts=None,
        links=None,
        spread=spread,
        outside=outside,
        recover=recover,
    )
    return node
