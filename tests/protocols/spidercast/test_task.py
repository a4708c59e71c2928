"""One task: what it takes for covered, whom it asks, whom it parts from, whom it names to others."""

from collections import Counter

import pytest

from gossamer.core.ids import Peer
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.params import Params
from gossamer.protocols.spidercast.task import Task
from protocols.overlays import wants

TOPICS = (".a", ".b", ".c")


def task(*topics: str, number: int = rules.GREEDY, coverage: int = 2, **params: object) -> Task:
    made = Task(number, Params(**params), coverage)  # type: ignore[arg-type]
    made.need(wants(*topics).chains)
    return made


def linked(made: Task, peer: Peer, *topics: str, degree: int = 3, target: int = 3) -> None:
    made.add(peer, wants(*topics), degree, target, 0)


def test_a_topic_is_covered_by_k_neighbours_that_want_it_or_what_includes_it() -> None:
    made = task(*TOPICS)
    assert (made.limit, made.under) == (6, 3)
    linked(made, 1, ".a", ".b")
    linked(made, 2, ".a")
    assert made.under == 2
    linked(made, 3, ".", ".x")
    assert made.under == 1
    assert made.under_without(3) == 2
    assert made.under_without(2) == 1  # 1 and 3 are left
    made.remove(3)
    assert made.under == 2


def test_counts_follow_when_a_neighbour_or_the_node_itself_wants_something_else() -> None:
    made = task(*TOPICS, coverage=1)
    linked(made, 1, *TOPICS)
    assert made.under == 0
    made.rethink(1, wants(".a"))
    assert made.under == 2
    made.need(wants(".a", ".d").chains)
    assert (made.under, made.limit) == (1, 2)
    made.remove(1)
    assert made.cover == [0, 0]


def test_greedy_asks_whoever_covers_most_of_what_is_not_covered() -> None:
    made = task(*TOPICS, coverage=1)
    linked(made, 9, ".a", ".b")
    view = {1: wants(".a", ".b"), 2: wants(".c"), 3: wants(".a", ".b", ".x")}
    assert made.candidate(view, 7) == 2


def test_whoever_would_gain_nothing_is_never_asked() -> None:
    for number in (rules.GREEDY, rules.RANDOM):
        made = task(*TOPICS, number=number, coverage=1)
        linked(made, 9, ".a", ".b")
        made.introduce(4, wants(".b"))
        assert made.candidate({1: wants(".a", ".b"), 2: wants(".x")}, 7) is None


def test_neighbours_and_those_in_quarantine_are_passed_over() -> None:
    made = task(*TOPICS, quarantine=4)
    linked(made, 1, ".a", ".b", ".c")
    made.shun(2, turn=10)
    made.introduce(2, wants(".a"))
    view = {1: wants(*TOPICS), 2: wants(*TOPICS), 3: wants(".c")}
    made.release(13)
    assert made.candidate(view, 7) == 3
    made.release(14)
    assert made.candidate(view, 7) == 2


def test_those_others_named_come_before_the_view_if_they_gain_anything() -> None:
    made = task(*TOPICS)
    made.introduce(5, wants(".x"))
    view = {1: wants(*TOPICS)}
    assert made.candidate(view, 7) == 1
    made.introduce(6, wants(".c"))
    assert made.candidate(view, 7) == 6


def test_who_is_named_by_others_is_remembered_up_to_a_bound_the_first_named_going_first() -> None:
    made = task(*TOPICS)
    for peer in range(100):
        made.introduce(peer, wants(".a"))
    made.introduce(90, wants(".b"))
    assert [*made.introduced] == [*range(100 - rules.INTRODUCED_MAX, 100)]
    assert made.introduced[90] == wants(".b")


@pytest.mark.parametrize("number", [rules.GREEDY, rules.RANDOM])
def test_ties_are_broken_uniformly(number: int) -> None:
    made = task(*TOPICS, number=number)
    view = {peer: wants(".a", ".b") for peer in range(10)}
    view[99] = wants(".x")
    chosen = Counter(made.candidate(view, key) for key in range(1000, 5000))
    assert chosen.keys() == {*range(10)}
    chi2 = sum((count - 400) ** 2 / 400 for count in chosen.values())
    assert chi2 < 27.9, chosen  # nine degrees of freedom: exceeded once in a thousand


def test_the_random_task_asks_anybody_who_gains_with_the_same_chance() -> None:
    made = task(*TOPICS, number=rules.RANDOM)
    view = {1: wants(*TOPICS), 2: wants(".a"), 3: wants(".b"), 4: wants(".x")}
    chosen = Counter(made.candidate(view, key) for key in range(3000))
    assert chosen.keys() == {1, 2, 3}
    assert sum((count - 1000) ** 2 / 1000 for count in chosen.values()) < 13.8


