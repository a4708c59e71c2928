"""The decisions, as numbers."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.draws import chance
from gossamer.protocols.recovery import rules

TIMES = st.integers(0, 10**15)
INTERVALS = st.integers(1, 10**9)


@given(TIMES, TIMES, INTERVALS)
def test_the_next_round_is_after_now_on_the_grid_and_none_lies_between(now: int, origin: int, interval: int) -> None:
    due = rules.next_round_us(now, origin, interval)
    assert due > now or due == origin >= now
    assert (due - origin) % interval == 0
    assert due - interval <= now or due == origin
    assert rules.round_at(due, origin, interval) == (due - origin) // interval + 1 >= 1


def test_rounds_are_numbered_from_one() -> None:
    assert [rules.round_at(us, 100, 10) for us in (100, 109, 110, 125)] == [1, 1, 2, 3]


@given(st.integers(0, 2**64 - 1), INTERVALS)
def test_a_phase_is_within_its_interval(key: int, interval: int) -> None:
    assert 0 <= rules.phase(key, interval) < interval


@given(st.integers(0, 2**64 - 1), st.integers(1, 1000))
def test_choices_are_among_what_there_is(key: int, count: int) -> None:
    assert 0 <= rules.choice(key, count) < count
    assert 0 <= rules.mandatory(key, count) < count
    assert 0 <= rules.evicted(key, count) < count


def test_shares_come_out_as_asked_for() -> None:
    keys = [rules.forward_word(7, number) for number in range(4000)]
    assert abs(sum(rules.asks_publisher(key, 0.3) for key in keys) / 4000 - 0.3) < 0.03
    assert abs(sum(rules.forwards(key, 3, 0.8) for key in keys) / 4000 - 0.8) < 0.03
    assert not any(rules.forwards(key, 3, 0.0) for key in keys)
    assert all(rules.forwards(key, 3, 1.0) for key in keys)
    assert rules.forwards(keys[0], 3, 0.5) == (chance(keys[0], 3) < 0.5)


def test_the_newest_of_a_gap_are_lost() -> None:
    assert rules.first_lost(4, 7) == 5
    assert rules.first_lost(0, 10**9) == 10**9 - rules.GAP_MAX


def test_intervals_double_in_vain_up_to_a_bound_and_start_again() -> None:
    waits = [10]
    for _ in range(7):
        waits.append(rules.next_interval(waits[-1], 10, busy=False))
    assert waits == [10, 20, 40, 80, 160, 320, 320, 320]
    assert rules.next_interval(320, 10, busy=True) == 10


def test_tails_wait_longer_each_time_up_to_a_bound() -> None:
    assert [rules.tail_wait_us(500_000, n) for n in (0, 1, 5, 6, 7)] == [
        500_000,
        10**6,
        16 * 10**6,
        3 * 10**7,
        3 * 10**7,
    ]
    assert rules.tail_wait_us(10**8, 3) == 10**8


def test_large_events_cost_more() -> None:
    assert [rules.cost(size) for size in (0, 4095, 4096, 10**6)] == [1, 1, 2, 245]
