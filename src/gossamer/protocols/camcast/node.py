"""CAMCAST nodes: who has which role.

    contacts  Search         asks the neighbourhood for first members of a topic
    members   Scamp          keeps a view of each community this node is in
    links     Links          keeps the way up: members of the nearest populated topics above each community
    spread    Camcast        gossips events inside a community, and sometimes up the links
    outside   HandToMembers  hands events to members of topics this node may not read
    recover   Recovery       finds again what was lost

Where the membership is structured (001, 5.2.3) the overlay, `PGrid`, is asked for contacts instead of Search, and
`DrawnMembers` draws the members from it instead of Scamp. Where it is semi-structured (5.2.2) only contacts come from
it. Nobody else notices.

Scamp asks Search for contacts. Links asks Search for those above, and Scamp for whom to name and to tell. Camcast asks
Scamp and Links whom to tell of an event. HandToMembers asks Links. Recovery asks Camcast where a pattern is wanted;
so does CatchUp, which has no role: it compares logs with those.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

from gossamer.core.draws import LINKS, distinct
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.camcast.layer import Camcast, FixedLinks
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.outside import HandToMembers
from gossamer.protocols.camcast.params import Params, Settings
from gossamer.protocols.camcast.rules import tells
from gossamer.protocols.catchup.node import catching_up
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.members import DrawnMembers
from gossamer.protocols.pgrid.params import Params as PGridParams
from gossamer.protocols.recovery.node import Wish, recovering
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams

MembershipName: TypeAlias = Literal["unstructured", "semi-structured", "structured"]
"How members of communities find each other."


def camcast_node(
    me: Peer,
    seed: int,
    hierarchy: Hierarchy | None = None,
    params: Callable[[Topic], Params] | Params | None = None,
    scamp: Callable[[], ScampParams] | ScampParams | None = None,
    search: SearchParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Wish = None,
    catchup: CatchUpParams | None = None,
    membership: MembershipName = "unstructured",
    pgrid: PGridParams | None = None,
) -> Stack:
    """A node that finds its communities itself.

    `spell` says how topics stand in requests that strangers pass on; all nodes of a network must spell alike."""
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    settings = Settings(params or Params.live())
    grid = pgrid or PGridParams()
    contacts: Search | PGrid
    members: Scamp | DrawnMembers
    match membership:
        case "unstructured":
            contacts = Search(node, search or SearchParams(), spell)
            members = Scamp(node, contacts, scamp or ScampParams())
        case "semi-structured":
            contacts = PGrid(node, grid, spell)
            members = Scamp(node, contacts, scamp or ScampParams())
        case "structured":
            contacts = PGrid(node, grid, spell)
            members = DrawnMembers(node, contacts, lambda topic, size: entries(settings.of(topic), size), grid)
    links = Links(node, members, contacts, settings)
    spread = Camcast(node, members, links, settings)
    outside = HandToMembers(node, links)
    recover = recovering(node, spread, recovery)
    catch_up = catching_up(node, lambda topic: spread.towards(Pattern(topic)), catchup)
    node.use(
        *(contacts, members, links, spread, outside, recover, catch_up),
        members=members,
        contacts=contacts,
        links=links,
        spread=spread,
        outside=outside,
        recover=recover,
    )
    return node


def entries(params: Params, size: int) -> int:
    """Members a drawn table has: as many as an event is told to."""
    return tells(size, params.fanout_extra, params.small)


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment with fixed tables: the same one the kernel computes with."""
    home = setting.community_of(me)
    node = Stack(me, seed, setting.hierarchy(), Seen())
    tables = []
    for ordinal, above in enumerate(home.supers):
        there = setting.communities[above]
        drawn = distinct(node.key(LINKS, ordinal), there.size, home.params.links)
        tables.append([there.start + i for i in drawn])
    members, links = Static(node, {home.topic: home.members}), FixedLinks(tables)
    spread = Camcast(node, members, links, Settings(home.params))
    node.use(spread, members=members, contacts=None, links=links, spread=spread, outside=None, recover=None)
    return node
