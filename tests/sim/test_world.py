"""The world performs effects in virtual time: in order, repeatable, and through faults."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import Struct

from gossamer.core.draws import CHURN, chance, distinct, fold
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    Effect,
    Fired,
    Given,
    Leave,
    Message,
    Note,
    Received,
    Send,
    SetTimer,
    Started,
    Subscribe,
)
from gossamer.parts.bursts import GilbertElliott
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec

TICK_US = 100


class Word(Struct, frozen=True, tag="toy.word"):
    text: str
    left: int = 0


class Alarm(Struct, frozen=True):
    number: int


class Scripted:
    """A machine that answers by a script and knows which life it is in."""

    def __init__(self, me: Peer, answer: Callable[["Scripted", Given], Sequence[Effect]]) -> None:
        self.me = me
        self.answer = answer
        self.heard: list[tuple[int, Given]] = []

    def step(self, given: Given, now_us: int) -> list[Effect]:
        self.heard.append((now_us, given))
        return list(self.answer(self, given))

    def knows(self, event_id: EventId) -> bool:
        return False


class Log(Watcher):
    """Everything that happened, in order."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        self.lines.append(("sent", sender, target, message))

    def lost(self, sender: Peer, target: Peer, message: Message) -> None:
        self.lines.append(("lost", sender, target, message))

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        self.lines.append(("stepped", now_us, peer, given, tuple(effects)))

    def crashed(self, peer: Peer, now_us: int) -> None:
        self.lines.append(("crashed", now_us, peer))

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [line[1:] for line in self.lines if line[0] == kind]

    def received(self) -> list[tuple[int, Peer, Message]]:
        return [(now, peer, given.message) for now, peer, given, _ in self.of("stepped") if type(given) is Received]

    def fired(self) -> list[tuple[int, Peer, Any]]:
        return [(now, peer, given.timer) for now, peer, given, _ in self.of("stepped") if type(given) is Fired]


def silent(machine: Scripted, given: Given) -> Sequence[Effect]:
    return ()


def saying(*effects: Effect, on: type = Subscribe) -> Callable[[Scripted, Given], Sequence[Effect]]:
    """Answers one kind of given, at process 1, with these effects."""
    return lambda machine, given: effects if machine.me == 1 and type(given) is on else ()


def world(
    answer: Callable[[Scripted, Given], Sequence[Effect]] = silent,
    network: Network | None = None,
    codec: Codec | None = None,
    up: Sequence[Peer] = (1, 2, 3),
) -> tuple[World, Log]:
    log = Log()
    made = World(lambda me: Scripted(me, answer), network or Network(1, Latency(median_us=TICK_US)), [log], codec)
    for peer in up:
        made.start(peer)
    log.lines.clear()
    return made, log


HELLO = Word("hello")
GO = Subscribe(".go")


def test_a_process_begins_with_its_contacts() -> None:
    made, log = world(up=())
    made.start(1, contacts=[2, 3])
    assert log.of("stepped") == [(0, 1, Started((2, 3)), ())]
    assert list(made.up) == [1]


def test_a_message_arrives_after_the_networks_latency_from_its_sender() -> None:
    made, log = world(saying(Send((2, 3), HELLO)))
    made.give(1, GO)
    assert log.of("sent") == [(1, 2, HELLO), (1, 3, HELLO)]
    made.run()
    assert log.of("stepped")[1:] == [(TICK_US, 2, Received(1, HELLO), ()), (TICK_US, 3, Received(1, HELLO), ())]


def test_a_timer_comes_back_when_asked() -> None:
    made, log = world(saying(SetTimer(70, Alarm(1)), SetTimer(30, Alarm(2))))
    made.give(1, GO)
    made.run()
    assert log.fired() == [(30, 1, Alarm(2)), (70, 1, Alarm(1))]


def test_notes_are_only_for_watchers() -> None:
    made, log = world(saying(Note("reject", detail="?")))
    made.give(1, GO)
    made.run()
    assert log.of("stepped") == [(0, 1, GO, (Note("reject", detail="?"),))]


