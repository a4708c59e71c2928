"""Where more patterns are wanted than dispatchers tell each other, publishers cannot count by them: readers are told
so, and what is lost is found by comparing ids."""

from collections.abc import Sequence

import pytest

from composing import use
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    Given,
    Message,
    Missing,
    Note,
    Publish,
    Send,
    Subscribe,
    Unsubscribe,
)
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.tagging import Tagger
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.dispatch.messages import Route
from gossamer.protocols.dispatch.params import Params as DispatchParams
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.messages import Listed
from gossamer.protocols.recovery.params import Method, Params
from gossamer.sim.checked import checked
from gossamer.sim.chronicle import Chronicle
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import World
from protocols.dispatch.networks import ByHand

METHODS: tuple[Method, ...] = ("push", "subscriber-pull", "publisher-pull", "combined")
PUBLISHER, FULL = 0, 2
LINKS = [(PUBLISHER, 1), (1, FULL), (FULL, 3), (FULL, 4), (3, 5), (3, 6), (4, 7), (4, 8)]
LEAVES = (5, 6, 7, 8)
ANY = {f"p{number}": True for number in range(16)}


class Losing(Network):
    """Some events do not pass one link."""

    def __init__(self, link: tuple[Peer, Peer], lost: Sequence[int]) -> None:
        super().__init__(1, Latency())
        self.link, self.lost = link, lost

    def transit(self, sender: Peer, target: Peer, message: Message) -> list[int]:
        lost = type(message) is Route and message.carried.event.id.sequence in self.lost
        return [] if lost and (sender, target) == self.link else super().transit(sender, target, message)


class Seeing(Chronicle):
    """Everybody wants everything here."""

    def __init__(self, world: World) -> None:
        super().__init__(world, lambda peer, event: True)
        self.uncounted: list[tuple[Peer, Pattern]] = []
        self.refused: list[Peer] = []
        self.named: list[int] = []
        "Events in each list."

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        super().stepped(peer, given, effects, now_us)
        self.uncounted += [(peer, e.pattern) for e in effects if type(e) is Missing and not e.counted]
        self.named += [len(e.message.ids) for e in effects if type(e) is Send and type(e.message) is Listed]
        self.refused += [peer for e in effects if type(e) is Note and e.detail == "too many patterns"]


class Tree:
    """Each leaf wants four patterns; the dispatcher above all of them would have to tell sixteen. The publisher reads
    everything, so that whoever asks subscribers has one to ask."""

    def __init__(
        self,
        params: Params,
        patterns_max: int,
        link: tuple[Peer, Peer] = (PUBLISHER, PUBLISHER),
        lost: Sequence[int] = (2, 3),
    ) -> None:
        self.world = World(lambda me: self.make(me, params, patterns_max), Losing(link, lost))
        self.seeing, self.tagger = Seeing(self.world), Tagger()
        checked(self.world, self.seeing)
        for who in range(9):
            self.world.start(who)
        self.world.give(PUBLISHER, Subscribe("."))
        for leaf, first in zip(LEAVES, range(0, 16, 4)):
            for number in range(first, first + 4):
                self.world.give(leaf, Subscribe(".e", f"p{number}"))
        for pair in LINKS:
            for me, other in (pair, pair[::-1]):
                overlay = self.dispatch(me).overlay
                assert isinstance(overlay, ByHand)
                overlay.near[other] = None
                self.dispatch(me).links_changed(".")
                self.world.give(me, Unsubscribe(".never"))
        self.run(3)

    def make(self, me: Peer, params: Params, patterns_max: int) -> Stack:
        node = Stack(me, 1, Hierarchy(), Seen())
        spread = Dispatch(node, DispatchParams(patterns_max=patterns_max), ByHand())
        recover = Recovery(node, spread, lambda topic: params)
        return use(node, spread, recover, spread=spread, recover=recover)

    def dispatch(self, who: Peer) -> Dispatch:
        node = self.world.machines[who]
        assert isinstance(node, Stack)
        assert isinstance(node.spread, Dispatch)
        return node.spread

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * SECOND_US))

    def publish(self, *sequences: int, every_s: float = 0.1) -> None:
        for sequence in sequences:
            tags = self.tagger.tags(self.dispatch(PUBLISHER).node.patterns(".e", ANY), self.world.now_us)
            now_us = self.world.now_us
            event = Event(EventId(PUBLISHER, 0, sequence), ".e", attributes=dict(ANY), published_us=now_us, tags=tags)
            self.seeing.publish(event, LEAVES)
            self.world.give(PUBLISHER, Publish(event))
            self.run(every_s)

    def missing(self) -> list[tuple[int, Peer]]:
        return [(event_id.sequence, leaf) for leaf, event_id in self.seeing.missing()]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", [(0, 1), (1, 2), (2, 4), (4, 8)])
def test_what_is_lost_beyond_the_bound_is_found_wherever_it_was_lost(method: Method, link: tuple[Peer, Peer]) -> None:
    tree = Tree(Params(method=method), 13, link)
    assert tree.dispatch(FULL).subscriptions.full
    tree.publish(1, 2, 3, 4, 5)
    tree.run(4)
    assert tree.missing() == []


def test_readers_and_traces_are_told_what_is_not_counted_and_only_once() -> None:
    tree = Tree(Params(), 13)
    assert tree.seeing.refused == [FULL]
    tree.publish(1, 2, 3, 4, 5)
    assert sorted(tree.seeing.uncounted) == [
        (leaf, Pattern(".e", f"p{number}"))
        for leaf, first in zip(LEAVES, range(0, 16, 4))
        for number in sorted(range(first, first + 4), key=str)
    ]


def test_within_the_bound_nobody_compares_ids() -> None:
    tree = Tree(Params(), 20, (4, 8))
    tree.publish(1, 2, 3, 4, 5)
    tree.run(4)
    assert tree.missing() == []
    assert tree.seeing.uncounted == tree.seeing.refused == []
    assert "Listed" not in tree.seeing.sends


def test_who_tells_all_patterns_again_counts_by_them_again() -> None:
    tree = Tree(Params(), 13)
    for number in range(8):
        tree.world.give(5 + number // 4, Unsubscribe(".e", f"p{number}"))
    tree.run(3)
    assert not tree.dispatch(FULL).subscriptions.full
    tree.publish(1, 2)
    tree.run(3)
    assert "Listed" not in tree.seeing.sends


def test_lists_end_with_the_youth_of_events() -> None:
    tree = Tree(Params(expiry_us=SECOND_US), 13)
    tree.publish(1, 2, 3, 4, 5)
    tree.run(10)
    lists = tree.seeing.sends["Listed"]
    assert lists > 0
    tree.run(60)
    assert tree.seeing.sends["Listed"] == lists


@pytest.fixture
def short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.protocols.recovery.listing.DIGEST_MAX", 4)


@pytest.mark.usefixtures("short_lists")
@pytest.mark.parametrize("params", [Params(), Params.live()], ids=["paper", "live"])
def test_more_lost_events_than_a_list_may_name_are_found_list_by_list(params: Params) -> None:
    tree = Tree(params, 13, (4, 8), lost=range(2, 21))
    tree.publish(*range(1, 22), every_s=0)
    tree.run(4)
    assert tree.missing() == []
    assert max(tree.seeing.named) == 4
