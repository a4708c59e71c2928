"""Links in worlds that change: whatever the hierarchy, wherever it has holes, whoever comes and goes, events find every
community above, nobody stops looking for a way up, and nobody waits without need. Checkers watch every step."""

from collections.abc import Mapping

import pytest

from gossamer.core.draws import distinct
from gossamer.core.ids import EventId, Peer
from gossamer.core.setting import Publication
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.lab.spec import Head
from gossamer.lab.studies.communities.tables import Communities
from gossamer.protocols.camcast import kernel
from gossamer.protocols.camcast.params import Params
from gossamer.sim.camcast_checks import astray
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from protocols.dice import Dice, some
from protocols.towns import camcast, links

SURE = Params(electors=1e9, targets=3.0, links=3, fanout_extra=50.0)
"p_sel = 1, and everybody known is told."
LATENCY_S = 0.02
STEADY = Latency(median_us=20_000)
RETURNS_S = 2.0
"How soon a sole subscriber that comes back gets events again."


# -- any hierarchy, with holes --------------------------------------------------------------------------------------


def drawn_hierarchy(dice: Dice) -> tuple[Hierarchy, list[Topic]]:
    """Up to 30 topics; each has a parent by its name, and up to two more among those named before it."""
    topics: list[Topic] = [ROOT]
    further: dict[Topic, list[Topic]] = {}
    for number in range(4 + dice.below(26)):
        above = topics[dice.below(len(topics))]
        name = f"{above if above != ROOT else ''}.{number}"
        more = [topics[dice.below(len(topics))] for _ in range(dice.below(3))]
        if more:
            further[name] = more
        topics.append(name)
    return Hierarchy(further), topics


def kernel_links(hierarchy: Hierarchy, sizes: Mapping[Topic, int]) -> dict[Topic, set[Topic]]:
    """Where the tables of the kernel lead, given how many processes each topic has."""
    topics = {name: {"size": size, "parents": [*hierarchy.further.get(name, ())]} for name, size in sizes.items()}
    home = next(name for name, size in sizes.items() if size)
    file = {"topics": topics, "publish": {"topic": home}}
    setting = Communities.read(file, Head(name="links", protocol="camcast")).setting()
    arrays, names = kernel.tables(setting, Publication(0), False), [each.topic for each in setting.communities]
    first = arrays.supers_first
    return {
        name: {names[above] for above in arrays.supers[first[index] : first[index + 1]]}
        for index, name in enumerate(names)
    }


def is_at_rest(town: Town) -> bool:
    """Whether everybody has found its place, and its way up."""
    nodes = [town.node(peer) for peer in town.up]
    return all(node.spread.has_place(topic) for node in nodes for topic in node.interest.mine()) and not astray(
        town.world
    )