def test_steps_are_counted() -> None:
    made, _ = world(saying(Send((2, 3), HELLO)))
    before = made.steps
    made.give(1, GO)
    made.run()
    assert made.steps == before + 3


# -- faults -----------------------------------------------------------------------------------------------------


def test_a_lost_message_is_reported_and_never_arrives() -> None:
    made, log = world(saying(Send((2,), HELLO)), Network(1, Latency(), Independent(lambda sender, target: 0.0)))
    made.give(1, GO)
    made.run()
    assert log.of("lost") == [(1, 2, HELLO)]
    assert log.received() == []


def test_a_duplicated_message_arrives_twice() -> None:
    made, log = world(saying(Send((2,), HELLO)), Network(1, Latency(median_us=TICK_US), duplicated=1.0))
    made.give(1, GO)
    made.run()
    assert log.received() == [(TICK_US, 2, HELLO)] * 2
    assert len(log.of("sent")) == 1


def test_a_partition_cuts_processes_off_until_it_heals() -> None:
    made, log = world(saying(Send((2, 3), HELLO)))
    made.at(10, lambda: made.network.split([1, 2], [3]))
    made.at(20, lambda: made.give(1, GO))
    made.at(30, made.network.heal)
    made.at(40, lambda: made.give(1, GO))
    made.run()
    assert log.of("lost") == [(1, 3, HELLO)]
    assert log.received() == [(120, 2, HELLO), (140, 2, HELLO), (140, 3, HELLO)]


def test_a_crash_takes_the_timers_with_it_and_is_reported_once() -> None:
    made, log = world(saying(SetTimer(50, Alarm(1))))
    made.give(1, GO)
    made.at(40, lambda: made.crash(1))
    made.at(41, lambda: made.crash(1))
    made.run()
    assert log.fired() == []
    assert log.of("crashed") == [(40, 1)]
    assert list(made.up) == [2, 3]


def test_a_process_that_is_down_hears_nothing() -> None:
    made, log = world(saying(Send((2,), HELLO)))
    made.crash(2)
    made.give(2, GO)
    made.give(1, GO)
    made.run()
    assert [line[1] for line in log.of("stepped")] == [1]
    assert log.of("lost") == [(1, 2, HELLO)]


def test_what_a_process_sent_before_it_crashed_still_arrives() -> None:
    made, log = world(saying(Send((2,), HELLO)))
    made.give(1, GO)
    made.crash(1)
    made.run()
    assert log.received() == [(TICK_US, 2, HELLO)]


def test_messages_and_timers_of_an_old_life_do_not_reach_the_new_one() -> None:
    def answer(machine: Scripted, given: Given) -> Sequence[Effect]:
        if type(given) is not Subscribe:
            return ()
        return [Send((2,), HELLO)] if machine.me == 1 else [SetTimer(TICK_US, Alarm(1))]

    made, log = world(answer)
    made.give(1, GO)
    made.give(2, GO)
    made.at(50, lambda: made.crash(2))
    made.at(60, lambda: made.start(2, contacts=[3]))
    made.run()
    assert log.received() == []
    assert log.fired() == []
    assert log.of("lost") == [(1, 2, HELLO)]
    assert log.of("stepped")[-1] == (60, 2, Started((3,)), ())
    assert made.lives[2] == 2


def test_a_new_life_remembers_nothing_and_gets_its_own_mail() -> None:
    made, log = world(saying(Send((2,), HELLO)))
    first = made.up[2]
    made.crash(2)
    made.start(2)
    made.give(1, GO)
    made.run()
    assert made.up[2] is not first
    assert log.received() == [(TICK_US, 2, HELLO)]
    assert made.up[2].heard == [(0, Started()), (TICK_US, Received(1, HELLO))]  # type: ignore[attr-defined]


