"""Storms: crashes, farewells, changes of mind, false alarms, forged contacts and events, all at once. Whatever happens,
nobody stops looking for a way up, and afterwards every link leads right again. Checkers watch every step."""

import pytest

from gossamer.core.draws import CHURN
from gossamer.core.ids import Peer
from gossamer.core.machine import PeerDown, Received
from gossamer.core.topics import ROOT, Hierarchy, Topic
from gossamer.protocols.camcast.messages import ContactList
from gossamer.protocols.camcast.node import MembershipName
from gossamer.sim.camcast_checks import astray
from protocols.camcast.test_frontier_worlds import SURE, is_at_rest
from protocols.dice import Dice, some
from protocols.towns import camcast, links

STORM: tuple[Topic, ...] = (ROOT, ".d", ".d.g", ".d.g.h", ".x", ".x.y")
BESIDES = {".d.g.h": [".x.y"], ".d.g": [".x"]}


class Storm:
    """Few processes of a chain and what lies beside it. Something happens to somebody all the time; that a process
    without a live link upwards looks for one is checked after every step. In every other storm there are lies about who
    is where; in the others there are events, which would go wherever a lie leads."""

    def __init__(self, seed: int, membership: MembershipName = "unstructured") -> None:
        self.dice, self.lies = Dice(seed, CHURN), seed % 2 == 0
        loss = 0.1 * self.dice.below(2)
        self.town = camcast(seed, hierarchy=Hierarchy(BESIDES), params=SURE, loss=loss, membership=membership)
        self.peers = range(5 + self.dice.below(5))
        for peer in self.peers:
            self.town.start(peer, STORM[self.dice.below(len(STORM))])
            self.town.run(0.2)

    def strike(self) -> None:
        town, dice = self.town, self.dice
        up = [*town.up]
        acts = [
            self.go,
            self.come,
            self.hear_of_failures,
            self.empty_a_community,
            self.change_its_mind,
            self.name_others,
        ]
        acts += [] if self.lies else [self.publish, self.publish, self.publish_from_outside]
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

    def somebody(self) -> Peer:
        return self.dice.one_of(self.town.up)

    def change_its_mind(self) -> None:
        """Somebody leaves a topic, and perhaps another comes to it at once."""
        peer = self.somebody()
        if topics := [*self.town.interests[peer].subscribed]:
            self.town.unsubscribe(peer, topic := self.dice.one_of(topics))
            if self.dice.below(2):
                self.town.subscribe(self.somebody(), topic)

    def publish(self) -> None:
        """Often while somebody leaves the topic."""
        topic = self.dice.one_of(STORM)
        self.town.publish(self.somebody(), topic)
        if self.dice.below(2) and (readers := self.town.members(topic)):
            reader = self.dice.one_of(readers)
            if topic in self.town.interests[reader].subscribed:
                self.town.unsubscribe(reader, topic)

    def publish_from_outside(self) -> None:
        topic = self.dice.one_of(STORM)
        outside = [peer for peer in self.town.up if not self.town.node(peer).interest.takes_part(topic)]
        if outside:
            self.town.publish(self.dice.one_of(outside), topic, join=False)

    def name_others(self) -> None:
        """Somebody is told of other links, though it did not ask: by one of its own, or by anybody."""
        peer = self.somebody()
        mine = [topic for topic in self.town.node(peer).interest.mine() if topic != ROOT]
        if not mine:
            return
        below = self.dice.one_of(mine)
        above = self.dice.one_of(self.town.node(peer).hierarchy.ancestors(below))
        there = self.peers if self.lies else [each for each in self.peers if each in self.town.members(above)]
        named = tuple(each for each in there if self.dice.below(2))
        linked = [each for table in links(self.town, peer).tables(below) for each in table]
        sender = self.dice.one_of(linked if linked and self.dice.below(2) else self.peers)
        if sender != peer:
            self.town.world.give(peer, Received(sender, ContactList(below, above, named)))

    def empty_a_community(self) -> None:
        members = self.town.members(STORM[self.dice.below(len(STORM))])
        if len(members) < len(self.town.up):
            self.town.crash(*members)


@pytest.mark.parametrize("seed", some(1_000, 50))
def test_no_search_stalls_whatever_happens(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(12):
        storm.strike()


@pytest.mark.parametrize("membership", ["semi-structured", "structured"])
@pytest.mark.parametrize("seed", some(200, 10))
def test_no_search_in_an_overlay_stalls_either(membership: MembershipName, seed: int) -> None:
    storm = Storm(seed, membership)
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