class Changing:
    """A town whose communities appear and vanish. Half of the topics have nobody."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.hierarchy, self.topics = drawn_hierarchy(self.dice)
        self.town = camcast(seed, hierarchy=self.hierarchy, params=SURE)
        self.next: Peer = 0
        order = distinct(self.dice.key, len(self.topics), len(self.topics))
        for i in order[: (len(order) + 1) // 2]:
            self.appear(self.topics[i])

    def appear(self, topic: Topic) -> None:
        """One to three processes join, new ones or such as have another topic already."""
        for _ in range(1 + self.dice.below(3)):
            if self.town.up and self.dice.share() < 0.3:
                self.town.subscribe(self.town.up[self.dice.below(len(self.town.up))], topic)
            else:
                self.town.start(self.next, topic)
                self.next += 1

    def vanish(self, topic: Topic) -> None:
        """Everybody in a community unsubscribes, leaves or crashes."""
        for peer in self.town.members(topic):
            way = self.dice.below(3)
            if way == 0 and len(self.town.interests[peer].subscribed) > 1:
                self.town.unsubscribe(peer, topic)
            else:
                (self.town.leave if way == 1 else self.town.crash)(peer)

    def change(self) -> None:
        """As many communities appear as vanish, one after the other."""
        full = [topic for topic in self.topics if self.town.members(topic)]
        empty = [topic for topic in self.topics if topic not in full]
        for _ in range(1 + len(self.topics) // 10):
            if full:
                self.vanish(full.pop(self.dice.below(len(full))))
                self.town.run(self.dice.share())
            if empty:
                self.appear(empty.pop(self.dice.below(len(empty))))
                self.town.run(self.dice.share())

    def check(self) -> None:
        """At rest, links lead where the kernel's do, and an event of every community reaches all that include it."""
        town = self.town
        assert town.seconds_until(lambda: is_at_rest(town), 120, step=2.0) <= 120, astray(town.world)[:3]
        self.compare()
        published = [town.publish(town.members(topic)[0], topic) for topic in self.topics if town.members(topic)]
        town.run(2)
        assert town.missing(*published) == []

    def compare(self) -> None:
        """Who links where: as in the kernel. There nobody is in two communities; here somebody may be the only one in a
        topic above, and so has its own way up."""
        town = self.town
        members = {topic: town.members(topic) for topic in self.topics}
        for topic, should in kernel_links(
            self.hierarchy, {name: len(there) for name, there in members.items()}
        ).items():
            for peer in members[topic]:
                if all(members[above] != [peer] for above in should):
                    assert {*links(town, peer).leads(topic)} == should, (peer, topic)


@pytest.mark.parametrize("seed", some(200, 3))
def test_at_rest_every_event_reaches_every_community_above_whatever_the_hierarchy(seed: int) -> None:
    changing = Changing(seed)
    changing.check()
    for _ in range(2):
        changing.change()
        changing.check()


def test_two_empty_topics_on_the_way_hide_no_parent_of_the_upper_one() -> None:
    town = camcast(1, hierarchy=Hierarchy({".x.b": [".d"]}), params=Params.live())
    for peer, topic in enumerate([".x", ".x", ".d", ".d", ".x.b.a.c", ".x.b.a.c"]):
        town.start(peer, topic)
    town.run(40)
    event = town.publish(5, ".x.b.a.c")
    town.run(1)
    assert sorted(town.delivered(event)) == [0, 1, 2, 3, 4, 5]


# -- who comes back -------------------------------------------------------------------------------------------------


def publish_until(town: Town, peer: Peer, topic: Topic, seconds: float) -> list[EventId]:
    """Ten events a second."""
    published = []
    for _ in range(round(10 * seconds)):
        published.append(town.publish(peer, topic))
        town.run(0.1)
    return published


def comes_back(town: Town, reader: Peer, publisher: Peer, memory: bool, at_most: float = RETURNS_S) -> float:
    """How long after its return the first event came to a reader; infinite if that took too long."""
    began_us = town.world.now_us
    town.restart(reader, memory=memory)
    came: list[float] = []
    for event in publish_until(town, publisher, ".a.b", at_most):
        if (got := town.fate(event).got.get(reader)) is not None:
            came.append((town.fate(event).published_us + got.after_us - began_us) / 1e6)
    return min(came, default=float("inf"))


def crowded(seed: int, strangers: int = 60) -> Town:
    """A town in which many have nothing to do with `.a`."""
    town = camcast(seed)
    for peer in range(100, 100 + strangers):
        town.start(peer, f".z{peer % 7}")
    return town


