"""Participants of an hpmcast hierarchy: who has which role.

contacts  –           the seeds of a network pass a newcomer on to its place
members   Hpmcast     its views, level by level, and whoever in them wants a topic
links     –           delegates stand in the views: there is nothing above them to link to
spread    Hpmcast     gossips events level by level to those whose filters they match
outside   –           whoever takes part may publish everything
recover   Exchange    finds again what was lost, without counts

CatchUp, which has no role, compares logs with those in the views that want a topic.
"""

import math
from collections.abc import Sequence

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Interest
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.protocols.catchup.node import catching_up
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.hpmcast import static
from gossamer.protocols.hpmcast.addresses import Address, address_of
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.levels import Levels
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from gossamer.protocols.recovery.node import Wish, exchanging

LEVELS = 3
"Of experiments that know communities and no addresses."


def hpmcast_node(
    me: Peer,
    seed: int,
    address: Address,
    branching: Sequence[int],
    hierarchy: Hierarchy | None = None,
    params: Params | None = None,
    upkeep: Upkeep | None = None,
    recovery: Wish = None,
    community: Topic = ROOT,
    catchup: CatchUpParams | None = None,
) -> Stack:
    """A participant that finds its place itself. Whoever takes part must be allowed to read all of `community`."""
    order = hierarchy or Hierarchy()
    node = Stack(me, seed, order, Seen(), Interest(order, community))
    both = Hpmcast(node, address, branching, params or Params(), upkeep)
    recover = exchanging(node, both, recovery)
    catch_up = catching_up(node, both.about, catchup)
    node.use(
        both, recover, catch_up, members=both, contacts=None, links=None, spread=both, outside=None, recover=recover
    )
    return node


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
    subsystem = lambda peers, members: static.Subsystem(peers, members, wants)  # noqa: E731
    spread = Levels(node, static.StaticViews(static.FixedHierarchy(addresses, params.delegates, subsystem), me), params)
    node.use(spread, members=None, contacts=None, links=None, spread=spread, outside=None, recover=None)
    return node
