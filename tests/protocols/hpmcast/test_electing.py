"""Who stands for a subsystem."""

from gossamer.core.filters import parse
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.protocols.hpmcast.electing import covering, elected
from gossamer.protocols.hpmcast.messages import Seat
from gossamer.protocols.hpmcast.wanting import WantedPatterns

LINES = [
    [Seat((0, 1), 1, 5), Seat((0, 2), 2, 9), Seat((0, 3), 3, 1)],
    [Seat((1, 0), 10, 7)],
    [Seat((2, 0), 20, 0), Seat((2, 4), 24, 9)],
]


def peers(seats: tuple[Seat, ...]) -> list[int]:
    return [seat.peer for seat in seats]


def test_the_smallest_addresses() -> None:
    assert peers(elected(LINES, 3, "address")) == [1, 2, 3]


def test_the_smallest_of_each_subsystem_by_turns() -> None:
    assert peers(elected(LINES, 3, "branches")) == [1, 10, 20]
    assert peers(elected(LINES, 4, "branches")) == [1, 2, 10, 20]


def test_the_weightiest_and_then_the_smallest_addresses() -> None:
    assert peers(elected(LINES, 3, "capacity")) == [2, 24, 10]
    assert peers(elected(LINES, 5, "coverage")) == [2, 24, 10, 1, 3]


def test_all_where_there_are_fewer() -> None:
    for choice in ("address", "branches", "capacity", "coverage"):
        assert sorted(peers(elected(LINES, 99, choice))) == [1, 2, 3, 10, 20, 24]  # type: ignore[arg-type]
    assert elected([], 3, "branches") == ()


def member(number: int, *wanted: tuple[str, str]) -> tuple[Seat, WantedPatterns]:
    patterns = tuple(Pattern(topic, parse(where).text if where else "") for topic, where in wanted)
    return Seat((0, number), number), WantedPatterns(patterns)


def test_those_who_together_cover_most_interests() -> None:
    members = [
        member(1),
        member(2, (".a.b", "")),
        member(3, (".a", "p > 5")),
        member(4, (".a", "p > 2")),
        member(5, (".b", "")),
        member(6, (".a.b", "p > 9"), (".b.c", "")),
        member(7, (".b", ""), (".a", "p > 2")),
    ]
    chosen = covering(members, 3, Hierarchy())
    assert [(seat.peer, seat.weight) for seat in chosen] == [(7, 5), (2, 1), (1, 0)]


def test_who_wants_nothing_is_covered_by_nobody_in_particular() -> None:
    chosen = covering([member(number) for number in (3, 1, 2)], 2, Hierarchy())
    assert [(seat.peer, seat.weight) for seat in chosen] == [(1, 0), (2, 0)]
