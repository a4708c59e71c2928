"""Flooding nodes of experiments: the spread stands on whatever members it is given."""

from gossamer.core.ids import Peer
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.flood.params import refuse_tree


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node that knows `neighbours` members of its community, drawn once, and tells all of them."""
    home = setting.community_of(me)
    refuse_tree(home.params)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    members = Static(node, {home.topic: home.members}, view=home.params.neighbours)
    spread = Flood(node, members, back=True)
    node.use(spread, members=members, contacts=None, links=None, spread=spread, outside=None, recover=None)
    return node
