"""What recovery asks of the spreads it stands on: camcast and flood."""

from composing import use
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Publish, StartPublishing, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.parts.tagging import Tagger
from gossamer.protocols.camcast.layer import Camcast, FixedLinks
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.camcast.params import Settings
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Params
from gossamer.sim.checked import checked
from gossamer.sim.chronicle import Chronicle
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import World


def camcast(*subscribed: str, publishing: tuple[str, ...] = (), hierarchy: Hierarchy | None = None) -> Camcast:
    node = Stack(1, 1, hierarchy or Hierarchy(), Seen())
    members = Static(node, {".a": range(6), ".a.b": range(10, 13)})
    links = FixedLinks([[1, 20, 21]])
    spread = Camcast(node, members, links, Settings(CamcastParams()))
    use(node, spread, members=members, links=links, spread=spread)
    for topic in subscribed:
        node.step(Subscribe(topic), 0)
    for topic in publishing:
        node.step(StartPublishing(topic), 0)
    return spread


def patterns(*topics: str) -> list[Pattern]:
    return sorted(map(Pattern, topics), key=lambda pattern: pattern.signature)


def test_an_event_is_counted_by_its_topic_and_every_topic_that_includes_it() -> None:
    spread = camcast(hierarchy=Hierarchy({".a.b": [".x"]}))
    assert sorted(spread.patterns(".a.b", {})) == [Pattern("."), Pattern(".a"), Pattern(".a.b"), Pattern(".x")]


def test_local_are_the_widest_topics_subscribed_to_whatever_the_filters() -> None:
    spread = camcast(".a", ".a.b", ".c.d")
    spread.node.step(Subscribe(".e", "price > 3"), 0)
    assert spread.local() == patterns(".a", ".c.d", ".e")


def test_known_are_these_and_where_this_node_takes_part() -> None:
    assert camcast(".a", publishing=(".a.b", ".p")).known() == patterns(".a", ".a.b", ".p")


def test_a_pattern_is_wanted_by_those_who_read_all_of_it() -> None:
    spread = camcast(".a")
    assert [spread.wants(Pattern(topic)) for topic in (".a", ".a.b", ".", ".c")] == [True, True, False, False]


def test_towards_a_topic_are_its_members_and_the_links_above_never_oneself() -> None:
    spread = camcast(".a")
    assert sorted(spread.towards(Pattern(".a"))) == [0, 2, 3, 4, 5, 20, 21]
    assert sorted(camcast(".a.b").towards(Pattern("."))) == [20, 21]


def test_a_flood_of_which_half_is_lost_loses_nothing_in_the_end() -> None:
    def make(me: Peer) -> Stack:
        node = Stack(me, 1, Hierarchy(), Seen())
        members = Static(node, {".f": range(20)}, view=8)
        spread = Flood(node, members)
        recover = Recovery(node, spread, lambda topic: Params.live())
        use(node, spread, recover, members=members, spread=spread, recover=recover)
        return node

    world = World(make, Network(1, Latency(), Independent(lambda sender, target: 0.5)))
    checked(world, seen := Chronicle(world, lambda peer, event: True))
    for peer in range(20):
        world.start(peer)
        world.give(peer, Subscribe(".f"))
    tagger = Tagger()
    for number in range(40):
        tags = tagger.tags(world.machines[0].patterns(".f", {}), world.now_us)
        world.give(0, Publish(Event(EventId(0, 0, number), ".f", tags=tags)))
        world.run(world.now_us + 20_000)
    assert sum(len(fate.got) for fate in seen.fates.values()) < 40 * 20
    world.run(world.now_us + 40_000_000)
    assert sum(len(fate.got) for fate in seen.fates.values()) == 40 * 20
