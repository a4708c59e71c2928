"""The network does what it says, in the measure it says. Seeds are fixed; bands are five standard errors or more."""

import math
from collections.abc import Callable
from itertools import groupby
from statistics import fmean, median

import numpy as np
import pytest
from msgspec import Struct

from gossamer.core.draws import LOSS, chance, fold
from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.messages import Carrier
from gossamer.parts.bursts import GilbertElliott
from gossamer.sim.network import Independent, Latency, Loss, Network

MANY = 20_000
CONSTANT = Latency(median_us=100)


class Plain(Struct, frozen=True):
    """A message that bears no event."""


class Bearing(Carrier, frozen=True):
    """Carries an event."""


def bearing(sequence: int) -> Bearing:
    return Bearing(Carried(Event(EventId(1, 0, sequence), ".a")))


def delays(latency: Latency, seed: int = 1) -> list[int]:
    return [latency.draw_us(fold(seed, number)) for number in range(MANY)]


def share_lost(network: Network, sender: Peer = 1, target: Peer = 2, many: int = MANY) -> float:
    return fmean(not network.transit(sender, target, Plain()) for _ in range(many))


def band(share: float, many: int = MANY) -> float:
    """Five standard errors of a share: a false alarm in about two million fair runs."""
    return 5 * math.sqrt(share * (1 - share) / many)


# -- latency ----------------------------------------------------------------------------------------------------


def test_constant_latency_is_the_same_for_every_message() -> None:
    assert set(delays(CONSTANT)) == {100}


def test_uniform_latency_lies_evenly_around_its_median() -> None:
    drawn = delays(Latency(median_us=10_000, shape="uniform", spread=0.5))
    assert min(drawn) >= 5_000
    assert max(drawn) <= 15_000
    assert fmean(drawn) == pytest.approx(10_000, abs=5 * 10_000 / math.sqrt(12 * MANY))
    assert median(drawn) == pytest.approx(10_000, abs=5 * 10_000 / math.sqrt(4 * MANY))
    assert fmean(each < 7_500 for each in drawn) == pytest.approx(0.25, abs=band(0.25))


def test_exponential_latency_has_the_stated_mean() -> None:
    drawn = delays(Latency(median_us=10_000, shape="exponential"))
    assert fmean(drawn) == pytest.approx(10_000, abs=5 * 10_000 / math.sqrt(MANY))
    assert fmean(each > 20_000 for each in drawn) == pytest.approx(math.exp(-2), abs=band(math.exp(-2)))


@pytest.mark.parametrize("spread", [0.25, 1.0])
def test_lognormal_latency_has_the_stated_median_and_sigma(spread: float) -> None:
    logs = np.log(delays(Latency(median_us=1_000_000, shape="lognormal", spread=spread)))
    assert np.mean(logs) == pytest.approx(math.log(1_000_000), abs=5 * spread / math.sqrt(MANY))
    assert np.std(logs) == pytest.approx(spread, rel=5 / math.sqrt(2 * MANY))
    assert fmean(logs < math.log(1_000_000)) == pytest.approx(0.5, abs=band(0.5))
    assert fmean(logs > math.log(1_000_000) + spread) == pytest.approx(0.1587, abs=band(0.1587))


@pytest.mark.parametrize("shape", ["constant", "uniform", "exponential", "lognormal"])
def test_nothing_arrives_before_it_is_sent_and_every_delay_is_a_whole_number(shape: str) -> None:
    drawn = delays(Latency(median_us=1, shape=shape, spread=1.0))
    assert min(drawn) >= 1
    assert all(type(each) is int for each in drawn)


@pytest.mark.parametrize("shape", ["uniform", "lognormal"])
def test_no_spread_means_constant(shape: str) -> None:
    assert set(delays(Latency(median_us=500, shape=shape))) == {500}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Latency(shape="gaussian"),
        lambda: Latency(median_us=0),
        lambda: Latency(shape="lognormal", spread=-1.0),
        lambda: Latency(shape="uniform", spread=1.5),
        lambda: GilbertElliott(1, worsens=1.5, improves=0.1),
        lambda: GilbertElliott(1, worsens=0.1, improves=-0.1),
        lambda: Network(1, CONSTANT, duplicated=1.5),
    ],
)
def test_an_impossible_network_is_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(Misuse):
        ask()


def test_messages_with_random_latency_overtake_one_another() -> None:
    network = Network(1, Latency(median_us=10_000, shape="lognormal", spread=1.0))
    arrivals = [number * 1_000 + network.transit(1, 2, Plain())[0] for number in range(100)]
    assert arrivals != sorted(arrivals)


