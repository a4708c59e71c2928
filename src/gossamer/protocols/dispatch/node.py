"""Dispatchers: who has which role.

    contacts  Search      asks the neighbourhood for first members of the dispatchers' community
    members   Scamp       keeps a view of that one community
    links     –           events do not climb: one tree serves all topics
    spread    Dispatch    routes events along the tree, by what is wanted behind each link
    outside   –           every dispatcher may publish everything
    recover   Recovery    finds again what was lost

SpanningTree makes a tree out of Scamp's view; Dispatch stands on it. Community takes the node into the community.
CatchUp, which has no role, compares logs with neighbours, and with others of Scamp's view.
"""

from collections.abc import Callable, Mapping, Sequence

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.core.setting import Setting
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.parts.seen import Seen
from gossamer.parts.tree import SpanningTree
from gossamer.protocols.catchup.node import catching_up
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.dispatch.community import Community, OneCommunity
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Offer, Part
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.static import breadth_first, fill
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.node import Wish, recovering
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.params import Params as SearchParams


def dispatch_node(
    me: Peer,
    seed: int,
    topic: Topic = ROOT,
    hierarchy: Hierarchy | None = None,
    params: Params | None = None,
    scamp: Callable[[], ScampParams] | ScampParams | None = None,
    search: SearchParams | None = None,
    spell: Callable[[Topic], str] | None = None,
    recovery: Wish = None,
    catchup: CatchUpParams | None = None,
) -> Stack:
    """A dispatcher that finds the others itself: they are all members of one community, `topic`, whatever their users
    subscribe to."""
    settings, order = params or Params(), hierarchy or Hierarchy()
    node = Stack(me, seed, order, Seen(), OneCommunity(order, topic))
    contacts = Search(node, search or SearchParams(), spell)
    members = Scamp(node, contacts, scamp or ScampParams())
    tree = SpanningTree(node, members, settings.pace, Offer, Part)
    spread = Dispatch(node, settings, tree, topic)
    recover = _recovering(spread, settings, recovery)

    def partners(name: Topic) -> Sequence[Peer]:
        """Neighbours that want it or lead to some who do, and anybody: what others want is known of neighbours only."""
        return [*spread.towards(Pattern(name)), *members.about(topic)]

    catch_up = catching_up(node, partners, catchup)
    node.use(
        # Dispatch publishes what waited as soon as the tree has links: Recovery must have heard of these before.
        *(contacts, members, tree, recover, spread, Community(node, topic, tree), catch_up),
        members=members,
        contacts=contacts,
        links=None,
        spread=spread,
        outside=None,
        recover=recover,
    )
    return node


def static_dispatcher(
    me: Peer,
    seed: int,
    neighbours: Mapping[Peer, Sequence[Peer]],
    subscriptions: Mapping[Peer, Sequence[Pattern]],
    recovery: Wish = None,
    params: Params | None = None,
    hierarchy: Hierarchy | None = None,
) -> Stack:
    """A dispatcher of an experiment: the links of every node are given and make a tree, and so is what the users of
    each subscribed to; tables are full from the start, as they are once everybody has told everything."""
    settings = params or Params()
    node = Stack(me, seed, hierarchy or Hierarchy(), Seen())
    spread = Dispatch(node, settings)
    fill(spread, neighbours, subscriptions)
    recover = _recovering(spread, settings, recovery)
    node.use(spread, recover, members=None, contacts=None, links=None, spread=spread, outside=None, recover=recover)
    return node


def static_node(setting: Setting, me: Peer, seed: int) -> Stack:
    """A node of an experiment: all processes in one tree filled breadth-first, everybody subscribed to its topic."""
    params = setting.community_of(me).params
    topics = {peer: (Pattern(c.topic),) for c in setting.communities for peer in c.members}
    tree = breadth_first(setting.processes, params.degree)
    return static_dispatcher(me, seed, tree, topics, None, params, setting.hierarchy())


def _recovering(spread: Dispatch, params: Params, wish: Wish) -> Recovery | None:
    recover = recovering(spread.node, spread, wish)
    if recover is None:
        return None
    if params.covering and recover.settings.network(ROOT).method not in ("none", "push"):
        raise Misuse("covering hides patterns that pulls count by: leave covering off, or choose push or none")
    return recover