def test_a_message_sent_while_its_target_was_down_is_lost_even_if_the_target_is_back_before_it_would_arrive() -> None:
    made, log = world(saying(Send((2,), HELLO)))
    made.crash(2)
    made.give(1, GO)
    made.at(10, lambda: made.start(2))
    made.run()
    assert log.received() == []
    assert log.of("lost") == [(1, 2, HELLO)]


def test_a_message_to_a_process_that_never_lived_is_lost() -> None:
    made, log = world(saying(Send((77,), HELLO)))
    made.give(1, GO)
    made.run()
    assert log.of("lost") == [(1, 77, HELLO)]


def test_starting_a_process_that_is_up_begins_a_new_life() -> None:
    made, log = world(saying(SetTimer(50, Alarm(1))))
    made.give(1, GO)
    made.start(1)
    made.run()
    assert log.fired() == []
    assert made.lives[1] == 2


def test_a_process_that_leaves_says_its_farewells_and_is_gone() -> None:
    made, log = world(saying(Send((2,), HELLO), SetTimer(10, Alarm(1)), on=Leave))
    made.leave(1)
    assert list(made.up) == [2, 3]
    made.run()
    assert log.received() == [(TICK_US, 2, HELLO)]
    assert log.fired() == []
    assert log.of("crashed") == []
    made.leave(1)
    assert [line[1] for line in log.of("stepped")] == [1, 2]


def test_a_step_that_raises_leaves_its_cause() -> None:
    def answer(machine: Scripted, given: Given) -> Sequence[Effect]:
        if type(given) is Received:
            raise ZeroDivisionError("a bug in a layer")
        return [Send((2,), HELLO)] if type(given) is Subscribe else ()

    made, _ = world(answer)
    made.give(1, GO)
    with pytest.raises(ZeroDivisionError) as raised:
        made.run()
    [cause] = raised.value.__notes__
    assert "process 2" in cause
    assert f"{TICK_US} µs" in cause
    assert "hello" in cause


# -- time -------------------------------------------------------------------------------------------------------


def test_run_until_stops_the_clock_there_and_goes_on_later() -> None:
    made, log = world(saying(SetTimer(50, Alarm(1)), SetTimer(51, Alarm(2))))
    made.give(1, GO)
    made.run(until_us=50)
    assert made.now_us == 50
    assert [alarm for _, _, alarm in log.fired()] == [Alarm(1)], "what is due at that very moment happens"
    made.run(until_us=50)
    made.run()
    assert log.fired() == [(50, 1, Alarm(1)), (51, 1, Alarm(2))]
    made.run(until_us=9_000)
    assert made.now_us == 9_000


def test_the_clock_never_runs_backwards() -> None:
    made, log = world(saying(SetTimer(-80, Alarm(1))))
    times: list[int] = []
    made.run(until_us=100)
    made.run(until_us=40)
    assert made.now_us == 100
    made.at(30, lambda: times.append(made.now_us))
    made.give(1, GO)
    made.run()
    assert times == [100]
    assert log.fired() == [(100, 1, Alarm(1))]


def test_an_empty_world_has_nothing_to_do() -> None:
    made, log = world(up=())
    made.run()
    assert made.now_us == 0
    assert log.lines == []


def test_things_of_one_moment_happen_in_the_order_they_were_caused() -> None:
    made, log = world(
        lambda machine, given: [Send((3,), Word(f"from {machine.me}"))] if type(given) is Subscribe else ()
    )
    for peer in (2, 1):
        made.give(peer, GO)
    order: list[str] = []
    for name in "abc":
        made.at(TICK_US, lambda name=name: order.append(name))  # type: ignore[misc]
    made.run()
    assert [message for _, _, message in log.received()] == [Word("from 2"), Word("from 1")]
    assert order == ["a", "b", "c"]


def test_something_planned_during_a_moment_for_that_moment_comes_last() -> None:
    made, _ = world()
    order: list[str] = []
    made.at(10, lambda: (order.append("first"), made.at(10, lambda: order.append("third"))))
    made.at(10, lambda: order.append("second"))
    made.run()
    assert order == ["first", "second", "third"]


