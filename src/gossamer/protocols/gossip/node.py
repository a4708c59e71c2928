"""Gossiping nodes of experiments: the spread knows everybody."""

from gossamer.core.ids import Peer
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.parts.seen import Seen
from gossamer.protocols.gossip.layer import Gossip, Population


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    node = Stack(me, seed, setting.hierarchy(), Seen())
    home = setting.community_of(me)
    spread = Gossip(node, Population(setting), home.params)
    node.use(spread, members=None, contacts=None, links=None, spread=spread, outside=None, recover=None)
    return node