# -- loss -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("success", [0.05, 0.5, 0.85, 0.99])
def test_the_loss_rate_is_close_to_what_was_asked(success: float) -> None:
    lost = share_lost(Network(3, CONSTANT, Independent(lambda sender, target: success)))
    assert lost == pytest.approx(1 - success, abs=band(success))


def test_a_link_that_always_arrives_and_one_that_never_does() -> None:
    network = Network(3, CONSTANT, Independent(lambda sender, target: float(target == 2)))
    assert share_lost(network, 1, 2, 2000) == 0.0
    assert share_lost(network, 1, 3, 2000) == 1.0
    assert share_lost(Network(3, CONSTANT), many=100) == 0.0


def test_loss_may_differ_from_link_to_link_and_from_direction_to_direction() -> None:
    rates = {(1, 2): 0.9, (2, 1): 0.5, (1, 3): 0.2}
    network = Network(4, CONSTANT, Independent(lambda sender, target: rates[sender, target]))
    for (sender, target), success in rates.items():
        assert share_lost(network, sender, target) == pytest.approx(1 - success, abs=band(success))


def test_the_fate_of_an_event_on_a_link_is_the_draw_a_kernel_makes_whatever_else_is_sent() -> None:
    quiet = Network(5, CONSTANT, Independent(lambda sender, target: 0.7), by_event=True)
    busy = Network(5, CONSTANT, Independent(lambda sender, target: 0.7), by_event=True)
    for sequence in range(500):
        busy.transit(8, 9, Plain())
        message = bearing(sequence)
        key = fold(fold(fold(5, LOSS), message.carried.event.id.word()), 3)
        arrives = bool(chance(key, 4) < 0.7)
        assert bool(quiet.transit(3, 4, message)) == arrives
        assert bool(busy.transit(3, 4, message)) == arrives


@pytest.mark.parametrize("by_event", [False, True])
def test_an_event_sent_again_over_the_same_link_is_drawn_for_again(by_event: bool) -> None:
    network = Network(6, CONSTANT, Independent(lambda sender, target: 0.5), by_event=by_event)
    first = [bool(network.transit(1, 2, bearing(sequence))) for sequence in range(2000)]
    again = [bool(network.transit(1, 2, bearing(sequence))) for sequence in range(2000)]
    agreed = fmean(one == other for one, other in zip(first, again, strict=True))
    assert agreed == pytest.approx(0.5, abs=band(0.5, 2000))


def test_a_network_that_is_compared_with_no_kernel_remembers_no_event() -> None:
    network = Network(6, CONSTANT)
    for sequence in range(100):
        network.transit(1, 2, bearing(sequence))
    assert not network.copies


def fates(loss: Loss, many: int, sender: Peer = 1, target: Peer = 2) -> list[bool]:
    return [loss.lost(sender, target, fold(fold(77, number), sender)) for number in range(many)]


@pytest.mark.parametrize(
    ("worsens", "improves", "good", "bad"), [(0.02, 0.2, 0.0, 1.0), (0.1, 0.1, 0.0, 1.0), (0.05, 0.25, 0.01, 0.6)]
)
def test_burst_loss_has_the_long_run_rate_of_the_closed_form(
    worsens: float, improves: float, good: float, bad: float
) -> None:
    many = 50_000
    bad_share = worsens / (worsens + improves)
    expected = bad_share * bad + (1 - bad_share) * good
    keeps = 1 - worsens - improves  # correlation from one transmission to the next
    error = math.sqrt(expected * (1 - expected) / many * (1 + keeps) / (1 - keeps))
    lost = fates(GilbertElliott(9, worsens=worsens, improves=improves, good=good, bad=bad), many)
    assert fmean(lost) == pytest.approx(expected, abs=5 * error)


def test_bursts_and_the_quiet_between_them_are_geometric_with_the_stated_means() -> None:
    worsens, improves = 0.05, 0.25
    runs = [
        (lost, len(list(run)))
        for lost, run in groupby(fates(GilbertElliott(10, worsens=worsens, improves=improves), 60_000))
    ]
    for what, ends in ((True, improves), (False, worsens)):
        lengths = [length for lost, length in runs[1:-1] if lost is what]
        deviation = math.sqrt(1 - ends) / ends
        assert fmean(lengths) == pytest.approx(1 / ends, abs=5 * deviation / math.sqrt(len(lengths)))
        assert fmean(length == 1 for length in lengths) == pytest.approx(ends, abs=band(ends, len(lengths)))
        assert fmean(length > 3 for length in lengths) == pytest.approx(
            (1 - ends) ** 3, abs=band((1 - ends) ** 3, len(lengths))
        )


