"""Nodes that adapt K_r begin anew when their interest changes: what was right for other topics may not be for these."""

from gossamer.core.machine import Subscribe, Unsubscribe
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.messages import Beat, Connect, Disconnect, DisconnectOk, LeaveLink, Standing
from gossamer.protocols.spidercast.task import Task
from protocols.overlays import One, wants


def alike() -> One:
    """One greedy link covers both topics of a node, so K_r is 1, and another link, to 8, does for that."""
    one = One(".a", ".b", greedy=1, adaptive=True)
    one.view.put(8, ".a", ".b")
    one.link(7, ".a", ".b", ".c", target=1)
    one.round()
    one.accept(8, ".a", ".b", task=rules.RANDOM, target=1)
    assert (random(one).coverage, [*random(one).neighbours]) == (1, [8])
    return one


def random(one: One) -> Task:
    return one.tasks[rules.RANDOM]


def test_k_r_is_found_anew_when_the_nodes_interest_changes() -> None:
    for change in (Subscribe(".d"), Unsubscribe(".b")):
        one = alike()
        one.give(change)
        assert random(one).coverage == 0
        assert random(one).target == 0


def test_k_r_stays_when_only_others_change_or_a_filter_does() -> None:
    one = alike()
    one.give(Subscribe(".a", where="price > 1"))
    one.view.put(9, ".a")
    one.hear(7, Beat(Standing(1, 1, True), Standing(0, 0, False), wants(".a", ".b").word, wants(".b").packed))
    one.round()
    assert random(one).coverage == 1


def test_where_few_greedy_links_still_do_random_coverage_comes_back_and_no_link_was_lost() -> None:
    one = alike()
    one.give(Subscribe(".c"))  # which 7 wants, too
    said = [message for _ in range(4) for message in one.round()]
    assert random(one).coverage >= 1
    assert 8 in random(one).neighbours
    assert not [message for message in said if isinstance(message, Disconnect | LeaveLink)]


def test_where_more_greedy_links_are_needed_the_random_ones_of_before_are_asked_to_part_and_who_refuses_stays() -> None:
    for agrees in (True, False):
        one = alike()
        one.view.put(9, ".d")
        one.give(Subscribe(".d"))
        assert [type(each) for each in one.round()] == [Connect]  # greedy coverage comes first
        one.accept(9, ".d", target=2)
        assert one.round() == [Disconnect(rules.RANDOM)]
        assert one.sent()[0][0] == 8
        if agrees:
            one.hear(8, DisconnectOk(rules.RANDOM))
        assert [one.round() for _ in range(5)] == [[]] * 5
        assert random(one).coverage == 0
        assert [*random(one).neighbours] == ([] if agrees else [8])


def test_a_node_that_chose_no_random_coverage_leaves_those_alone_that_asked_for_it() -> None:
    one = One(".a", ".b", greedy=1, adaptive=True)
    one.link(7, ".a", target=1)
    one.link(8, ".b", target=1)
    one.link(9, ".b", task=rules.RANDOM, target=1)
    one.give(Subscribe(".c"))
    assert [message for _ in range(5) for message in one.round()] == []
    assert [*random(one).neighbours] == [9]