# -- bytes ------------------------------------------------------------------------------------------------------


def test_with_a_codec_every_message_goes_through_bytes() -> None:
    made, log = world(saying(Send((2, 3), HELLO)), codec=Codec([Word]))
    made.give(1, GO)
    made.run()
    arrived = [message for _, _, message in log.received()]
    assert arrived == [HELLO, HELLO]
    assert all(message is not HELLO for message in arrived)


def test_a_codec_notices_a_message_nobody_could_read() -> None:
    class Foreign(Struct, frozen=True, tag="toy.foreign"):
        pass

    made, _ = world(saying(Send((2,), Foreign())), codec=Codec([Word]))
    with pytest.raises(Exception, match="not a message"):
        made.give(1, GO)


# -- repetition -------------------------------------------------------------------------------------------------


def chatter(seed: int) -> Callable[[Scripted, Given], Sequence[Effect]]:
    """A machine that keeps talking: each word is passed on to two drawn peers until it is used up."""

    def answer(machine: Scripted, given: Given) -> Sequence[Effect]:
        key = fold(fold(seed, machine.me), len(machine.heard))
        told = tuple(distinct(key, 12, 2))
        match given:
            case Started():
                return [SetTimer(1 + distinct(key, 500, 1)[0], Alarm(1))]
            case Fired(Alarm(number)):
                return [Send(told, Word("tick", 3)), *([SetTimer(300, Alarm(number + 1))] if number < 6 else [])]
            case Received(_, Word(text, left)) if left:
                return [Send(told, Word(text, left - 1))]
        return ()

    return answer


def lived(seed: int, codec: bool = False, stops: Sequence[int] = ()) -> list[tuple[Any, ...]]:
    """A full history under loss in bursts, duplication, latency, a partition and churn."""
    loss = GilbertElliott(seed, worsens=0.1, improves=0.4)
    network = Network(seed, Latency(median_us=80, shape="lognormal", spread=1.0), loss, duplicated=0.1)
    made, log = world(chatter(seed), network, Codec([Word]) if codec else None, up=range(12))
    made.at(400, lambda: network.split(range(6), range(6, 12)))
    made.at(900, network.heal)
    for peer in range(12):
        if chance(fold(seed, CHURN), peer) < 0.5:
            made.at(300 + 50 * peer, lambda peer=peer: made.crash(peer))  # type: ignore[misc]
            made.at(700 + 50 * peer, lambda peer=peer: made.start(peer))  # type: ignore[misc]
    for until_us in stops:
        made.run(until_us)
    made.run()
    return log.lines


def test_the_same_seed_is_the_same_history() -> None:
    for seed in range(5):
        history = lived(seed)
        assert len(history) > 500
        assert {line[0] for line in history} == {"sent", "lost", "stepped", "crashed"}
        assert history == lived(seed)


def test_another_seed_is_another_history() -> None:
    assert lived(1) != lived(2)


def test_neither_bytes_nor_pauses_change_the_history() -> None:
    assert lived(3) == lived(3, codec=True) == lived(3, stops=range(0, 3000, 7))


def test_time_never_runs_backwards_in_a_history() -> None:
    times = [line[1] for line in lived(4) if line[0] in ("stepped", "crashed")]
    assert times == sorted(times)


def test_the_history_can_be_replayed_from_its_givens() -> None:
    """Machines are functions of what they were given: a fresh one, given the same, answers the same."""
    machines: dict[Peer, Scripted] = {}
    for _, now_us, peer, given, effects in (line for line in lived(5) if line[0] == "stepped"):
        if type(given) is Started or peer not in machines:
            machines[peer] = Scripted(peer, chatter(5))
            if type(given) is not Started:
                machines[peer].step(Started(), 0)
        assert tuple(machines[peer].step(given, now_us)) == effects
