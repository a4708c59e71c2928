"""Allowances: so many at once, so many a second, and never more of them than there is room for."""

from gossamer.live.allowance import Allowance, Allowances


def taken(allowance: Allowance, now_s: float, tries: int) -> int:
    return sum(allowance.take(now_s) for _ in range(tries))


def test_a_burst_is_allowed_and_then_the_rate() -> None:
    allowance = Allowance(per_s=2.0, burst=5, now_s=100.0)
    assert taken(allowance, 100.0, 10) == 5
    assert taken(allowance, 100.4, 10) == 0
    assert taken(allowance, 101.0, 10) == 2
    assert sum(taken(allowance, 101.0 + i / 10, 10) for i in range(101)) == 20


def test_nothing_is_saved_up_beyond_the_burst() -> None:
    allowance = Allowance(per_s=2.0, burst=5, now_s=0.0)
    assert taken(allowance, 1e9, 10) == 5


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    allowance = Allowance(per_s=1.0, burst=2, now_s=100.0)
    assert taken(allowance, 100.0, 1) == 1
    assert taken(allowance, 50.0, 5) == 1
    assert taken(allowance, 100.5, 5) == 0


def test_what_costs_more_than_is_left_takes_nothing() -> None:
    allowance = Allowance(per_s=1.0, burst=10, now_s=0.0)
    assert not allowance.take(0.0, cost=11)
    assert allowance.take(0.0, cost=10)


def test_one_key_does_not_use_up_what_is_anothers() -> None:
    allowances = Allowances[str](per_s=1.0, burst=3)
    assert sum(allowances.take("loud", 0.0) for _ in range(100)) == 3
    assert allowances.take("quiet", 0.0)


def test_whoever_asked_longest_ago_is_forgotten_when_there_are_too_many() -> None:
    allowances = Allowances[int](per_s=1.0, burst=1, kept_max=3)
    for key in (1, 2, 3, 1, 4):
        allowances.take(key, 0.0)
    assert [*allowances.kept] == [3, 1, 4]
