"""The tree that makes itself: one node's decisions, then many nodes, watched at every step."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Effect, Fired, Leave, PeerDown, Received, Send, SetTimer, Started
from gossamer.parts.standing import OTHERS_MAX
from gossamer.parts.tree import EPOCH_MAX, Patience, Tick
from gossamer.sim.world import World
from parts.trees import (
    CODEC,
    PACE,
    TOPIC,
    NoCircle,
    Offer,
    Part,
    is_tree,
    links_of,
    planted,
    seconds_to_rest,
    tree_of,
    world_of,
)

ME: Peer = 10
NEAR = (2, 3, 4, 5)


class One:
    """Node 10, which knows four others."""

    def __init__(self, near: Sequence[Peer] = NEAR) -> None:
        self.told: list[Sequence[Peer]] = []
        self.node = planted(ME, near, told=self.told)
        self.tree = tree_of(self.node)
        self.now_us = 0
        self.timers: list[SetTimer] = []
        self.take(Started())

    def take(self, what: Any) -> list[Effect]:
        effects = self.node.step(what, self.now_us)
        self.timers += [effect for effect in effects if type(effect) is SetTimer]
        return effects

    def hear(self, peer: Peer, epoch: int, root: Peer, sequence: int, parent: Peer | None = None, life: int = 1,
             asks: bool = False) -> list[Effect]:  # fmt: skip
        return self.take(Received(peer, Offer(TOPIC, epoch, root, sequence, life, parent, asks)))

    def fire(self, kind: type[Struct]) -> list[Effect]:
        timer = next(each for each in reversed(self.timers) if type(each.timer) is kind)
        self.timers = [each for each in self.timers if each is not timer]
        self.now_us += timer.after_us
        return self.take(Fired(timer.timer))

    @property
    def parent(self) -> Peer | None:
        return self.tree.stands[TOPIC].parent

    @property
    def links(self) -> Sequence[Peer]:
        return self.tree.links(TOPIC)


def offers(effects: list[Effect]) -> dict[Peer, Offer]:
    return {
        peer: effect.message
        for effect in effects
        if type(effect) is Send and isinstance(effect.message, Offer)
        for peer in effect.peers
    }


def test_a_newcomer_asks_everybody_it_knows_and_hangs_itself_on_the_first_that_answers() -> None:
    one = One()
    asked = offers(one.fire(Tick))
    assert sorted(asked) == [2, 3, 4, 5]
    assert all(offer.asks and offer.parent is None for offer in asked.values())
    assert not one.tree.ready(TOPIC)
    said = offers(one.hear(3, 1, 1, 7))
    assert sorted(said) == [2, 3, 4, 5]
    assert all((offer.epoch, offer.root, offer.sequence, offer.parent) == (1, 1, 7, 3) for offer in said.values())
    assert one.links == (3,)
    assert one.tree.ready(TOPIC)


def test_a_beat_is_offered_on_only_when_the_parent_brings_it() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    asked = offers(one.hear(4, 1, 1, 8))
    assert [*asked] == [3]  # the parent, which lags, is asked for it
    assert asked[3].asks
    assert offers(one.hear(5, 1, 1, 9)) == {}  # once
    assert {offer.sequence for offer in offers(one.hear(3, 1, 1, 9)).values()} == {9}
    assert one.parent == 3


def test_a_parent_that_lags_for_too_long_is_left_and_hears_of_it() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(4, 1, 1, 8)
    one.hear(5, 1, 1, 9)
    said = offers(one.fire(Patience))
    assert one.parent == 5
    assert said[3].parent == 5
    assert one.told[-1] == (5,)


def test_a_parent_that_caught_up_is_kept() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(4, 1, 1, 8)
    one.hear(3, 1, 1, 8)
    assert one.fire(Patience) == []
    assert one.parent == 3


def test_nobody_behind_or_level_is_ever_a_parent() -> None:
    one = One()
    one.hear(3, 2, 1, 7)
    one.take(PeerDown(3))
    for epoch, root, sequence in [(2, 1, 7), (2, 1, 6), (2, 5, 9), (1, 0, 99)]:
        one.hear(4, epoch, root, sequence)
        assert one.parent is None
    one.hear(5, 2, 1, 8)
    assert one.parent == 5


@pytest.mark.parametrize(("epoch", "root"), [(2, 50), (1, 0)])
def test_a_later_epoch_or_a_smaller_root_is_followed_at_once(epoch: int, root: Peer) -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(4, epoch, root, 1)
    assert one.parent == 4


def test_an_orphan_takes_whoever_is_ahead_or_asks_everybody() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(4, 1, 1, 8)
    one.take(PeerDown(3))
    assert one.parent == 4
    asked = offers(one.take(Received(4, Part(TOPIC))))
    assert one.parent is None
    assert sorted(asked) == [2, 3, 4, 5]
    assert all(offer.asks for offer in asked.values())


def test_children_are_those_whose_offers_say_so_until_they_say_otherwise() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(20, 1, 1, 6, parent=ME)
    assert one.links == (3, 20)
    one.hear(20, 1, 1, 5, parent=4)  # this one was overtaken on its way
    assert one.links == (3, 20)
    one.hear(20, 1, 1, 7, parent=4)
    assert one.links == (3,)
    assert one.told == [(3,), (3, 20), (3,)]


def test_a_silent_child_is_dropped() -> None:
    one = One()
    one.hear(20, 1, 1, 6, parent=ME)
    one.hear(3, 1, 1, 7)
    for beat in range(PACE.forget_beats + 1):
        one.hear(3, 1, 1, 8 + beat)
        assert 20 in one.links
        one.fire(Tick)
    assert one.links == (3,)


def test_silence_of_the_root_makes_a_new_one_of_the_next_epoch() -> None:
    one = One()
    one.hear(3, 4, 1, 7)
    beats = 0
    while one.parent is not None or not one.tree.ready(TOPIC):
        said = offers(one.fire(Tick))
        beats += 1
    assert PACE.silent_beats <= beats <= 2 * PACE.silent_beats + 1
    assert {(offer.epoch, offer.root, offer.parent) for offer in said.values()} == {(5, ME, None)}
    before = next(iter(said.values())).sequence
    assert {offer.sequence for offer in offers(one.fire(Tick)).values()} == {before + 1}


def test_a_root_gives_way_to_a_smaller_one_of_its_epoch_and_not_to_a_larger_one() -> None:
    one = One()
    while not one.tree.ready(TOPIC):
        one.fire(Tick)
    one.hear(3, 1, 11, 50)
    assert one.parent is None
    one.hear(4, 1, 9, 1)
    assert one.parent == 4


def test_beats_of_a_former_life_of_ours_are_beaten_by_a_new_epoch() -> None:
    one = One()
    said = offers(one.hear(3, 6, ME, 40))
    assert {(offer.epoch, offer.root) for offer in said.values()} == {(7, ME)}


def test_a_parent_that_started_again_is_none() -> None:
    one = One()
    one.hear(3, 1, 1, 7, life=5)
    one.hear(3, 0, 0, 0, life=6, asks=True)
    assert one.parent is None
    one.hear(3, 1, 1, 9, life=5)  # late, of the former life
    assert one.parent is None


def test_who_asks_and_is_behind_is_answered_a_limited_number_of_times() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    answers = [offers(one.hear(20, 0, 0, 0, asks=True)) for _ in range(100)]
    assert answers[0][20].sequence == 7
    assert 0 < sum(map(bool, answers)) < 100
    assert offers(one.hear(21, 1, 1, 7, asks=True)) == {}


def test_a_leaver_says_so_to_everybody() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(20, 1, 1, 6, parent=ME)
    (farewell,) = [effect for effect in one.take(Leave()) if type(effect) is Send]
    assert type(farewell.message) is Part
    assert sorted(farewell.peers) == [2, 3, 4, 5, 20]
    assert one.told[-1] == ()


def test_who_is_in_no_tree_says_so_to_its_would_be_children() -> None:
    one = One()
    one.take(Leave())
    (answer,) = one.hear(20, 1, 1, 6, parent=ME)
    assert isinstance(answer, Send)
    assert (answer.peers, answer.message) == ((20,), Part(TOPIC))
    assert one.hear(21, 1, 1, 6) == []


def test_peers_without_end_are_not_remembered_without_end_and_push_no_neighbour_out() -> None:
    one = One()
    one.hear(3, 1, 1, 7)
    one.hear(20, 1, 1, 6, parent=ME)
    for peer in range(1000, 1000 + 2 * OTHERS_MAX):
        one.hear(peer, 1, 1, 6)
    assert len(one.tree.stands[TOPIC].others) == OTHERS_MAX
    assert one.links == (3, 20)


def test_numbers_no_epoch_can_have_move_nothing() -> None:
    one = One()
    one.hear(3, EPOCH_MAX + 1, 1, 7, asks=True)
    one.hear(3, 0, 1, 7)
    assert one.parent is None
    one.hear(3, EPOCH_MAX, ME, 7)
    assert one.tree.stands[TOPIC].rank[0] == EPOCH_MAX


# Many nodes


def ring(size: int, chords: Sequence[tuple[int, int]]) -> dict[Peer, list[Peer]]:
    """A connected overlay that stays connected when one node is gone."""
    near: dict[Peer, dict[Peer, None]] = {peer: {} for peer in range(size)}
    for a, b in [*((i, (i + 1) % size) for i in range(size)), *((i, (i + 2) % size) for i in range(size)), *chords]:
        if a != b:
            near[a][b] = near[b][a] = None
    return {peer: [*others] for peer, others in near.items()}


def grown(near: dict[Peer, list[Peer]], seed: int, loss: float) -> tuple[World, NoCircle]:
    world = world_of(lambda me: planted(me, near[me], seed), CODEC, seed, loss)
    world.watch(watch := NoCircle(world))
    for peer in near:
        world.start(peer)
    return world, watch


FAULT = st.tuples(st.floats(0, 8), st.integers(0, 13), st.sampled_from(["crash", "leave", "start"]))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 1000),
    size=st.integers(4, 14),
    chords=st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=10),
    loss=st.sampled_from([0.0, 0.1, 0.3]),
    faults=st.lists(FAULT, max_size=12),
)
def test_whatever_happens_there_is_never_a_circle_and_at_rest_a_tree(
    seed: int, size: int, chords: list[tuple[int, int]], loss: float, faults: list[tuple[float, int, str]]
) -> None:
    near = ring(size, [(a % size, b % size) for a, b in chords])
    world, _ = grown(near, seed, loss)

    def happen(peer: Peer, what: str) -> None:
        if what == "start":
            world.start(peer)  # again, in a new life, whatever it was
        elif what == "crash":
            world.crash(peer)
        else:
            world.leave(peer)

    for after, peer, what in faults:
        world.at(round(after * SECOND_US), lambda peer=peer % size, what=what: happen(peer, what))
    world.run(10 * SECOND_US)
    for peer in near:  # all are back: the overlay is connected
        if peer not in world.up:
            world.start(peer)
    assert seconds_to_rest(world, 20) <= 20
    roots = {tree_of(machine).stands[TOPIC].rank[:2] for machine in world.machines.values()}
    assert len(roots) == 1


def test_a_line_of_nodes_becomes_that_line() -> None:
    near = {peer: [other for other in (peer - 1, peer + 1) if 0 <= other < 12] for peer in range(12)}
    world, _ = grown(near, seed=3, loss=0.0)
    assert seconds_to_rest(world, 10) <= 10
    assert {peer: sorted(links) for peer, links in links_of(world).items()} == near


def test_at_rest_beats_change_no_parent() -> None:
    world, watch = grown(ring(40, [(i, 7 * i % 40) for i in range(40)]), seed=5, loss=0.0)
    seconds_to_rest(world, 10)
    world.run(world.now_us + 2 * SECOND_US)
    before = watch.changes
    world.run(world.now_us + 30 * SECOND_US)
    assert watch.changes == before
    assert is_tree(links_of(world))


def test_the_root_is_replaced_within_seconds_when_it_crashes() -> None:
    world, _ = grown(ring(40, [(i, 7 * i % 40) for i in range(40)]), seed=6, loss=0.1)
    seconds_to_rest(world, 10)
    root = next(peer for peer, machine in world.up.items() if tree_of(machine).stands[TOPIC].rooted)
    world.crash(root)
    assert seconds_to_rest(world, 10) <= 8


def test_two_halves_that_could_not_hear_each_other_become_one_tree() -> None:
    world, _ = grown(ring(20, []), seed=7, loss=0.0)
    world.network.split(range(10), range(10, 20))
    world.run(10 * SECOND_US)
    assert len({tree_of(machine).stands[TOPIC].rank[1] for machine in world.machines.values()}) == 2
    world.network.heal()
    assert seconds_to_rest(world, 10) <= 5


def test_ten_per_cent_loss_moves_few_parents() -> None:
    world, watch = grown(ring(40, [(i, 7 * i % 40) for i in range(40)]), seed=8, loss=0.1)
    world.run(10 * SECOND_US)
    before = watch.changes
    world.run(70 * SECOND_US)
    assert watch.changes - before <= 40  # less than one a minute and node
