import pytest

from gossamer.core.draws import chance
from gossamer.parts.liveness import Unanswered, false_alarms_per_hour, intervals_to_notice


def test_who_answers_owes_nothing_and_who_does_not_is_lost_after_so_many_questions() -> None:
    unanswered = Unanswered()
    for number in range(1, 6):
        unanswered.asked([1, 2])
        unanswered.heard(1)
        assert unanswered.silent([1, 2, 3]) == [2]
        assert unanswered.lost(5) == ([2] if number == 5 else [])
    unanswered.heard(2)
    assert unanswered.asks == {}


def test_answers_of_strangers_change_nothing() -> None:
    unanswered = Unanswered()
    unanswered.heard(9)
    assert unanswered.asks == {}


@pytest.mark.parametrize("loss", [0.1, 0.3])
def test_false_alarms_come_as_often_as_the_formula_says(loss: float) -> None:
    """Few questions, so that there are some to count."""
    asks, rounds, alarms = 3, 40_000, 0
    unanswered = Unanswered()
    for number in range(rounds):
        unanswered.asked([1])
        if min(chance(1, 2 * number), chance(1, 2 * number + 1)) >= loss:
            unanswered.heard(1)
        if unanswered.lost(asks):
            alarms += 1
            unanswered.heard(1)
    expected = false_alarms_per_hour(loss, asks, 3_600_000_000) * rounds
    assert 0.4 * expected < alarms < 1.1 * expected  # after an alarm, counting starts afresh


def test_the_parameters_that_ship_notice_the_dead_within_ten_intervals_and_leave_the_living_alone() -> None:
    assert intervals_to_notice(16, 4) == 5
    entries = 100 * 20
    assert false_alarms_per_hour(0.1, 16, 2_000_000) * entries < 1e-4
    assert false_alarms_per_hour(0.1, 3, 3_000_000) > 8  # what plain counting of three missed beats would do
