"""Nodes of a SpiderCast overlay: who has which role.

    contacts  –           Interests knows some of the other nodes, and what each wants
    members   Spidercast  the neighbours that want a topic
    links     –           events do not climb: whoever wants a topic is linked to others that do
    spread    Flood       floods events over the links whose both ends want them, or follows the tree that grows there
    outside   Outlets     hands events to nodes that want them, where this node may not read the topic
    recover   Recovery    finds again what was lost

Spidercast asks Interests whom it could link to. Flood asks Spidercast for the neighbours of a topic. Outlets asks
Interests. CatchUp, which has no role, compares logs with the neighbours of a topic, and with
some others that Interests knows.
"""

from collections.abc import Callable, Sequence

from gossamer.core.draws import CATCH_UP, draw
from gossamer.core.ids import Peer, peer_of
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.seen import Seen
from gossamer.protocols.catchup.node import catching_up
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.flood.outside import Outlets
from gossamer.protocols.flood.params import Params as FloodParams
from gossamer.protocols.flood.tree import flooding
from gossamer.protocols.interests.layer import Interests
from gossamer.protocols.interests.params import Params as InterestsParams
from gossamer.protocols.recovery.node import Wish, recovering
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.params import Params

FURTHER = 2
"Nodes beside the neighbours that logs are compared with."


def spidercast_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: Params | None = None,
    interests: InterestsParams | None = None,
    flood: FloodParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Wish = None,
    catchup: CatchUpParams | None = None,
) -> Stack:
    """A node with many unrelated topics and few links."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    own = OwnWants(node.hierarchy, spell)
    view = Interests(node, interests or InterestsParams(), own)
    members = Spidercast(node, view, params or Params.live(), own)
    spread = flooding(node, members, flood or FloodParams(tree=True))
    outside = Outlets(node, view, members.chain)
    recover = recovering(node, spread, recovery)

    def partners(topic: Topic) -> Sequence[Peer]:
        """The neighbours, and a few others that want the topic, always the same: neighbours may all be of one half."""
        chain, near = members.chain(topic), members.about(topic)
        others = [peer for peer, wants in view.entries().items() if wants.covers(chain) and peer not in near]
        key = node.key(CATCH_UP, peer_of(topic))
        return [*near, *sorted(others, key=lambda peer: draw(key, peer))[:FURTHER]]

    catch_up = catching_up(node, partners, catchup)
    node.use(
        *(view, members, spread, outside, recover, catch_up),
        members=members,
        contacts=None,
        links=None,
        spread=spread,
        outside=outside,
        recover=recover,
    )
    return node
