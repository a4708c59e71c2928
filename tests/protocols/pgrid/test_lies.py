"""Peers of the overlay that say, well-formed, what is not so: it costs questions, and nobody is lost or made up."""

from collections.abc import Callable, Sequence

import pytest
from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Given, Received, Send, SetTimer, Started
from gossamer.protocols.pgrid import store as stores
from gossamer.protocols.pgrid.lookup import Lookup
from gossamer.protocols.pgrid.messages import (
    MARKS_MAX,
    Answer,
    AskPlaces,
    Branch,
    CompareLeaf,
    Give,
    LeafSeat,
    ListHeld,
    Meet,
    PlaceQuestion,
    Registration,
    Reply,
    Took,
    WantListed,
)
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import members_of, place_of
from gossamer.protocols.pgrid.store import id_of, part_of
from gossamer.protocols.pgrid.trie import Trie
from gossamer.sim.overlay_peers import OverlayPeers
from protocols.pgrid.small_worlds import SEVEN, looked_up, named, settled
from protocols.pgrid.test_hostile import HIS, NUMBER, Member, placed, refused, sent

LIARS = (998, 999)
HONEST = range(40)
LEASE_S = Params().lease_us / 1e6


class Again(Struct, frozen=True):
    """Timer."""


class Liar:
    """Says something each second, and answers in its own way."""

    def __init__(self, each_s: Callable[[], Sequence[Send]], hears: Callable[[Peer, object], Sequence[Send]]) -> None:
        self.each_s, self.hears = each_s, hears

    def step(self, given: Given, now_us: int) -> list[Effect]:
        if isinstance(given, Started | Fired):
            return [SetTimer(1_000_000, Again()), *self.each_s()]
        return [*self.hears(given.peer, given.message)] if isinstance(given, Received) else []


def with_liars(town: OverlayPeers, liar: Liar, *who: Peer) -> OverlayPeers:
    make = town.world.make
    town.world.make = lambda me: liar if me in LIARS else make(me)
    for each in who:
        town.world.start(each, ())
    return town


def found_by(town: OverlayPeers) -> list[set[Peer]]:
    return [named(looked_up(town, peer, SEVEN)) for peer in (0, 8, 16, 25)]


def test_one_that_says_it_went_on_everywhere_costs_questions_and_nobody() -> None:
    town, paths = settled(1, HONEST), dict.fromkeys(HONEST, "")

    def hears(peer: Peer, said: object) -> Sequence[Send]:
        match said:
            case Meet():
                paths[peer] = said.path
            case AskPlaces():
                return [Send((peer,), Answer(tuple(Reply(q.number, "", (), True, 0, 1) for q in said.questions)))]
            case ListHeld():
                return [Send((peer,), WantListed((), tuple(number for number, _ in said.marks)))]
        return ()

    def each_s() -> Sequence[Send]:
        return [Send((peer,), Meet(path + "0", 30, 4, 1, 0, 0, (), True)) for peer, path in paths.items()]

    with_liars(town, Liar(each_s, hears), 999).run(30)
    assert found_by(town) == [{3, 11, 19, 27, 35}] * 4


def test_two_that_take_what_they_were_not_given_do_not_hide_a_member() -> None:
    taken = Took((id_of(SEVEN, 3),))
    liar = Liar(
        lambda: [Send((3,), taken)], lambda peer, said: [Send((peer,), taken)] if isinstance(said, Give) else []
    )
    town = with_liars(settled(1, HONEST), liar, *LIARS)
    town.run(2 * LEASE_S)
    assert all(3 in found for found in found_by(town))


def test_who_has_left_is_not_registered_again_by_what_it_said_before() -> None:
    town = settled(1, HONEST)
    held = (each.said for grid in town.grids() for each in grid.store.held.values())
    before = next(said for said in held if (said.name, said.member) == (SEVEN, 3))
    town.world.leave(3)
    with_liars(town, Liar(lambda: [Send(tuple(HONEST), Give((before,), (0,)))], lambda peer, said: []), 999)
    town.run(3 * LEASE_S)
    assert not any(3 in found for found in found_by(town))


