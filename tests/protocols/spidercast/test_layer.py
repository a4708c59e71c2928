"""One overlay node: what it says to others and what it makes of what they say."""

from gossamer.core.machine import Fired, Leave, StartPublishing, StopPublishing, Unsubscribe
from gossamer.core.topics import Hierarchy
from gossamer.protocols.spidercast.layer import Maintain
from gossamer.protocols.spidercast.messages import (
    Beat,
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    LeaveLink,
    Redirect,
    Standing,
)
from protocols.overlays import NO, One, only, wants

# -- connecting -----------------------------------------------------------------------------------------------------


def test_a_round_asks_one_peer_of_the_view_telling_degree_target_and_wants() -> None:
    one = One(".a", ".b", greedy=2)
    one.view.put(7, ".a")
    one.view.put(8, ".a", ".b")
    assert only(one.round()) == Connect(0, 0, 4, wants(".a", ".b").packed)
    assert one.sent()[0][0] == 8
    assert one.greedy.target == 4


def test_a_candidate_that_does_not_answer_is_asked_again_only_after_quarantine() -> None:
    one = One(".a", quarantine=5)
    one.view.put(7, ".a")
    assert [len(one.round()) for _ in range(8)] == [1, 0, 0, 0, 0, 1, 0, 0]


def test_a_request_is_accepted_and_the_link_told_to_other_layers() -> None:
    one = One(".a")
    assert only(one.link(7, ".a", degree=4, target=9)) == ConnectOk(0, 1, 0, wants(".a").packed)
    assert one.link_notes.told == [("up", 7)]
    assert one.overlay.about(".a") == [7]
    assert (one.greedy.neighbours[7].degree, one.greedy.neighbours[7].target) == (4, 9)


def test_the_answer_goes_out_before_the_target_grows() -> None:
    one = One(".a", greedy=3)
    one.view.put(7, ".a")
    one.round()
    one.accept(7, ".a")
    one.greedy.target = 1
    assert only(one.link(8, ".a")) == ConnectOk(0, 2, 1, wants(".a").packed)
    assert one.greedy.target == 2


def test_asking_a_neighbour_again_is_answered_and_changes_nothing() -> None:
    one = One(".a")
    one.link(7, ".a", degree=1, target=3)
    assert type(only(one.link(7, ".a", degree=2, target=3))) is ConnectOk
    assert one.greedy.degree == 1
    assert one.greedy.neighbours[7].degree == 2
    assert one.link_notes.told == [("up", 7)]


def test_one_link_of_two_tasks_is_one_link_to_others() -> None:
    one = One(".a", random=1)
    one.link(7, ".a")
    one.link(7, ".a", task=1)
    one.hear(7, LeaveLink(0))
    assert one.link_notes.told == [("up", 7)]
    one.hear(7, LeaveLink(1))
    assert one.link_notes.told == [("up", 7), ("down", 7)]


def test_nobody_is_taken_beyond_limit_and_margin_but_sent_on_with_a_hint() -> None:
    one = One(".a", greedy=1, margin=1)
    one.link(7, ".a", degree=9, target=3)
    one.link(8, ".a", degree=1, target=3)
    answer = only(one.link(9, ".a"))
    assert answer == Redirect(0, 8, wants(".a").packed)
    assert one.greedy.degree == 2
    one.greedy.neighbours[8].degree = 5
    assert only(one.link(9, ".a")) == Redirect(0)


def test_who_shares_nothing_is_sent_away_and_to_nobody() -> None:
    one = One(".a")
    one.link(8, ".a")
    assert only(one.link(7, ".x")) == Redirect(0)
    assert only(one.accept(7, ".x")) == LeaveLink(0)


def test_who_wants_a_subtopic_or_what_includes_ours_shares_something() -> None:
    for theirs in (".a.b.c", ".a", ".", ".a.b"):
        assert type(only(One(".a.b").link(7, theirs))) is ConnectOk


