"""When living participants gossip: each at moments of its own, so that a network does not send in bursts."""

from itertools import pairwise

from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Fired, Given, Publish, SetTimer, Started, Tune
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols.hpmcast.addresses import address_of
from gossamer.protocols.hpmcast.levels import GossipStep
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params
from gossamer.sim.world import Watcher
from protocols.hpmcast.towns import HierarchyTown

STEP_US = 100_000
BRANCHING = (4, 4, 4)


def first_step_us(me: Peer, now_us: int = 0, seed: int = 1, params: Params | None = None) -> int:
    """When a participant that publishes now gossips for the first time."""
    node = hpmcast_node(me, seed, address_of(me, BRANCHING), BRANCHING, params=params or Params(step_us=STEP_US))
    node.step(Started(), now_us)
    return now_us + after_us(node, now_us)


def after_us(node: Stack, now_us: int, number: int = 0) -> int:
    effects = node.step(Publish(Event(EventId(node.me, 0, number), ".e")), now_us)
    (after,) = (each.after_us for each in effects if isinstance(each, SetTimer) and isinstance(each.timer, GossipStep))
    return after


def test_participants_gossip_at_moments_spread_over_the_whole_interval() -> None:
    phases = [first_step_us(me) % STEP_US for me in range(64)]
    tenths = [sum(10 * phase // STEP_US == tenth for phase in phases) for tenth in range(10)]
    assert min(tenths) > 0
    assert max(tenths) < 64 / 4


def test_a_participant_keeps_its_moment_whenever_it_begins() -> None:
    began = range(0, 3 * STEP_US, 12_345)
    assert len({first_step_us(7, now_us) % STEP_US for now_us in began}) == 1
    assert all(0 < first_step_us(7, now_us) - now_us <= STEP_US for now_us in began)


def test_another_life_has_another_moment() -> None:
    assert first_step_us(7, seed=1) % STEP_US != first_step_us(7, seed=2) % STEP_US


def test_with_another_interval_the_moment_is_the_same_part_of_it() -> None:
    node = hpmcast_node(7, 1, address_of(7, BRANCHING), BRANCHING, params=Params(step_us=STEP_US))
    node.step(Started(), 0)
    before = after_us(node, 0) / STEP_US
    node.step(Fired(GossipStep()), round(before * STEP_US))
    node.step(Tune(".", Params(step_us=4 * STEP_US)), 8 * STEP_US)
    assert abs(after_us(node, 8 * STEP_US, 1) / (4 * STEP_US) - before) < 1e-4


class Steps(Watcher):
    def __init__(self) -> None:
        self.at_us: dict[Peer, list[int]] = {}

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if isinstance(given, Fired) and isinstance(given.timer, GossipStep):
            self.at_us.setdefault(peer, []).append(now_us)


def test_a_network_does_not_gossip_in_bursts() -> None:
    """Everybody has many events at the same time: in no hundredth of an interval a tenth of all act."""
    town = HierarchyTown(range(64), lambda peer: [Pattern(".e")], BRANCHING, params=Params(step_us=STEP_US))
    town.run(12)
    town.world.watch(steps := Steps())
    for number in range(8):
        town.publish(8 * number, ".e")
    town.run(3)
    every = sorted(at for times in steps.at_us.values() for at in times)
    assert len(steps.at_us) > 50
    assert all(later - sooner == STEP_US for times in steps.at_us.values() for sooner, later in pairwise(times))
    crowded = max(sum(at // 1_000 == ms for at in every) for ms in {at // 1_000 for at in every})
    assert crowded <= 0.1 * len(steps.at_us)
