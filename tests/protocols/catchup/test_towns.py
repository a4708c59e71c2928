"""Who was away gets what was published meanwhile, whatever carries events and whoever has gone since."""

import pytest

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Contacted, Message, Run
from gossamer.core.patterns import Pattern
from gossamer.protocols.assemble import SpreadName
from gossamer.protocols.catchup.params import Params
from gossamer.sim.network import Latency
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher
from protocols.logged import SPREADS, catching, lacks, logged, logs, publish

SEEDS = range(1, 21)
SOON_S = 15
"Within so many seconds of a return, or of a heal."


def returns(town: Town, peer: Peer, missed: list[EventId]) -> float:
    """How long it takes a process that comes back to get all of these."""
    town.restart(peer, memory=True)
    return town.seconds_until(lambda: not lacks(town, peer, missed), at_most=2 * SOON_S)


# Being away


@pytest.mark.parametrize("spread", SPREADS)
def test_who_left_in_good_order_and_returns_gets_a_hundred_of_a_hundred(spread: SpreadName) -> None:
    town = logged(spread, 5)
    before = publish(town, 0, 20)
    town.run(2)
    town.leave(4)
    town.run(1)
    missed = publish(town, 0, 100)
    town.run(3)
    assert returns(town, 4, missed) <= SOON_S
    assert lacks(town, 4, before) == 0
    assert not logs(town).gaps


@pytest.mark.parametrize("seed", SEEDS)
def test_with_every_seed_who_crashed_and_returns_gets_everything(seed: int) -> None:
    town = logged("camcast", 5, seed=seed, seconds=8)
    town.crash(4)
    missed = publish(town, 0, 50)  # the first it hears of this publisher
    town.run(2)
    assert returns(town, 4, missed) <= SOON_S


@pytest.mark.parametrize("seed", range(1, 6))
def test_who_missed_the_first_events_and_crashed_after_the_next_gets_the_first_too(seed: int) -> None:
    """Its log begins in the midst of a stream that is older than itself: like the logs of those who pruned."""
    town = logged("camcast", 5, seed=seed, seconds=8)
    town.split([0, 1, 2, 3], [4])
    missed = publish(town, 0, 40)
    town.heal()
    missed += publish(town, 0, 10)
    town.crash(4)
    assert 0 < lacks(town, 4, missed) < 50
    assert returns(town, 4, missed) <= SOON_S


@pytest.mark.parametrize("spread", SPREADS)
def test_what_a_publisher_said_that_is_gone_is_brought_by_others(spread: SpreadName) -> None:
    town = logged(spread, 6)
    town.crash(5)
    missed = publish(town, 0, 60) + publish(town, 1, 40)
    town.run(3)
    town.crash(0)
    town.leave(1)
    town.run(3)
    assert returns(town, 5, missed) <= SOON_S


def test_who_reads_many_topics_gets_what_was_published_on_each() -> None:
    town = logged("camcast", 3, ".t0", seconds=0)
    for peer in range(3):
        for number in range(1, 20):
            town.subscribe(peer, f".t{number}")
    town.run(20)
    town.leave(2)
    missed = [town.publish(0, f".t{number}") for number in range(20) for _ in range(3)]
    town.run(5)
    assert returns(town, 2, missed) <= SOON_S


def test_a_stream_that_began_while_one_was_away_comes_from_its_first_event_on() -> None:
    town = logged("camcast", 4)
    town.leave(3)
    town.start(7, ".t")
    town.run(8)
    assert returns(town, 3, publish(town, 7, 30)) <= SOON_S


def test_events_come_in_the_order_in_which_they_were_published() -> None:
    """Where messages do not overtake each other, as on live links."""
    town = logged("camcast", 5, latency=Latency(median_us=20_000))
    town.leave(4)
    missed = publish(town, 0, 300)
    town.run(2)
    returns(town, 4, missed)
    times = [town.fate(each).got[4].after_us + town.fate(each).published_us for each in missed]
    assert times == sorted(times)