def test_an_accepted_request_makes_a_link_and_one_that_comes_too_late_is_left() -> None:
    one = One(".a", greedy=1, margin=0)
    one.view.put(7, ".a")
    one.round()
    one.link(8, ".a")
    assert only(one.accept(7, ".a")) == LeaveLink(0)
    other = One(".a", greedy=1, margin=0)
    other.view.put(7, ".a")
    other.round()
    assert other.accept(7, ".a") == []
    assert other.overlay.about(".a") == [7]


def test_a_redirect_quarantines_who_refused_and_names_who_is_asked_next() -> None:
    one = One(".a", greedy=1, quarantine=4)
    one.view.put(7, ".a")
    one.round()
    one.hear(7, Redirect(0, 9, wants(".a").packed))
    assert one.sent() == []
    one.round()
    assert [peer for peer, _ in one.sent()] == [9]
    assert 9 not in one.greedy.introduced
    assert 7 in one.greedy.quarantine


def test_only_who_was_asked_may_send_on_and_never_back_to_oneself() -> None:
    one = One(".a")
    one.hear(7, Redirect(0, 9, wants(".a").packed))
    assert not one.greedy.introduced
    one.view.put(7, ".a")
    one.round()
    one.hear(7, Redirect(0, 0, wants(".a").packed))
    one.hear(7, Redirect(0, None))
    assert not one.greedy.introduced


def test_a_node_that_wants_what_nobody_has_asks_nobody() -> None:
    one = One(".a", ".lonely", greedy=1)
    one.view.put(7, ".a")
    one.view.put(8, ".a")
    one.round()
    one.accept(7, ".a")
    assert [one.round() for _ in range(20)] == [[]] * 20
    assert one.greedy.degree == 1


# -- parting --------------------------------------------------------------------------------------------------------


def covered(*, degree: int = 3, target: int = 3) -> One:
    """K = 1 and two neighbours for one topic."""
    one = One(".a", greedy=1, margin=5)
    one.link(7, ".a", degree=degree, target=target)
    one.link(8, ".a", degree=degree, target=target)
    return one


def test_who_is_covered_twice_asks_a_neighbour_that_can_do_with_one_less() -> None:
    one = covered()
    assert only(one.round()) == Disconnect(0)
    (peer, _) = one.sent()[0]
    one.hear(peer, DisconnectOk(0))
    assert one.greedy.degree == 1
    assert one.link_notes.told[-1] == ("down", peer)
    assert one.round() == []


def test_a_refused_disconnect_is_asked_again_only_when_that_neighbours_degree_has_risen() -> None:
    one = covered()
    asked = [peer for _ in range(6) if one.round() for peer, _ in one.sent()]
    assert sorted(asked) == [7, 8]
    for degree, target in ((3, 2), (2, 2), (2, 1)):
        one.hear(7, Beat(Standing(degree, target, True), NO, wants(".a").word))
        assert [one.round() for _ in range(3)] == [[]] * 3
    one.hear(7, Beat(Standing(3, 3, True), NO, wants(".a").word))
    assert only(one.round()) == Disconnect(0)
    assert one.sent()[0][0] == 7


def test_neighbours_that_still_look_for_more_are_not_asked() -> None:
    assert covered(degree=2, target=3).round() == []


def test_who_is_asked_to_part_agrees_only_if_it_stays_covered_or_has_too_many() -> None:
    one = One(".a", ".b", greedy=1)
    one.view.put(9, ".b")
    one.link(7, ".a")
    one.round()
    assert one.hear(7, Disconnect(0)) == []
    assert one.greedy.degree == 1
    one.link(8, ".a", ".b")
    assert only(one.hear(7, Disconnect(0))) == DisconnectOk(0)
    assert (one.greedy.degree, one.greedy.target) == (1, 1)


def test_who_is_asked_to_part_by_a_stranger_agrees() -> None:
    assert only(One(".a").hear(7, Disconnect(0))) == DisconnectOk(0)


def test_a_node_with_more_than_its_target_lets_go_even_if_it_would_be_uncovered() -> None:
    one = One(".a", ".b", greedy=1)
    for peer in (7, 8, 9):
        one.link(peer, ".a")
    one.round()
    assert one.greedy.target == 2
    assert only(one.hear(7, Disconnect(0))) == DisconnectOk(0)
    assert one.greedy.target == 2  # topic b is not covered


