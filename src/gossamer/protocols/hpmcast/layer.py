"""hpmcast as a node has it."""

import math

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.parts.seen import Seen
from gossamer.protocols.hpmcast.addresses import address_of
from gossamer.protocols.hpmcast.levels import Levels
from gossamer.protocols.hpmcast.static import Hierarchy, StaticViews, Subsystem

LEVELS = 3
"Of experiments that know communities and no addresses."


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
