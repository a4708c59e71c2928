"""Ranges of lost places: merged while losses follow each other, bounded in number, told once."""

from gossamer.live.spool import Lost
from gossamer.live.spool.losses import LOST_MAX, Losses


def test_batches_lost_one_after_the_other_are_one_range_per_topic() -> None:
    losses = Losses()
    losses.add(1, [".a", ".b"])
    losses.add(3, [".a"])
    losses.add(10, [".a"])
    assert losses.ranges() == [Lost(1, 3, ".a", 2), Lost(2, 2, ".b", 1), Lost(10, 10, ".a", 1)]


def test_a_reader_is_told_each_range_once_where_it_ends() -> None:
    losses = Losses([Lost(5, 10, ".a", 3)])
    assert losses.between(0, 9, ["."]) == []
    assert losses.between(9, 10, [".a"]) == [Lost(5, 10, ".a", 3)]
    assert losses.between(10, 20, ["."]) == []
    assert losses.between(0, 20, [".b"]) == []


def test_too_many_ranges_become_fewer_and_none_of_their_events_is_forgotten() -> None:
    losses = Losses()
    for n in range(10 * LOST_MAX):
        losses.add(3 * n + 1, [".a.b"])
    ranges = losses.ranges()
    assert len(ranges) <= LOST_MAX
    assert sum(each.events for each in ranges) == 10 * LOST_MAX
    assert (ranges[0].first, ranges[0].topic) == (1, ".")
    assert losses.between(0, 30 * LOST_MAX, [".x"]) == [ranges[0]], "a range of any topic concerns every reader"


def test_a_run_over_very_many_topics_is_bounded_too() -> None:
    losses = Losses()
    losses.add(1, [f".t{n}" for n in range(10 * LOST_MAX)])
    assert len(losses.ranges()) <= LOST_MAX
    assert sum(each.events for each in losses.ranges()) == 10 * LOST_MAX