def test_what_a_peer_said_while_its_clock_was_ahead_does_not_outrank_what_it_says_later() -> None:
    town = settled(1, HONEST)
    town.grid(3).registering.stamp = 10**15  # its clock is years ahead
    town.run(LEASE_S)
    town.world.leave(3)
    town.run(5)
    town.start(3)  # with the right one
    town.run(30)
    assert all(3 in found for found in found_by(town))


def test_what_belongs_elsewhere_is_not_let_go_for_one_it_was_not_listed_for() -> None:
    victim = placed()
    victim.hear(30, Give((HIS,), (0,)))
    victim.hear(66, WantListed((), (NUMBER,)))
    assert NUMBER in victim.grid.store.held


@pytest.mark.parametrize("count", [1, 2**31 - 1])
def test_one_that_names_itself_alone_is_not_all_that_is_found(count: int) -> None:
    victim, found = placed(), list[Lookup]()
    place = members_of(".x", lambda topic: topic)
    victim.grid.members([".x"], 8, lambda topic, lookup: found.append(lookup))

    effects = victim.node.out.take()
    for count_said in (count, 1):
        ((peers, ask),) = sent(effects, AskPlaces)
        assert isinstance(ask, AskPlaces)
        own = Registration(".x", place_of(peers[0], place), peers[0], 5)
        elsewhere = Registration(".y", own.place, 66, 5)
        reply = Reply(ask.questions[0].number, "1", (), True, 1, 1, count_said, (own, elsewhere))
        effects = victim.hear(peers[0], Answer((reply,)))
    (lookup,) = found
    assert (named(lookup), lookup.total) == ({21, 22}, 2)


def answered_by(victim: Member, answer: Callable[[Peer, PlaceQuestion], Reply]) -> Lookup:
    """What the victim finds of .x, if peers answer like that."""
    found = list[Lookup]()
    victim.grid.members([".x"], 8, lambda topic, lookup: found.append(lookup))
    effects = victim.node.out.take()
    for _ in range(20):
        for peers, ask in sent(effects, AskPlaces):
            assert isinstance(ask, AskPlaces)
            effects = victim.hear(peers[0], Answer(tuple(answer(peers[0], each) for each in ask.questions)))
    (lookup,) = found
    return lookup


AT = members_of(".x", lambda topic: topic)


def of_x(*members: Peer) -> tuple[Registration, ...]:
    return tuple(Registration(".x", place_of(each, AT), each, 5) for each in members)


@pytest.mark.parametrize("who", [(), (66,)], ids=["nobody", "itself"])
@pytest.mark.parametrize("says", [1, 2**31 - 1])
def test_one_that_says_all_lies_in_a_part_that_it_holds_itself_is_not_all_that_is_found(
    who: tuple[Peer, ...], says: int
) -> None:
    liars = list[Peer]()

    def answer(peer: Peer, asked: PlaceQuestion) -> Reply:
        if peer not in liars and liars:
            return Reply(asked.number, "1", (), True, 1, 1, 3, of_x(3, 4, 5))
        liars.append(peer)
        if asked.place == AT:
            part = (Branch(AT + "1", says, (LeafSeat(peer, AT + "1"),)),)
            return Reply(asked.number, AT, (), True, 1, 1, branches=part)
        return Reply(asked.number, AT + "1", (), True, 1, 1, says, of_x(*who))

    lookup = answered_by(placed(), answer)
    assert (named(lookup), lookup.total) == ({3, 4, 5, *who}, 3 + len(who))