@pytest.mark.parametrize("goes", ["crash", "leave"])
@pytest.mark.parametrize("seed", some(200, 5))
def test_a_sole_subscriber_that_comes_back_under_its_name_gets_events_again(seed: int, goes: str) -> None:
    """Whoever else is there, however long it was away, with a memory or without."""
    dice = Dice(seed)
    town = camcast(seed)
    town.start(0)
    reader, publisher = 1, 2
    for peer, topic in ((reader, ".a"), (publisher, ".a.b"), *((3 + i, ".z") for i in range(dice.below(4)))):
        town.start(peer, topic)
    town.run(8)
    assert publish_until(town, publisher, ".a.b", 0.2)
    town.run(1)
    assert town.missing() == []
    getattr(town, goes)(reader)
    for _ in range(1 + dice.below(60)):
        town.run(1)
        town.publish(publisher, ".a.b")
    assert comes_back(town, reader, publisher, memory=dice.below(2) == 1) <= RETURNS_S
    later = publish_until(town, publisher, ".a.b", 1)
    town.run(1)
    assert town.missing(*later) == []


@pytest.mark.parametrize("seed", some(50, 1))
def test_who_comes_back_is_found_in_a_crowd_too(seed: int) -> None:
    dice = Dice(seed)
    town = crowded(seed)
    reader, publisher = 1, 2
    town.start(reader, ".a")
    town.start(publisher, ".a.b")
    town.run(8)
    town.crash(reader)
    for _ in range(5 + dice.below(25)):
        town.run(1)
        town.publish(publisher, ".a.b")
    assert comes_back(town, reader, publisher, memory=False) <= RETURNS_S


# -- nobody waits without need --------------------------------------------------------------------------------------


def orders(seed: int, *readers: Peer) -> Town:
    """Readers of `.orders`, and process 9, which publishes below it."""
    town = camcast(seed, latency=STEADY)
    for peer in (*readers, 9):
        town.start(peer, *([".orders"] if peer in readers else []))
        town.run(0.5)
    town.publish(9, ".orders.1")
    town.run(15)
    assert town.missing() == []
    return town


def after_s(town: Town, event: EventId) -> float:
    """How long it took until everybody had it; infinite if somebody has not."""
    fate = town.fate(event)
    if town.missing(event):
        return float("inf")
    return max(got.after_us for got in fate.got.values()) / 1e6


@pytest.mark.parametrize("readers", [(1,), (1, 2, 3), (1, 2, 3, 9), (9,)], ids=str)
def test_the_first_event_on_a_new_topic_climbs_at_once_to_readers_that_are_linked(readers: tuple[Peer, ...]) -> None:
    """Two round trips, whether the reader is elsewhere or on the publisher's own node."""
    for seed in range(5):
        town = orders(seed, *readers)
        took = []
        for number in range(2, 6):
            event = town.publish(9, f".orders.{number}")
            town.run(4 * LATENCY_S)
            took.append(after_s(town, event))
        assert max(took) <= 4 * LATENCY_S, (seed, took)


@pytest.mark.parametrize("seed", some(100, 5))
def test_a_late_subscriber_of_a_super_topic_gets_what_is_published_a_second_after_it_joined(seed: int) -> None:
    """The publishers have looked in vain for a minute, and ask ever more rarely."""
    dice = Dice(seed)
    town = camcast(seed)
    for peer in range(1 + dice.below(3)):
        town.start(peer, ".a.b")
    for peer in range(10, 10 + dice.below(4)):
        town.start(peer, ".z")
    town.run(60 + dice.below(30))
    late = 50
    town.start(late, ".a")
    assert town.seconds_until(lambda: town.node(late).spread.has_place(".a"), 10, step=0.02) < 10
    town.run(1)
    event = town.publish(0, ".a.b")
    town.run(1)
    assert town.missing(event) == []


@pytest.mark.parametrize("seed", some(50, 0))
def test_a_late_subscriber_is_found_in_a_crowd_too(seed: int) -> None:
    dice = Dice(seed)
    town = crowded(seed)
    town.start(0, ".a.b")
    town.run(30 + dice.below(10))
    late = 50
    town.start(late, ".a")
    assert town.seconds_until(lambda: town.node(late).spread.has_place(".a"), 10, step=0.02) < 10
    town.run(1)
    event = town.publish(0, ".a.b")
    town.run(1)
    assert town.missing(event) == []