def test_a_neighbour_that_leaves_is_gone_and_another_is_looked_for() -> None:
    one = One(".a", greedy=1)
    one.link(7, ".a")
    one.view.put(8, ".a")
    assert one.round() == []
    one.hear(7, LeaveLink(0))
    assert one.link_notes.told == [("up", 7), ("down", 7)]
    assert not one.overlay.resting
    assert type(only(one.round())) is Connect


def test_a_node_that_leaves_says_so_to_every_neighbour_in_each_task() -> None:
    one = One(".a", random=1)
    one.link(7, ".a")
    one.link(7, ".a", task=1)
    one.link(8, ".a")
    one.give(Leave())
    assert sorted((peer, message.task) for peer, message in one.sent()) == [(7, 0), (7, 1), (8, 0)]  # type: ignore[attr-defined]
    assert not one.overlay.links.neighbours()
    one.timers.clear()
    one.give(Fired(Maintain(one.overlay.number - 1)))
    assert one.timers == []


# -- interest -------------------------------------------------------------------------------------------------------


def test_neighbours_hear_at_once_of_a_changed_interest_and_the_task_is_woken() -> None:
    one = One(".a", ".b", greedy=1)
    one.link(7, ".a")
    one.link(8, ".b")
    one.round(3)
    assert one.overlay.resting
    told = one.give(Unsubscribe(".b"))
    assert Beat(Standing(1, 2, True), NO, wants(".a").word, wants(".a").packed) in told
    assert (8, LeaveLink(0)) in one.sent()  # nothing is shared any more
    assert one.overlay.about(".a") == [7]
    assert not one.overlay.resting


def test_a_removed_topic_lets_surplus_links_go() -> None:
    one = One(".a", ".b", greedy=1)
    one.link(7, ".a", degree=3, target=3)
    one.link(8, ".a", ".b", degree=3, target=3)
    one.round()
    assert one.greedy.under_without(8) == 1
    one.give(Unsubscribe(".b"))
    said = [message for _ in range(3) for message in one.round()]
    assert Disconnect(0) in said


def test_topics_one_publishes_on_are_covered_like_those_one_reads() -> None:
    one = One(greedy=1)
    one.view.put(7, ".p")
    assert one.round() == []
    one.give(StartPublishing(".p"))
    assert only(one.round()) == Connect(0, 0, 1, wants(".p").packed)
    one.accept(7, ".p")
    one.give(StopPublishing(".p"))
    assert (7, LeaveLink(0)) in one.sent()


def test_topics_below_ones_own_are_covered_once_somebody_wants_them() -> None:
    one = One(".a", greedy=1, below_max=2)
    assert len(one.greedy.needs) == 1
    one.view.put(7, ".a.b", ".x.y")
    assert type(only(one.round())) is Connect
    assert one.greedy.needs == (*wants(".a").chains, *wants(".a.b").chains)
    one.view.put(8, ".a.c", ".a.d", ".a.e")
    one.round()
    assert len(one.greedy.needs) == 3
    other = One(".a")
    other.link(9, ".a.b")
    other.round()
    assert len(other.greedy.needs) == 2


def test_further_super_topics_are_covered_too() -> None:
    hierarchy = Hierarchy({".news.sport": [".soccer"]})
    one = One(".soccer", hierarchy=hierarchy, greedy=1)
    one.view.known[7] = wants(".news.sport", hierarchy=hierarchy)
    one.view.changes += 1
    assert type(only(one.round())) is Connect


def test_a_neighbour_that_wants_something_else_is_counted_anew() -> None:
    one = One(".a", ".b", greedy=1)
    one.link(7, ".a", ".b")
    assert one.greedy.under == 0
    one.hear(7, Beat(Standing(1, 1, True), NO, 0, wants(".a").packed))
    assert one.greedy.under == 1
    assert one.link_notes.told == [("up", 7), ("wants", 7)]
    assert one.overlay.about(".b") == []
    one.hear(7, Beat(Standing(1, 1, True), NO, 0, wants(".x").packed))
    assert one.sent() == [(7, LeaveLink(0))]
    assert one.link_notes.told[-1] == ("down", 7)