def test_each_link_has_its_own_bursts() -> None:
    loss = GilbertElliott(11, worsens=0.1, improves=0.1)
    many = 20_000
    there, back = [], []
    for number in range(many):
        there.append(loss.lost(1, 2, fold(number, 1)))
        back.append(loss.lost(2, 1, fold(number, 2)))
    alone = fates(GilbertElliott(11, worsens=0.1, improves=0.1), many)
    assert there == alone, "what happens on one link must not move another"
    error = 0.5 / math.sqrt(many) * math.sqrt((1 + 0.8**2) / (1 - 0.8**2))
    assert fmean(a == b for a, b in zip(there, back, strict=True)) == pytest.approx(0.5, abs=5 * error)


def test_a_link_that_never_worsens_loses_nothing() -> None:
    assert not any(fates(GilbertElliott(12, worsens=0.0, improves=0.5), 2000))


# -- duplication, partitions, repetition ------------------------------------------------------------------------


def test_the_share_of_duplicated_messages_is_close_to_what_was_asked() -> None:
    network = Network(13, CONSTANT, duplicated=0.2)
    copies = [len(network.transit(1, 2, Plain())) for _ in range(MANY)]
    assert set(copies) == {1, 2}
    assert fmean(copies) - 1 == pytest.approx(0.2, abs=band(0.2))


def test_the_two_copies_of_a_message_travel_on_their_own() -> None:
    network = Network(14, Latency(median_us=10_000, shape="exponential"), duplicated=1.0)
    pairs = [network.transit(1, 2, Plain()) for _ in range(MANY)]
    assert fmean(first < second for first, second in pairs) == pytest.approx(0.5, abs=band(0.5))
    assert fmean(second for _, second in pairs) == pytest.approx(10_000, abs=5 * 10_000 / math.sqrt(MANY))


def heard(network: Network, sender: Peer, target: Peer) -> bool:
    return bool(network.transit(sender, target, Plain()))


def test_islands_do_not_hear_each_other_until_the_network_heals() -> None:
    network = Network(15, CONSTANT)
    network.split(range(10), range(10, 20), [20, 21])
    for sender, target, arrives in (
        (1, 2, True),
        (11, 12, True),
        (20, 21, True),
        (1, 11, False),
        (11, 1, False),
        (1, 20, False),
    ):
        assert heard(network, sender, target) is arrives
    network.heal()
    assert heard(network, 1, 11)
    assert heard(network, 11, 20)


def test_a_cut_is_one_way_until_the_network_heals() -> None:
    network = Network(15, CONSTANT)
    network.cut([1, 2], [3])
    assert not heard(network, 1, 3)
    assert heard(network, 3, 1)
    assert heard(network, 1, 2)
    network.heal()
    assert heard(network, 1, 3)


def test_peers_on_no_island_are_with_the_first() -> None:
    network = Network(16, CONSTANT)
    network.split([1], [2])
    assert heard(network, 99, 1)
    assert heard(network, 98, 99)
    assert not heard(network, 99, 2)


def test_a_new_partition_replaces_the_old_one() -> None:
    network = Network(17, CONSTANT)
    network.split([1, 2], [3])
    network.split([1], [2, 3])
    assert heard(network, 2, 3)
    assert not heard(network, 1, 2)


def history(seed: int) -> list[list[int]]:
    loss = GilbertElliott(seed, worsens=0.1, improves=0.3)
    network = Network(seed, Latency(median_us=1000, shape="lognormal", spread=0.7), loss, duplicated=0.1)
    messages = [Plain() if number % 3 else bearing(number % 7) for number in range(600)]
    return [network.transit(number % 5, number % 4, message) for number, message in enumerate(messages)]


def test_a_seed_is_a_whole_network_history() -> None:
    assert history(18) == history(18)
    assert history(18) != history(19)


class Ping(Struct, frozen=True, tag="test.ping"):
    """A message whose fate only depends on how many of them there were."""


def test_what_is_counted_by_link_fares_the_same_whatever_else_is_sent() -> None:
    def fates(sender: Peer, others: int) -> list[bool]:
        network = Network(1, CONSTANT, Independent(lambda sender, target: 0.5), by_link=(Ping,))
        found = []
        for _ in range(40):
            for _ in range(others):
                network.transit(sender, 2, Plain())
                network.transit(3, 2, Ping())
            found.append(bool(network.transit(sender, 2, Ping())))
        return found

    assert fates(1, others=0) == fates(1, others=2)
    assert fates(1, others=0) != fates(4, others=0)
    assert 5 < sum(fates(1, others=0)) < 35