def test_who_comes_back_without_a_memory_is_not_brought_what_was_published_before() -> None:
    town = logged("camcast", 4)
    town.crash(3)
    before = publish(town, 0, 40)
    town.run(2)
    town.restart(3)
    town.run(SOON_S)
    later = publish(town, 0, 10)
    town.run(5)
    assert lacks(town, 3, later) == 0
    shelf = next(iter(catching(town, 3).shelves.shelves.values()))
    assert (shelf.held.floor, shelf.older) == (40, 40)
    assert lacks(town, 3, before) == 40


def test_who_unsubscribed_for_a_while_is_not_brought_what_was_published_meanwhile() -> None:
    town = logged("camcast", 4)
    publish(town, 0, 10)
    town.unsubscribe(3, ".t")
    town.run(1)
    meanwhile = publish(town, 0, 60)
    town.run(1)
    town.subscribe(3, ".t")
    town.run(SOON_S)
    later = publish(town, 0, 5)
    town.run(SOON_S)
    assert (lacks(town, 3, meanwhile), lacks(town, 3, later)) == (60, 0)


# Halves


@pytest.mark.parametrize("spread", SPREADS)
def test_two_halves_that_were_parted_have_everything_of_each_other_soon_after(spread: SpreadName) -> None:
    town = logged(spread, 4)
    town.split([0, 1], [2, 3], noticed=True)
    published = []
    for _ in range(1500 if spread == "camcast" else 300):
        published += [town.publish(0, ".t"), town.publish(2, ".t")]
        town.run(0.005)
    town.heal()
    for peer in town.up:  # a live node calls its seeds again
        town.world.give(peer, Contacted((0, 2)))
    took = town.seconds_until(lambda: not any(lacks(town, peer, published) for peer in range(4)), at_most=30)
    assert took <= SOON_S
    assert not logs(town).gaps


# Upwards


@pytest.mark.parametrize("crashes", [True, False], ids=["crashed", "left"])
@pytest.mark.parametrize("spread", SPREADS)
def test_the_sole_reader_of_a_super_topic_gets_what_was_published_below_it(spread: SpreadName, crashes: bool) -> None:
    town = logged(spread, 4, ".orders.eu", seconds=0)
    town.start(9, ".orders")
    town.run(15)
    (town.crash if crashes else town.leave)(9)
    town.run(1)
    missed = publish(town, 0, 100, ".orders.eu")
    town.run(3)
    assert returns(town, 9, missed) <= SOON_S


def test_what_no_draw_sent_up_is_brought_up() -> None:
    town = logged("camcast", 4, ".orders.eu", seconds=0)
    town.start(9, ".orders")
    town.run(15)
    kept_below = [town.publish(0, ".orders.eu", climb=0.0) for _ in range(20)]
    assert town.seconds_until(lambda: not lacks(town, 9, kept_below), at_most=30) <= SOON_S


# What nobody has


@pytest.mark.parametrize("spread", ["camcast", "spidercast", "dispatch"])
def test_what_everybody_pruned_is_told_once_with_its_number(spread: SpreadName) -> None:
    town = logged(spread, 5)
    publish(town, 0, 10)
    town.run(2)
    town.leave(4)
    missed = publish(town, 0, 100)
    town.run(2)
    gone = Run(".t", 0, missed[0].incarnation, 1, 70)
    for peer in range(4):
        logs(town).prune(peer, [gone])
    town.restart(4, memory=True)
    town.run(60)
    assert lacks(town, 4, missed) == 60
    (told,) = logs(town).gaps[4]
    assert (told.run.first, told.run.last, told.at_most) == (11, 70, False)
    assert logs(town).gaps.keys() == {4}
    town.leave(4)
    town.run(1)
    town.restart(4, memory=True)
    town.run(40)
    assert len(logs(town).gaps[4]) == 1  # its log remembers


