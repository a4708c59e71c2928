"""Heartbeats, and what a node makes of its own state round by round."""

from collections.abc import Sequence

import pytest
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import (
    SECOND_US,
    Fired,
    Note,
    PeerDown,
    Publish,
    Started,
    Tune,
)
from gossamer.core.topics import Hierarchy
from gossamer.parts.wants import chain_of
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.beats import BeatDue
from gossamer.protocols.spidercast.layer import Maintain
from gossamer.protocols.spidercast.links import ASKED_BURST
from gossamer.protocols.spidercast.messages import (
    Beat,
    Connect,
    ConnectOk,
    LeaveLink,
    Seek,
    Standing,
)
from gossamer.protocols.spidercast.params import Params
from protocols.overlays import NO, One, only, wants

# -- heartbeats -----------------------------------------------------------------------------------------------------


def pulse(one: One) -> list[Struct]:
    one.now_us += one.params.beat_us
    return one.give(Fired(BeatDue()))


def test_heartbeats_tell_degree_and_target_of_both_tasks_and_wants_only_if_they_changed() -> None:
    one = One(".a", greedy=2, random=1)
    one.link(7, ".a")
    one.round()
    assert only(pulse(one)) == Beat(Standing(1, 2, True), Standing(0, 1, False), wants(".a").word)
    one.hear(7, Beat(Standing(5, 6, True), NO, known=12345))
    assert only(pulse(one)).wants == wants(".a").packed  # type: ignore[attr-defined]
    one.hear(7, Beat(Standing(5, 6, True), NO, known=wants(".a").word))
    assert only(pulse(one)).wants is None  # type: ignore[attr-defined]
    assert (one.greedy.neighbours[7].degree, one.greedy.neighbours[7].target) == (5, 6)


def test_a_silent_neighbour_is_given_up_and_one_that_is_heard_is_not() -> None:
    one = One(".a", beats_missed=3)
    one.link(7, ".a")
    one.link(8, ".a")
    for _ in range(3):
        pulse(one)
        one.hear(8, Beat(Standing(1, 1, True), NO, wants(".a").word))
    said = pulse(one)
    assert one.overlay.about(".a") == [8]
    assert LeaveLink(0) in said
    assert one.link_notes.told[-1] == ("down", 7)


def test_a_peer_the_transport_gave_up_is_a_neighbour_no_longer_nor_a_candidate() -> None:
    one = One(".a", random=1)
    one.link(7, ".a")
    one.link(7, ".a", task=1)
    one.greedy.introduce(8, wants(".a"))
    one.give(PeerDown(7))
    one.give(PeerDown(8))
    assert one.sent() == []
    assert not one.overlay.links.neighbours()
    assert not one.greedy.introduced


def test_a_link_that_only_the_other_end_has_is_ended() -> None:
    one = One(".a")
    one.hear(7, Beat(Standing(1, 1, True), Standing(1, 1, True), 0))
    assert one.sent() == [(7, LeaveLink(0)), (7, LeaveLink(1))]
    assert one.hear(7, Beat(NO, NO, 0)) == []


def test_a_link_whose_acceptance_may_be_on_its_way_is_not_ended() -> None:
    one = One(".a")
    one.view.put(7, ".a")
    one.round()
    assert one.hear(7, Beat(Standing(1, 1, True), NO, 0)) == []


def test_a_link_that_only_this_end_has_is_ended_unless_it_is_new() -> None:
    one = One(".a")
    one.link(7, ".a")
    one.hear(7, Beat(NO, NO, 0))
    assert one.greedy.degree == 1
    one.now_us += 2 * one.params.beat_us
    one.hear(7, Beat(NO, NO, 0))
    assert one.greedy.degree == 0


# -- adaptive K_r ---------------------------------------------------------------------------------------------------


def test_random_coverage_is_raised_step_by_step_where_greedy_took_as_few_links_as_it_can() -> None:
    one = One(".a", ".b", ".c", ".d", ".e", ".f", adaptive=True, greedy=2)
    everything = [f".{letter}" for letter in "abcdef"]
    random = one.tasks[rules.RANDOM]
    for peer in (1, 2):
        one.link(peer, *everything)
    one.round()
    assert random.coverage == 1
    one.link(3, *everything, task=1)
    seen = [(one.round(), random.coverage)[1] for _ in range(3)]
    assert seen == [2, 2, 2]  # not covered twice yet
    for peer in (4, 5, 6):
        one.link(peer, *everything, task=1)
    one.round(5)
    assert random.coverage == 2  # six links for six topics: no more
    one.hear(6, LeaveLink(1))
    one.round(5)
    assert random.coverage == 4  # never more than that


def test_random_coverage_stays_at_nothing_where_greedy_took_more_links() -> None:
    one = One(".a", ".b", adaptive=True, greedy=1)
    one.link(1, ".a")
    one.link(2, ".b")
    one.round(5)
    assert one.tasks[rules.RANDOM].coverage == 0


# -- Peers, and publications ----------------------------------------------------------------------------------------


def test_peers_of_a_topic_are_the_neighbours_that_want_it() -> None:
    one = One(".a", ".b", random=1)
    one.link(7, ".a")
    one.link(8, ".b")
    one.link(9, ".", task=1)
    one.view.put(5, ".a")
    assert one.overlay.about(".a") == [7, 9]
    assert one.overlay.about(".a.x") == [7, 9]
    assert one.overlay.size(".a") == 4
    assert sorted(one.overlay.sample(".a", 5, 1)) == [7, 9]
    assert one.overlay.sample(".a", 1, 1) in ([7], [9])


