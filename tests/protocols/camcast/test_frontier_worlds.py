"""Links in worlds that change: whatever the hierarchy, wherever it has holes, whoever comes and goes, events find every
community above, nobody stops looking for a way up, and nobody waits without need. Checkers watch every step."""

from collections.abc import Callable, Sequence

import pytest

from gossamer.core.draws import CHURN, WORKLOAD, chance, distinct, draw, fold, upper_pick
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import PeerDown
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.protocols.camcast.params import Params
from gossamer.sim.camcast_checks import astray
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from protocols.towns import camcast

SURE = Params(electors=1e9, targets=3.0, links=3, fanout_extra=50.0)
"p_sel = 1, and everybody known is told."
LATENCY_S = 0.02
STEADY = Latency(median_us=20_000)
RETURNS_S = 2.0
"How soon a sole subscriber that comes back gets events again."


def some(full: int, quick: int) -> list[object]:
    """Seeds: a few in every run, all in the long ones."""
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.slow) for seed in range(full)]


class Dice:
    """Draws one after the other."""

    def __init__(self, seed: int, why: int = WORKLOAD) -> None:
        self.key, self.count = fold(fold(seed, why), 77), 0

    def below(self, n: int) -> int:
        self.count += 1
        return int(upper_pick(draw(self.key, self.count), n))

    def share(self) -> float:
        self.count += 1
        return float(chance(self.key, self.count))

    def one_of(self, choices: Sequence[object]) -> object:
        return choices[self.below(len(choices))]


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
        published = [town.publish(town.members(topic)[0], topic) for topic in self.topics if town.members(topic)]
        town.run(2)
        assert town.missing(*published) == []


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
    town.restart(reader, memory=dice.below(2) == 1)
    published = publish_until(town, publisher, ".a.b", RETURNS_S)
    later = publish_until(town, publisher, ".a.b", 1)
    town.run(1)
    came = [town.fate(event).published_us + town.fate(event).got[reader].after_us for event in published
            if reader in town.fate(event).got]  # fmt: skip
    assert came, "nothing came"
    assert town.missing(*later) == []


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


# -- no search stalls -----------------------------------------------------------------------------------------------


STORM: tuple[Topic, ...] = (ROOT, ".d", ".d.g", ".d.g.h", ".x", ".x.y")
BESIDES = {".d.g.h": [".x.y"], ".d.g": [".x"]}


class Storm:
    """Few processes of a chain and what lies beside it. Something happens to somebody all the time; that a process
    without a live link upwards looks for one is checked after every step."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed, CHURN)
        self.town = camcast(seed, hierarchy=Hierarchy(BESIDES), params=SURE, loss=0.1 * self.dice.below(2))
        self.peers = range(5 + self.dice.below(5))
        for peer in self.peers:
            self.town.start(peer, STORM[self.dice.below(len(STORM))])
            self.town.run(0.2)

    def strike(self) -> None:
        town, dice = self.town, self.dice
        up = [*town.up]
        acts: list[Callable[[], object]] = [self.go, self.come, self.hear_of_failures, self.empty_a_community]
        if len(up) < 2:
            acts = [self.come]
        acts[dice.below(len(acts))]()
        town.run(dice.share() * (3 if dice.below(4) else 0.05))

    def go(self) -> None:
        peer = self.town.up[self.dice.below(len(self.town.up))]
        (self.town.crash if self.dice.below(2) else self.town.leave)(peer)

    def come(self) -> None:
        down = [peer for peer in self.peers if peer not in self.town.up]
        if down:
            self.town.restart(down[self.dice.below(len(down))], memory=bool(self.dice.below(2)))
        else:
            self.town.subscribe(self.town.up[self.dice.below(len(self.town.up))], STORM[self.dice.below(len(STORM))])

    def hear_of_failures(self) -> None:
        """A transport gives peers up, rightly or not."""
        peer = self.town.up[self.dice.below(len(self.town.up))]
        for other in self.peers:
            if other != peer and self.dice.below(2):
                self.town.world.give(peer, PeerDown(other))

    def empty_a_community(self) -> None:
        members = self.town.members(STORM[self.dice.below(len(STORM))])
        if len(members) < len(self.town.up):
            self.town.crash(*members)


@pytest.mark.parametrize("seed", some(1_000, 50))
def test_no_search_stalls_whatever_happens(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(12):
        storm.strike()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_after_a_storm_all_links_lead_right_again(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(12):
        storm.strike()
    for peer in storm.peers:
        if peer not in storm.town.up:
            storm.town.restart(peer)
    assert storm.town.seconds_until(lambda: is_at_rest(storm.town), 120, step=2.0) <= 120, astray(storm.town.world)[:3]