def test_what_was_pruned_of_a_stream_that_began_while_one_was_away_is_told_too() -> None:
    """Its publisher has lived for longer than the subscription: what is left says when the stream began."""
    town = logged("camcast", 4)
    town.leave(3)
    town.run(1)
    missed = publish(town, 0, 100)
    town.run(2)
    for peer in range(3):
        logs(town).prune(peer, [Run(".t", 0, missed[0].incarnation, 1, 70)])
    town.restart(3, memory=True)
    town.run(60)
    assert lacks(town, 3, missed) == 70
    assert [told.run.last + 1 - told.run.first for told in logs(town).gaps[3]] == [70]


def test_nothing_is_given_up_that_one_member_has_and_even_what_was_given_up_is_welcome() -> None:
    town = logged("camcast", 5)
    publish(town, 0, 10)
    town.run(2)
    town.leave(3, 4)
    missed = publish(town, 0, 50)
    town.run(2)
    gone = Run(".t", 0, missed[0].incarnation, 11, 40)
    for peer in (1, 2):
        logs(town).prune(peer, [gone])
    town.leave(0)  # the only one that has all of it
    town.run(2)
    town.restart(3, memory=True)
    town.run(60)
    assert [told.run.last + 1 - told.run.first for told in logs(town).gaps[3]] == [30]
    town.restart(0, memory=True)
    assert town.seconds_until(lambda: not lacks(town, 3, missed), at_most=30) <= SOON_S
    town.restart(4, memory=True)
    assert town.seconds_until(lambda: not lacks(town, 4, missed), at_most=30) <= SOON_S
    assert 4 not in logs(town).gaps


# Filters


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_who_asks_for_some_events_only_is_brought_those_and_no_other(spread: SpreadName) -> None:
    town = logged(spread, 0, seconds=0)
    for peer, where in enumerate(("x > 5", "x > 5", "x > 7", "x < 3")):
        town.start(peer, Pattern(".p", where))
    town.start(9, ".p")
    town.run(12)
    town.leave(1)
    town.run(2)
    for number in range(100):
        town.publish(9, ".p", {"x": number % 10})
        town.run(0.01)
    town.run(3)
    wanted = [each for each, fate in town.chronicle.fates.items() if town.reads(1, fate.event)]
    assert len(wanted) == 40
    assert returns(town, 1, wanted) <= SOON_S
    town.run(40)
    assert not logs(town).gaps  # the others are not for it: nothing is missing
    assert sum(1 in fate.got for fate in town.chronicle.fates.values()) == 40


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_who_asks_for_some_events_and_comes_back_in_the_midst_of_them_gets_the_first_too(spread: SpreadName) -> None:
    """By the time it compares, the last event is here: nothing but the beginning tells its log from others."""
    town = logged(spread, 0, seconds=0)
    for peer, where in enumerate(("x > 5", "x > 5", "x > 7")):
        town.start(peer, Pattern(".p", where))
    town.run(2)
    town.start(9, ".p")
    town.run(12)
    town.crash(1)
    missed = []
    for number in range(60):
        missed.append(town.publish(9, ".p", {"x": number % 10}))
        town.run(0.01)
    town.restart(1, memory=True)
    for number in range(300):
        missed.append(town.publish(9, ".p", {"x": number % 10}))
        town.run(0.01)
    wanted = [each for each in missed if town.reads(1, town.fate(each).event)]
    assert town.seconds_until(lambda: not lacks(town, 1, wanted), at_most=2 * SOON_S) <= SOON_S


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_what_a_former_life_missed_in_the_midst_is_looked_for_where_filters_are_asked(
    spread: SpreadName, goes_on: bool
) -> None:
    """Killed with later events on its disk, before it could ask for what it lacks: a log with filters has holes anyway,
    so nothing shows there."""
    town = logged(spread, 0, seconds=0)
    for peer, where in enumerate(("x > 5", "x > 5", "x > 7")):
        town.start(peer, Pattern(".p", where))
    town.start(9, ".p")
    town.run(12)
    sent = publish_numbers(town, 40)
    town.run(25)
    town.split([0, 2, 9], [1])
    sent += publish_numbers(town, 30)
    town.heal()
    while not any(1 in town.fate(each).got for each in sent[70:]):
        assert len(sent) < 400
        sent += publish_numbers(town, 1, first=9)
    town.crash(1)
    town.run(120)  # what others keep at hand has gone; their logs have it
    town.restart(1, memory=True)
    wanted = [each for each in sent if town.reads(1, town.fate(each).event)]
    assert lacks(town, 1, wanted) > 5
    if goes_on:
        sent += publish_numbers(town, 50)
    assert town.seconds_until(lambda: not lacks(town, 1, wanted), at_most=2 * SOON_S) <= SOON_S
    town.run(40)
    assert not logs(town).gaps


