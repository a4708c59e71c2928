"""CAMCAST on the overlay: what finding others costs, and tables of members that are drawn."""

from collections import Counter
from collections.abc import Callable

import pytest
from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Received, Started, Subscribe
from gossamer.core.topics import Hierarchy, Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.messages import Away
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.rules import tells
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.members import DrawnMembers
from gossamer.protocols.pgrid.messages import Gone, Registration
from gossamer.sim.camcast_checks import astray
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher
from protocols.towns import layer, settle

ON_IT: list[MembershipName] = ["semi-structured", "structured"]
LEVELS: dict[Topic, int] = {".": 6, ".d": 12, ".d.g": 22}
both = pytest.mark.parametrize("membership", ON_IT)


def town_of(
    membership: MembershipName, seed: int = 1, hierarchy: Hierarchy | None = None, params: Params | None = None
) -> Town:
    return Town(
        lambda me: camcast_node(me, seed, hierarchy, params or Params.live(), membership=membership),
        CATALOGUE["camcast"].spoken,
        seed,
    )


def check_all_get_all(town: Town, *publishers: tuple[Peer, Topic]) -> None:
    events = [town.publish(peer, topic) for peer, topic in publishers]
    town.run(3)
    assert town.missing(*events) == []


def until(town: Town, condition: Callable[[], object], at_most: float) -> None:
    assert town.seconds_until(condition, at_most) <= at_most


def until_nobody_is_astray(town: Town, at_most: float = 90) -> None:
    assert town.seconds_until(lambda: not astray(town.world), at_most, step=2) <= at_most, astray(town.world)[:3]


def peer_of(town: Town, topic: Topic, which: int = 0) -> Peer:
    return town.members(topic)[which]


# -- drawn tables ------------------------------------------------------------------------------------------------------

SMALL = Params(small=4)


def tables(town: Town, topic: Topic) -> dict[Peer, list[Peer]]:
    return {peer: [*layer(town.node(peer), DrawnMembers).about(topic)] for peer in town.members(topic)}


def test_a_drawn_table_has_as_many_entries_as_an_event_needs_and_nobody_is_in_none() -> None:
    town = settle(town_of("structured", params=SMALL), {".d": 50}, 60)
    drawn = tables(town, ".d")
    assert {len(peers) for peers in drawn.values()} == {tells(50, SMALL.fanout_extra, SMALL.small)}
    inside = Counter(other for peers in drawn.values() for other in peers)
    assert {*inside} == {*drawn}
    assert max(inside.values()) < 4 * tells(50, SMALL.fanout_extra, SMALL.small)


def test_a_newcomer_gets_events_at_once() -> None:
    town = settle(town_of("structured", params=SMALL), {".d": 40}, 30)
    for peer in range(100, 110):
        town.start(peer, ".d")
        town.run(1)
        check_all_get_all(town, (0, ".d"), (39, ".d"))


class ByKind(Watcher):
    def __init__(self) -> None:
        self.sent_of: Counter[str] = Counter()

    def sent(self, sender: Peer, target: Peer, message: object) -> None:
        self.sent_of[type(message).__struct_config__.tag] += 1  # type: ignore[attr-defined]


def cost_of_joining(membership: MembershipName) -> int:
    """Messages until one that comes last, three empty topics below the next community, has its links."""
    town = settle(town_of(membership), {".": 10, ".a": 20}, 60)
    watcher = ByKind()
    town.world.watch(watcher)
    town.start(100, ".a.b.c.d.e")
    until(town, lambda: not astray(town.world), 30)
    asked = ("pgrid.ask", "pgrid.answer", "search.")
    return sum(count for kind, count in watcher.sent_of.items() if kind.startswith(asked))


@both
def test_three_empty_topics_cost_one_search(membership: MembershipName) -> None:
    assert cost_of_joining(membership) < cost_of_joining("unstructured")


def test_a_large_community_whose_count_differs_a_little_each_time_is_at_rest() -> None:
    node = camcast_node(1, 1, membership="structured")
    node.step(Started((2,), ()), 0)
    node.step(Subscribe(".d"), 0)
    members = node.members
    assert isinstance(members, DrawnMembers)
    for total, changed in ((800, True), (795, False), (803, False), (600, True)):
        members.tables[".d"].changed = False
        lookup = Lookup(("", ".d", 20), lambda found: None)
        lookup.total, lookup.found = total, [Registration(".d", "0", peer, 1) for peer in range(2, 12)]
        members.on_drawn(".d", lookup)
        assert members.tables[".d"].changed == changed, total


@pytest.mark.parametrize("word", [Gone(".d"), Away(".d")], ids=["it left", "an event came in vain"])
def test_who_said_that_it_is_no_member_is_one_again_only_by_what_it_said_later(word: Struct) -> None:
    node = camcast_node(1, 1, membership="structured")
    node.step(Started((2,), ()), 0)
    node.step(Subscribe(".d"), 0)
    members = node.members
    assert isinstance(members, DrawnMembers)

    def drawn(*said: Registration) -> set[Peer]:
        lookup = Lookup(("", ".d", 20), lambda found: None)
        lookup.total, lookup.found = len(said), [*said]
        members.on_drawn(".d", lookup)
        return {*members.about(".d")}

    steady, before = Registration(".d", "0", 6, 1), Registration(".d", "0", 5, 9_000_000)
    assert drawn(steady, before) == {5, 6}
    node.step(Received(5, word), 10_000_000)
    assert {*members.about(".d")} == {6}
    assert drawn(steady, before) == {6}, "somebody had not heard that it left"
    assert drawn(steady, Registration(".d", "0", 5, 11_000_000)) == {5, 6}
