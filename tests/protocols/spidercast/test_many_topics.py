"""A node with very many topics: told together, looked for in turn, and no heavier on others than they can bear."""

import pytest

from gossamer.core.machine import Fired, SetTimer, Subscribe, Unsubscribe
from gossamer.parts.wants import PART_BYTES_MAX, Wants, word_of
from gossamer.protocols.interests import view as views
from gossamer.protocols.interests.messages import Entry, Mark
from gossamer.protocols.interests.view import KnownInterests
from gossamer.protocols.spidercast import links
from gossamer.protocols.spidercast.homes import SOUGHT_MAX, ToSelf
from gossamer.protocols.spidercast.layer import FEW, GATHER_US, Gather
from gossamer.protocols.spidercast.messages import Beat, Connect, ConnectOk, Redirect, Seek, Standing
from protocols.overlays import NO, One, only, wants

MANY = [f".t{number}" for number in range(1000)]


def test_a_node_with_few_topics_tells_its_neighbours_of_another_at_once() -> None:
    one = One(*MANY[: FEW - 1])
    one.link(7, ".t0")
    assert only(one.give(Subscribe(".more"))).wants == wants(*MANY[: FEW - 1], ".more").packed  # type: ignore[attr-defined]


def test_one_with_many_gathers_what_changes_and_tells_it_once() -> None:
    one = One(*MANY[:FEW])
    one.link(7, ".t0")
    for topic in MANY[FEW:]:
        assert one.give(Subscribe(topic)) == []
    one.give(Unsubscribe(".t5"))
    (told,) = [each for each in one.timers if type(each.timer) is Gather]
    assert told.after_us == GATHER_US * (FEW + 1) // FEW
    beat = only(one.give(Fired(told.timer)))
    assert isinstance(beat, Beat)
    assert Wants.read(beat.wants or b"") == wants(*(topic for topic in MANY if topic != ".t5"))
    one.give(Subscribe(".more"))
    assert [type(each.timer) for each in one.timers].count(Gather) == 2  # and again


def test_what_it_wants_by_now_it_tells_whoever_asks_before_that() -> None:
    one = One(*MANY)
    answer = only(one.link(7, ".t999"))
    assert isinstance(answer, ConnectOk)
    assert Wants.read(answer.wants) == wants(*MANY)
    assert one.overlay.about(".t999") == [7]


def test_the_next_round_covers_what_came_though_nobody_was_told_yet() -> None:
    one = One(*MANY)
    one.view.put(9, ".t500", ".t501")
    assert isinstance(only(one.round()), Connect)
    assert len(one.greedy.needs) == len(MANY)


def sought(one: One) -> list[Seek]:
    timers = [each.timer for each in one.effects if isinstance(each, SetTimer)]
    return [each.message for each in timers if isinstance(each, ToSelf) and isinstance(each.message, Seek)]


def test_homes_are_asked_about_many_topics_in_turn_and_told_what_concerns_each() -> None:
    one = One(*MANY, rendezvous=True, patient=True)
    asked: list[Seek] = []
    for _ in range(60):
        one.round()
        assert len(sought(one)) <= SOUGHT_MAX
        asked += sought(one)
    assert {seek.topic for seek in asked} == {word_of(topic) for topic in MANY}
    assert all(Wants.read(seek.wants) == Wants([(seek.topic,)]) for seek in asked)


def test_who_looks_for_another_is_told_only_what_concerns_both_of_a_neighbour_that_wants_very_much() -> None:
    one = One(".a", margin=0, greedy=1)
    one.link(7, ".a", *MANY, degree=1, target=9)
    assert only(one.link(8, ".a", ".t5")) == Redirect(0, 7, wants(".a", ".t5").packed)


def test_the_longer_what_a_peer_wants_the_fewer_requests_of_it_are_heard() -> None:
    short, long = wants(".a"), wants(*(f".a.t{number}" for number in range(9000)))
    heard = []
    for wanted in (short, long):
        one = One(".a")
        said = [bool(one.hear(7, Connect(0, 1, 9, wanted.packed))) for _ in range(200)]
        heard.append(sum(said))
    assert heard == [links.ASKED_BURST, links.ASKED_BURST // (1 + len(long.packed) // PART_BYTES_MAX)]


def test_neighbours_that_want_very_much_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "WORDS_FREE", 10)
    monkeypatch.setattr(links, "WORDS_MAX", 100)
    one = One(".a", margin=100)
    for peer in range(1, 20):
        one.link(peer, ".a", *(MANY[:39] if peer % 2 else ()))
    heavy = [peer for peer in one.greedy.neighbours if peer % 2]
    assert len(heavy) == 2
    assert [*range(2, 20, 2)] == [peer for peer in one.greedy.neighbours if peer % 2 == 0]
    one.hear(2, Beat(Standing(1, 9, True), NO, 0, wants(".a", *MANY[:39]).packed))
    assert one.greedy.neighbours[2].wants == wants(".a")
    assert "wants too much" in [getattr(each, "detail", None) for each in one.effects]


def test_a_view_forgets_those_first_that_want_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "WORDS_MAX", 300)
    view = KnownInterests(0, most=100, leaves=1)
    for peer in range(1, 60):
        wanted = wants(*MANY[: 50 if peer % 3 == 0 else 2])
        view.take(Entry(Mark(peer, 1, 0), wanted.packed), wanted, 0, {}, peer)
        assert view.words == sum(each.weight for each in view.wants.values())
        assert view.words <= 300 + 2 * 50  # the leaves stay
    assert [peer for peer in range(1, 60) if peer % 3 and peer not in view.known] == []