@pytest.mark.parametrize("spread", ["dispatch", "hpmcast"])
def test_what_a_former_life_was_sure_of_is_not_asked_for_again_where_filters_are_asked(spread: SpreadName) -> None:
    town = logged(spread, 0, seconds=0)
    for peer, where in enumerate(("x > 5", "x > 5", "x > 7")):
        town.start(peer, Pattern(".p", where))
    town.start(9, ".p")
    town.run(12)
    publish_numbers(town, 40)
    town.run(35)  # twice calm
    town.crash(1)
    spoken = Spoken(town)
    town.world.watch(spoken)
    town.restart(1, memory=True)
    town.run(30)
    assert "catchup.lacks" not in spoken.kinds


def publish_numbers(town: Town, count: int, first: int = 0) -> list[EventId]:
    sent = []
    for number in range(first, first + count):
        sent.append(town.publish(9, ".p", {"x": number % 10}))
        town.run(0.01)
    return sent


# What it costs


class Spoken(Watcher):
    """Bytes of what is said about logs."""

    def __init__(self, town: Town) -> None:
        self.codec, self.bytes = town.world.codec, 0
        self.kinds: dict[str, int] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        kind = str(type(message).__struct_config__.tag)
        if kind.startswith("catchup."):
            assert self.codec is not None
            self.bytes += len(self.codec.encode(message))
            self.kinds[kind] = self.kinds.get(kind, 0) + 1


@pytest.mark.parametrize("spread", SPREADS)
def test_equal_logs_cost_one_small_message_a_round(spread: SpreadName) -> None:
    town = logged(spread, 6)
    for peer in range(3):
        publish(town, peer, 20)
    town.run(20)
    spoken = Spoken(town)
    town.world.watch(spoken)
    town.run(60)
    assert spoken.kinds.keys() == {"catchup.compare"}
    assert spoken.bytes / 60 / 6 < 50


def test_logs_that_differ_for_good_are_not_told_over_and_over() -> None:
    """One pruned more than it could, one came late: neither lacks anything."""
    town = logged("camcast", 4)
    publish(town, 0, 30)
    town.start(8, ".t")
    town.run(20)
    spoken = Spoken(town)
    town.world.watch(spoken)
    town.run(60)
    assert spoken.kinds.keys() == {"catchup.compare"}


def test_a_publisher_that_begins_a_hundred_lives_is_caught_up_with_and_stays_bounded() -> None:
    town = logged("camcast", 4, seconds=8)
    town.leave(3)
    missed = []
    for _ in range(100):
        missed.append(town.publish(0, ".t"))
        town.run(0.3)
        town.crash(0)
        town.restart(0, memory=True)
        town.run(1)
    town.run(5)
    heard = [each for each in missed if any(peer in town.fate(each).got for peer in (0, 1, 2))]
    assert len(heard) > 50
    assert returns(town, 3, heard) <= SOON_S
    spoken = Spoken(town)
    town.run(10)
    town.world.watch(spoken)
    town.run(30)
    assert spoken.bytes / 30 / 4 < 200
    assert len(catching(town, 3).shelves.shelves) <= 101


def test_who_has_no_log_that_is_told_of_takes_part_as_before() -> None:
    town = logged("camcast", 4, params=Params(rest_us=1_000_000))
    assert not any(catching(town, peer).shelves.shelves for peer in range(4))
    assert town.chronicle.sends["Compare"] > 0
    assert "Holds" not in town.chronicle.sends