def test_a_topic_has_its_place_once_all_who_are_known_for_it_are_neighbours() -> None:
    one = One(".a", greedy=3)
    one.view.put(7, ".a")
    one.view.put(8, ".a")
    assert not one.overlay.ready(".a")
    one.round()
    one.accept(one.sent()[0][0], ".a")
    one.round()
    assert not one.overlay.ready(".a")
    one.accept(one.sent()[0][0], ".a")
    one.round()
    assert one.overlay.ready(".a")


def test_a_node_alone_with_a_topic_takes_its_place_after_a_while() -> None:
    one = One(".a")
    one.round(10)
    assert not one.overlay.ready(".a")
    one.round(10)
    assert one.overlay.ready(".a")


def test_a_publication_waits_for_its_place() -> None:
    spread: list[Event] = []

    class Spread:
        relays = False

        def publish(self, events: Sequence[Event]) -> bool:
            if ready := one.overlay.ready(events[0].topic):
                spread.extend(events)
            return ready

        def has_place(self, topic: str) -> bool:
            return one.overlay.ready(topic)

    one = One()
    one.node.spread = Spread()  # type: ignore[assignment]
    one.view.put(7, ".a")
    one.give(Publish(Event(EventId(0, 0, 1), ".a")))
    assert one.node.waiting == 1
    one.round()
    one.accept(7, ".a")
    one.round()
    assert one.node.waiting == 0
    assert [event.topic for event in spread] == [".a"]


# -- rounds, settings, strangers ------------------------------------------------------------------------------------


def test_rounds_are_rare_at_rest_and_stale_timers_are_ignored() -> None:
    one = One(".a", greedy=1)
    one.give(Started())
    first = one.overlay.number
    one.timers.clear()
    one.round()
    assert [each.after_us for each in one.timers] == [one.params.rest_us]
    one.view.put(7, ".a")
    one.hear(7, LeaveLink(0))
    one.link(8, ".a")
    one.hear(8, LeaveLink(0))
    assert one.overlay.number == first + 1
    assert one.give(Fired(Maintain(first))) == []
    assert type(only(one.round())) is Connect
    assert one.timers[-1].after_us == one.params.round_us


def test_settings_may_change_and_a_task_that_is_switched_off_leaves_its_neighbours() -> None:
    one = One(".a", random=1)
    one.link(7, ".a")
    one.link(8, ".a", task=1)
    one.give(Tune(".", Params(greedy=2, random=0)))
    assert one.sent() == [(8, LeaveLink(1))]
    assert one.greedy.limit == 2
    one.give(Tune(".", Params(selection="similarity")))
    assert one.greedy.limit == 2


def test_rings_are_not_for_nodes() -> None:
    with pytest.raises(Misuse, match="for experiments"):
        One(selection="ring")


@pytest.mark.parametrize(
    "message",
    [
        Connect(0, 0, 0, b"\x01"),
        ConnectOk(1, 0, 0, b"nonsense"),
        Seek(0, 1, 7, b"\x00"),
    ],
    ids=["connect", "connect_ok", "seek"],
)
def test_what_nobody_could_want_is_refused_with_a_note(message: Struct) -> None:
    one = One(".a", rendezvous=True)
    assert one.hear(7, message) == []
    assert [effect.kind for effect in one.effects if type(effect) is Note] == ["reject"]
    assert not one.overlay.links.neighbours()


def test_what_nobody_could_want_is_refused_of_a_neighbour_too_and_of_strangers_not_even_read() -> None:
    one = One(".a")
    bad = Beat(Standing(1, 1, True), NO, 0, b"\xff\xff")
    one.hear(8, bad)
    assert [effect for effect in one.effects if type(effect) is Note] == []
    one.link(7, ".a")
    one.hear(7, bad)
    assert [effect.kind for effect in one.effects if type(effect) is Note] == ["reject"]
    assert one.overlay.about(".a") == [7]


def test_a_neighbour_that_changes_its_mind_all_the_time_is_not_followed_each_time() -> None:
    one = One(".a", ".b")
    one.link(7, ".a")
    for number in range(3 * ASKED_BURST):
        wanted = wants(".a", ".b" if number % 2 else ".c")
        one.hear(7, Beat(Standing(1, 1, True), NO, one.overlay.links.wants.word, wanted.packed))
    assert 0 < one.link_notes.told.count(("wants", 7)) < ASKED_BURST
    one.now_us += SECOND_US
    one.hear(7, Beat(Standing(1, 1, True), NO, 0, wants(".a", ".d").packed))
    assert one.overlay.links.neighbours() == {7: wants(".a", ".d")}


def test_who_asks_too_often_is_not_heard() -> None:
    one = One(".a")
    answers = [one.link(7, ".a") for _ in range(ASKED_BURST + 10)]
    assert sum(bool(answer) for answer in answers) == ASKED_BURST
    assert one.link(8, ".a")


def test_a_node_never_becomes_its_own_neighbour() -> None:
    one = One(".a")
    assert one.hear(0, Connect(0, 1, 1, wants(".a").packed)) == []
    assert one.hear(0, ConnectOk(0, 1, 1, wants(".a").packed)) == []
    assert one.greedy.degree == 0


def test_chains_of_topics_follow_the_networks_spelling() -> None:
    one = One()
    one.overlay.own.spell = lambda topic: f"secret {topic}"
    assert (
        one.overlay.chain(".x")
        == chain_of(".x", Hierarchy(), one.overlay.own.spell)
        != chain_of(".x", Hierarchy(), str)
    )
