"""Machines are told that a peer is gone when a live driver would tell them: not before, not without cause."""

from itertools import pairwise

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Given, PeerDown, Send, Subscribe
from gossamer.core.messages import Said
from gossamer.live.links import calls, connections
from gossamer.sim import unreachable
from gossamer.sim.network import Latency, Network
from gossamer.sim.unreachable import Unreachable
from gossamer.sim.world import World


class Word(Said, frozen=True, tag="toy.word"):
    """May name somebody."""

    who: Peer = 0

    def names(self) -> tuple[Peer, ...]:
        return (self.who,) if self.who else ()


class Speaker:
    """Says a word to whom it is told to, and remembers who is gone."""

    def __init__(self) -> None:
        self.gone: list[tuple[float, Peer]] = []

    def step(self, given: Given, now_us: int) -> list[Effect]:
        if type(given) is PeerDown:
            self.gone.append((now_us / 1e6, given.peer))
        if type(given) is Subscribe:
            return [Send((int(given.topic[1:]),), Word(int(given.where or 0)))]
        return []


class Stage:
    """Three of them."""

    def __init__(self) -> None:
        self.world = World(lambda me: Speaker(), Network(1, Latency(median_us=10_000)))  # type: ignore[arg-type,return-value]
        self.unreachable = Unreachable(self.world, 1)
        self.world.watch(self.unreachable)
        for peer in (1, 2, 3):
            self.world.start(peer)

    def say(self, sender: Peer, target: Peer, about: Peer = 0) -> None:
        self.world.give(sender, Subscribe(f".{target}", str(about)))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * 1e6))

    def gone(self, peer: Peer) -> list[tuple[float, Peer]]:
        return self.world.machines[peer].gone  # type: ignore[attr-defined,no-any-return]


def test_calls_are_as_patient_as_those_of_a_live_node() -> None:
    live = (calls.ATTEMPTS, calls.BACKOFF_S, calls.BLOCK_S, calls.BLOCK_MAX_S)
    assert live == (unreachable.ATTEMPTS, unreachable.BACKOFF_S, unreachable.BLOCK_S, unreachable.BLOCK_MAX_S)
    assert connections.Connections.__init__.__kwdefaults__["dial_s"] == unreachable.DIAL_S


def test_whoever_is_linked_to_one_that_crashes_is_told_after_three_calls_and_nobody_else() -> None:
    stage = Stage()
    stage.say(1, 2)
    stage.run(1)
    stage.world.crash(2)
    stage.run(10)
    ((at, who),) = stage.gone(1)
    assert (who, stage.gone(3)) == (2, [])
    assert 1.5 < at < 2.6  # 0.15, 0.3 and 0.6 s, each half to one and a half times as long


def test_one_that_is_back_before_it_is_given_up_is_met_as_another_life_and_not_left_alone() -> None:
    stage = Stage()
    stage.say(1, 2)
    stage.run(1)
    stage.world.crash(2)
    stage.run(0.4)
    stage.world.start(2)
    stage.run(10)
    assert [who for _, who in stage.gone(1)] == [2]
    assert not stage.world.network.closed
    stage.say(1, 2)
    stage.say(2, 1)
    stage.run(10)
    assert len(stage.gone(1)) == 1


def test_another_life_is_told_of_before_it_says_a_word() -> None:
    stage = Stage()
    stage.say(1, 2)
    stage.run(1)
    stage.world.crash(2)
    stage.world.start(2)
    stage.say(2, 1)
    stage.run(0.001)
    assert stage.gone(1) == [(1.0, 2)]
    assert stage.gone(2) == []  # it knows of no former life of anybody


def test_a_goodbye_is_no_news_until_somebody_has_something_to_say() -> None:
    stage = Stage()
    stage.say(2, 1)
    stage.run(1)
    stage.world.leave(2)
    stage.run(10)
    assert stage.gone(1) == []
    stage.say(1, 2)
    stage.run(2)
    assert [who for _, who in stage.gone(1)] == [2]


def test_an_address_that_never_answered_is_called_once() -> None:
    stage = Stage()
    stage.world.crash(3)
    stage.say(1, 3)
    stage.run(0.3)
    assert [who for _, who in stage.gone(1)] == [3]


def test_one_that_was_given_up_is_left_alone_longer_each_time() -> None:
    stage = Stage()
    stage.world.crash(3)
    for _ in range(2_000):
        stage.say(1, 3)
        stage.run(0.05)
    told = [at for at, _ in stage.gone(1)]
    pauses = [later - sooner for sooner, later in pairwise(told)]
    assert 3 < len(told) < 12
    assert 0.5 < pauses[0] < 1.9
    assert max(pauses) > 10


def test_one_that_was_given_up_is_heard_again_as_soon_as_it_calls() -> None:
    stage = Stage()
    stage.say(1, 3)
    stage.run(1)
    stage.world.crash(3)
    stage.run(2)
    stage.world.start(3)
    assert not stage.world.network.transit(1, 3, Word())
    stage.say(3, 1)
    stage.run(0.1)
    assert stage.world.network.transit(1, 3, Word())
    assert not stage.world.network.closed


def test_one_that_is_back_is_called_soon_by_those_who_hear_of_it_however_often_it_failed() -> None:
    stage = Stage()
    stage.world.crash(3)
    while stage.unreachable.failures.get((1, 3), 0) < 6:
        stage.say(1, 3)
        stage.run(0.1)
    stage.say(2, 1, about=3)  # of its former life
    stage.run(2)
    assert (1, 3) in stage.world.network.closed
    stage.world.start(3)
    stage.run(2)
    assert (1, 3) in stage.world.network.closed
    stage.say(2, 1, about=3)
    stage.run(0.1)
    assert stage.world.network.transit(1, 3, Word())


def test_a_network_that_swallows_what_is_said_on_an_open_connection_tells_nobody() -> None:
    stage = Stage()
    stage.say(1, 2)
    stage.run(1)
    stage.world.network.split([1], [2, 3])
    for target in (2, 3):
        stage.say(1, target)
    stage.run(4)
    assert stage.gone(1) == []
    stage.run(4)
    assert [who for _, who in stage.gone(1)] == [3]  # no connection: a call that nobody answered, for five seconds


def test_what_is_merely_lost_is_no_failure() -> None:
    stage = Stage()
    stage.world.network.loss = type("All", (), {"lost": lambda *_: True})()
    stage.say(1, 2)
    stage.run(30)
    assert stage.gone(1) == []