def test_the_neighbour_missed_least_is_parted_from_if_it_can_do_with_one_less() -> None:
    made = task(".a", ".b", coverage=1)
    linked(made, 1, ".a", ".b")
    linked(made, 2, ".a", ".b")
    linked(made, 3, ".b")
    assert made.surplus(7) in (1, 2, 3)
    made.neighbours[3].target = 4
    made.neighbours[2].target = 4
    assert made.surplus(7) == 1
    made.neighbours[1].degree = 2
    assert made.surplus(7) is None


def test_by_the_figure_only_who_has_more_than_its_target_is_asked_to_part_by_the_prose_who_has_reached_it() -> None:
    for parting, asked in (("prose", 1), ("figure", None)):
        made = task(".a", coverage=1, parting=parting)
        linked(made, 1, ".a", degree=3, target=3)
        linked(made, 2, ".a", degree=2, target=3)
        assert made.surplus(7) == asked
        made.neighbours[1].tells(4, 3)
        assert made.surplus(7) == 1


def test_nobody_is_parted_from_who_would_be_missed_unless_there_are_too_many() -> None:
    made = task(".a", ".b", coverage=1)
    linked(made, 1, ".a")
    linked(made, 2, ".b")
    assert made.surplus(7) is None
    linked(made, 3, ".x")
    made.neighbours[3].target = 4
    assert made.surplus(7) in (1, 2)  # three are more than L^max


def test_a_neighbour_that_refused_is_asked_again_only_when_its_degree_has_risen() -> None:
    made = task(".a", coverage=1)
    linked(made, 1, ".a")
    linked(made, 2, ".a")
    made.neighbours[1].asked = made.neighbours[2].asked = True
    for degree, target in ((3, 3), (3, 2), (2, 2), (1, 1)):
        made.neighbours[1].tells(degree, target)
        assert made.surplus(7) is None
    made.rethink(1, wants(".a", ".x"))
    assert made.surplus(7) is None
    made.neighbours[1].tells(2, 1)  # it lost two, and found another
    assert made.surplus(7) == 1


def test_parting_breaks_ties_uniformly() -> None:
    made = task(".a", coverage=1)
    for peer in range(5):
        linked(made, peer, ".a")
    chosen = Counter(made.surplus(key) for key in range(2000))
    assert sum((chosen[peer] - 400) ** 2 / 400 for peer in range(5)) < 18.5


def test_others_are_sent_on_to_the_neighbour_with_room_that_shares_most_with_them() -> None:
    made = task(*TOPICS, margin=1)
    linked(made, 1, *TOPICS, degree=4, target=3)
    linked(made, 2, ".a", ".x", ".y", degree=3, target=3)
    linked(made, 3, ".a", degree=0, target=3)
    assert made.better(8, wants(".x", ".y", ".a"), 7) == 2
    assert made.better(2, wants(".x", ".y", ".a"), 7) == 3
    assert made.better(8, wants(*TOPICS), 7) in (2, 3)
    assert task(*TOPICS).better(8, wants(".a"), 7) is None


def test_what_nobody_known_wants_is_sought_and_nothing_else() -> None:
    made = task(*TOPICS, coverage=2)
    linked(made, 1, ".a", ".b")
    view = {1: wants(".a", ".b"), 2: wants(".b")}
    assert made.unknown(view) == [chain for chain in made.needs if chain not in wants(".b").chains]
    made.shun(2, 0)
    made.introduce(3, wants(".a"))
    assert made.unknown(view) == [*wants(".c").chains]


def test_similarity_counts_what_is_shared_and_random_links_go_to_anybody() -> None:
    similar = task(*TOPICS, coverage=2, selection="similarity")
    assert (similar.limit, similar.under) == (2, 2)
    view = {1: wants(".a", ".x"), 2: wants(".a", ".b"), 3: wants(".x")}
    assert similar.candidate(view, 7) == 2
    linked(similar, 2, ".a", ".b")
    assert (similar.under, similar.under_without(2)) == (1, 2)
    assert similar.candidate(view, 7) == 1
    linked(similar, 1, ".a")
    assert similar.candidate({3: wants(".x")}, 7) is None
    anybody = task(*TOPICS, number=rules.RANDOM, selection="random")
    assert {anybody.candidate(view, key) for key in range(50)} == {1, 2, 3}


def test_the_target_grows_with_neighbours_but_never_above_the_limit() -> None:
    made = task(".a", ".b", coverage=1, margin=5)
    for peer in range(6):
        linked(made, peer, ".a")
        made.grow()
    assert made.target == made.limit == 2
    assert made.has_room()
    linked(made, 6, ".a")
    assert not made.has_room()


def test_a_task_that_looks_for_nobody_still_takes_a_few() -> None:
    made = task(".a", coverage=0, margin=2)
    for peer in range(2):
        assert made.has_room()
        linked(made, peer, ".a")
    assert not made.has_room()
    assert made.under_without(1) == 0