@pytest.mark.parametrize("told", [0, 1])
def test_where_all_are_wanted_parts_are_looked_into_for_more_than_was_told_of_them(told: int) -> None:
    """More may have come since."""

    def answer(peer: Peer, asked: PlaceQuestion) -> Reply:
        if asked.place == AT:
            part = (Branch(AT + "1", told, (LeafSeat(22, AT + "1"),)),)
            return Reply(asked.number, AT + "0", (), True, 1, 1, 1, of_x(3), branches=part)
        return Reply(asked.number, AT + "1", (), True, 1, 1, 2, of_x(4, 5)[: asked.count])

    lookup = answered_by(placed(), answer)
    assert (named(lookup), lookup.total, len(lookup.found)) == ({3, 4, 5}, 3, 3)


def test_a_part_of_which_nothing_is_known_is_named_all_the_same() -> None:
    victim = placed()
    victim.grid.trie.move("00")
    victim.hear(23, Meet("01", 0, 4, 7, 1, 0, (), False))
    ((_, answer),) = sent(victim.hear(9, AskPlaces((PlaceQuestion(1, "0", "", 8),))), Answer)
    assert isinstance(answer, Answer)
    assert [(each.place, each.count, each.seats) for each in answer.replies[0].branches] == [
        ("01", 0, (LeafSeat(23, "01"),))
    ]


def test_who_is_registered_where_it_does_not_belong_is_not_drawn_more_often_than_others() -> None:
    """It might be in every leaf of a large community."""
    (own,) = of_x(66)
    astray = Registration(".x", AT + "01" * 16, 66, 6)

    def answer(peer: Peer, asked: PlaceQuestion) -> Reply:
        return Reply(asked.number, "1", (), True, 1, 1, 2, (*of_x(3), astray))

    assert named(answered_by(placed(), answer)) == {3}
    assert own.place != astray.place


# -- at whose cost ----------------------------------------------------------------------------------------------------


def holding(count: int) -> Member:
    victim = placed()
    for start in range(0, count, 64):
        said = tuple(Registration(f".{each}", f"0{each:016b}", 40, 5) for each in range(start, min(count, start + 64)))
        victim.hear(30, Give(said, (0,) * len(said)))
    assert len(victim.grid.store) == count
    return victim


def test_one_small_message_does_not_make_a_peer_give_all_it_holds() -> None:
    victim = holding(3000)
    listing = ListHeld((), tuple(range(1024)), 1024)
    given = [give for _, give in sent(victim.hear(66, listing), Give) if isinstance(give, Give)]
    assert sum(len(give.registrations) for give in given) == MARKS_MAX


def test_sums_that_all_differ_are_compared_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    victim, looked = holding(3000), list[int]()

    def counted(number: int, parts: int) -> int:
        looked.append(number)
        return part_of(number, parts)

    monkeypatch.setattr(stores, "part_of", counted)
    ((_, listing),) = sent(victim.hear(66, CompareLeaf("0", (7,) * 1024)), ListHeld)
    assert isinstance(listing, ListHeld)
    assert len(listing.marks) <= MARKS_MAX
    assert len(looked) <= 3 * 3000


@pytest.mark.parametrize(
    "message",
    [CompareLeaf("0", (7,) * 64), ListHeld(((1, 1),)), ListHeld((), tuple(range(64)), 64), WantListed((7,) * 512)],
    ids=["sums", "what belongs to us", "lists", "wishes"],
)
def test_who_compares_all_the_time_is_refused_and_others_are_not(message: Struct) -> None:
    victim = holding(100)
    answers = [victim.hear(66, message) for _ in range(2000)]
    assert not refused(answers[0])
    assert refused(answers[-1])
    assert not refused(victim.hear(67, message))


def test_one_that_says_how_much_lies_beyond_a_level_is_outvoted() -> None:
    trie = Trie(1, 4)
    trie.move("0")
    for peer, below in ((2, 30), (3, 31), (4, 2**31 - 1)):
        trie.heard(peer, "1", below, peer, 0)
    assert trie.count(0) == 31
