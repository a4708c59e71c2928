"""What one participant does to keep its views: whom it believes, whom it asks, what it tells."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    Fired,
    Leave,
    Note,
    PeerDown,
    Received,
    Send,
    Started,
    Subscribe,
    Tune,
)
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols.hpmcast import comparing
from gossamer.protocols.hpmcast.addresses import address_of, of_node
from gossamer.protocols.hpmcast.judging import AHEAD_US
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.membership import CompareTurn, Membership
from gossamer.protocols.hpmcast.messages import (
    LaterRows,
    Ping,
    PlaceRequest,
    Pong,
    RowDigest,
    RowMark,
    Seat,
    SubsystemRow,
)
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.tables import ViewTables
from gossamer.protocols.hpmcast.upkeep import Upkeep

BRANCHING = (4, 4, 4)
ME: Peer = 21  # at 1.1.1
S = SECOND_US


def seat(peer: Peer, weight: int = 0) -> Seat:
    return Seat(address_of(peer, BRANCHING), peer, weight)


def one(peer: Peer, stamp: int = 5, topic: str = ".a", count: int = 1) -> SubsystemRow:
    """What a participant says of itself."""
    return SubsystemRow(seat(peer).address, peer, stamp, (seat(peer),), (Pattern(topic),), count)


def many(about: tuple[int, ...], *peers: Peer, stamp: int = 5, topic: str = ".a", count: int = 9) -> SubsystemRow:
    """What the first of its delegates says of a subsystem."""
    return SubsystemRow(about, peers[0], stamp, tuple(map(seat, peers)), (Pattern(topic),), count)


class One:
    """A participant at 1.1.1, and its clock."""

    def __init__(self, *rows: SubsystemRow, contacts: Sequence[Peer] = (), **upkeep: Any) -> None:
        self.node: Stack = hpmcast_node(ME, 1, address_of(ME, BRANCHING), BRANCHING, upkeep=Upkeep(**upkeep))
        self.now_us = 10 * S
        self.timer: CompareTurn | None = None
        self.give(Started(tuple(contacts)))
        for row in rows:
            self.expect(77)
            self.hear(77, LaterRows((row,)))

    @property
    def members(self) -> Membership:
        assert isinstance(self.node.spread, Hpmcast)
        return self.node.spread.members

    @property
    def tables(self) -> ViewTables:
        return self.members.tables

    def give(self, given: Any) -> list[Effect]:
        effects = self.node.step(given, self.now_us)
        for effect in effects:
            self.timer = getattr(effect, "timer", self.timer)
        return effects

    def hear(self, peer: Peer, message: Struct) -> list[Effect]:
        return self.give(Received(peer, message))

    def expect(self, peer: Peer) -> None:
        self.node.now_us = self.now_us
        self.members.comparing.expect(peer)

    def turn(self, after_us: int = S) -> list[Effect]:
        self.now_us += after_us
        return self.give(Fired(self.timer))

    def view(self, level: int) -> list[tuple[tuple[int, ...], tuple[Peer, ...]]]:
        return [(line.row.about, line.peers) for line in self.tables.lines(level)]


def sent(effects: Sequence[Effect], kind: type[Struct]) -> list[tuple[tuple[Peer, ...], Any]]:
    return [(each.peers, each.message) for each in effects if type(each) is Send and type(each.message) is kind]


def details(effects: Sequence[Effect]) -> list[str | None]:
    return [each.detail for each in effects if type(each) is Note]


# -- what is believed -------------------------------------------------------------------------------------------------


def test_alone_one_stands_for_everything_above_itself() -> None:
    me = One()
    assert [me.view(level) for level in (1, 2, 3)] == [[((1, 1, 1), (ME,))], [((1, 1), (ME,))], [((1,), (ME,))]]
    assert [me.tables.stands(level) for level in (1, 2, 3)] == [True, True, True]


def test_rows_stand_in_the_order_of_addresses_and_ours_is_worked_out() -> None:
    me = One(one(20), one(22, topic=".b"), many((1, 0), 16, 17), many((1, 2), 25), many((0,), 1, 2))
    assert me.view(1) == [((1, 1, 0), (20,)), ((1, 1, 1), (ME,)), ((1, 1, 2), (22,))]
    assert me.view(2) == [((1, 0), (16, 17)), ((1, 1), (20, ME, 22)), ((1, 2), (25,))]
    assert me.view(3) == [((0,), (1, 2)), ((1,), (16, 17, 20))]
    assert me.tables.summary(2).row.interest == (Pattern(".a"), Pattern(".b"))
    assert me.tables.summary(3).row.count == 9 + 3 + 9
    assert not me.tables.stands(3)


def test_a_view_is_the_same_object_until_it_changes() -> None:
    me = One(one(20), many((0,), 1))
    before = [me.tables.lines(level) for level in (1, 2, 3)]
    me.expect(77)
    me.hear(77, LaterRows((many((0,), 2, stamp=6),)))
    assert me.tables.lines(1) is before[0]
    assert me.tables.lines(2) is before[1]
    assert me.tables.lines(3) is not before[2]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (one(16), "it lives in another group"),
        (many((0, 1), 4), "of a table that is not ours"),
        (SubsystemRow((1, 1), 25, 5, (seat(25),), (), 1), "it does not live where it says"),
        (SubsystemRow((1, 2), 77, 5, (seat(25),), (), 1), "its author is no delegate"),
        (SubsystemRow((1, 1, 0), 77, 5, (seat(20),), (), 1), "in the name of another"),
        (replace(one(20), count=2), "one is not two"),
        (replace(one(20), stamp=10 * S + AHEAD_US + 1), "from the future"),
        (replace(one(20), stamp=0), "from before time"),
        (many((0,), 1, 2, 3, 4), "more than R delegates"),
        (many((0,), 1, 1), "twice the same delegate"),
        (SubsystemRow((0,), 1, 5, (Seat((0, 9, 9), 1),), (), 1), "no such address"),
        (SubsystemRow((9,), 1, 5, (seat(1),), (), 1), "no such digit"),
        (replace(one(20), interest=(Pattern(".a", "((("),)), "no filter"),
    ],
)
def test_what_could_not_have_been_made_as_rows_are_is_rejected(row: SubsystemRow, why: str) -> None:
    me = One()
    before = [me.view(level) for level in (1, 2, 3)]
    me.expect(77)
    assert details(me.hear(77, LaterRows((row,)))) == ["bad row"], why
    assert [me.view(level) for level in (1, 2, 3)] == before


def test_rows_nobody_asked_for_are_not_heard() -> None:
    me = One()
    me.hear(77, LaterRows((one(20),)))
    assert me.view(1) == [((1, 1, 1), (ME,))]
    me.expect(77)
    me.now_us += comparing.EXPECTED_US + 1
    me.hear(77, LaterRows((one(20),)))
    assert me.view(1) == [((1, 1, 1), (ME,))]


def test_the_later_row_counts_whoever_tells_it() -> None:
    me = One(one(20, stamp=7, topic=".new"), one(20, stamp=6, topic=".old"))
    assert me.tables.members[20].row.interest == (Pattern(".new"),)
    me = One(many((0,), 1, 2, stamp=7), many((0,), 3, stamp=6), many((0,), 2, 3, stamp=7))
    assert me.view(3)[0] == ((0,), (2, 3))


def test_what_others_say_of_ourselves_changes_nothing_but_makes_us_speak_up() -> None:
    me = One()
    mine = me.tables.own.row
    me.expect(77)
    me.hear(77, LaterRows((replace(mine, stamp=mine.stamp + 9, interest=(Pattern(".lie"),)),)))
    assert me.tables.own.row == replace(mine, stamp=mine.stamp + 10)


def test_what_others_say_of_our_subsystem_is_told_on_but_not_believed() -> None:
    me = One(one(20))
    me.turn()
    me.expect(77)
    me.hear(77, LaterRows((many((1, 1), 20, stamp=12 * S, count=99),)))
    assert me.view(2) == [((1, 1), (20, ME))]
    assert me.tables.others[1, 1].row.count == 99
    for _ in range(4):
        me.turn()
    assert me.tables.others[1, 1].row.author == ME  # corrected, after a while
    assert me.tables.others[1, 1].row.count == 2


def test_a_stranger_that_speaks_for_our_subsystem_is_greeted() -> None:
    me = One()
    me.expect(77)
    effects = me.hear(77, LaterRows((many((1,), 25, stamp=12 * S),)))
    assert [peers for peers, _ in sent(effects, PlaceRequest)] == [(25,)]


# -- comparing --------------------------------------------------------------------------------------------------------


def marks(*rows: SubsystemRow) -> tuple[RowMark, ...]:
    return tuple(RowMark(row.about, row.author, row.stamp) for row in rows)


def test_who_has_the_later_row_sends_it_and_who_has_the_earlier_asks_for_it() -> None:
    me = One(one(20, stamp=7), one(22, stamp=7), many((0,), 1, stamp=7))
    digest = RowDigest(seat(23).address, marks(one(20, stamp=8), one(22, stamp=6), one(23), many((0,), 2, stamp=7)),
                    whole=False, answer=True)  # fmt: skip
    effects = me.hear(23, digest)
    ((to, tell),) = sent(effects, LaterRows)
    assert (to, [row.author for row in tell.rows]) == ((23,), [22])
    ((to, back),) = sent(effects, RowDigest)
    assert (to, [mark.author for mark in back.marks], back.answer) == ((23,), [20, 23, 2], False)
    me.hear(23, LaterRows((one(23),)))
    assert ((1, 1, 3), (23,)) in me.view(1)


def test_what_is_not_named_is_sent_as_far_as_it_is_shared() -> None:
    me = One(one(20), many((1, 0), 16), many((0,), 1))
    near = me.hear(22, RowDigest(seat(22).address, (), whole=True, answer=True))
    assert {row.about for _, tell in sent(near, LaterRows) for row in tell.rows} == {
        (1, 1, 0), (1, 1, 1), (1, 0), (1, 1), (0,), (1,),
    }  # fmt: skip
    far = me.hear(50, RowDigest(seat(50).address, (), whole=True, answer=True))
    assert {row.about for _, tell in sent(far, LaterRows) for row in tell.rows} == {(0,), (1,)}
    part = me.hear(22, RowDigest(seat(22).address, (), whole=False, answer=True))
    assert sent(part, LaterRows) == []


def test_an_answer_is_not_answered_with_a_question() -> None:
    effects = One().hear(22, RowDigest(seat(22).address, marks(one(22)), whole=False, answer=False))
    assert sent(effects, RowDigest) == []


def test_old_news_is_not_asked_for() -> None:
    me = One()
    old = RowMark((0,), 1, 5, age_ms=31_000)
    assert sent(me.hear(50, RowDigest(seat(50).address, (old,), whole=False, answer=True)), RowDigest) == []


def test_who_is_about_to_forget_is_told_of_life() -> None:
    me = One(many((0,), 1))
    old = RowMark((0,), 1, 5, age_ms=20_000)
    ((_, back),) = sent(me.hear(50, RowDigest(seat(50).address, (old,), whole=False, answer=True)), RowDigest)
    assert back.marks == (RowMark((0,), 1, 5, age_ms=100),)


def test_who_asks_too_often_is_refused() -> None:
    me = One()
    answers = [me.hear(50, RowDigest(seat(50).address, (), True, True)) for _ in range(comparing.REQUESTS_BURST + 1)]
    assert details(answers[0]) == []
    assert details(answers[-1]) == ["too many requests"]


def test_views_are_compared_on_a_level_where_one_stands() -> None:
    me = One(one(20), one(22), one(23), many((1, 0), 16, 17, 18), many((0,), 1))
    told = [peer for _ in range(10) for peers, _ in sent(me.turn(), RowDigest) for peer in peers]
    assert set(told) <= {20, 22, 23, 16, 17, 18}, "not a delegate of level 3"
    assert {20, 22, 23} & set(told)
    assert {16, 17, 18} & set(told)


# -- joining ----------------------------------------------------------------------------------------------------------


def test_a_newcomer_asks_those_it_knows_until_somebody_answers() -> None:
    me = One(contacts=[1, 2, 3])
    assert not me.members.ready()
    ((_, join), *_) = sent(me.turn(), PlaceRequest)
    assert join.row == me.tables.own.row
    effects = me.hear(20, LaterRows((one(20), many((0,), 1))))
    assert me.members.ready()
    assert [peers for peers, _ in sent(effects, RowDigest)] == [(20,)]
    assert me.view(1) == [((1, 1, 0), (20,)), ((1, 1, 1), (ME,))]


def test_a_newcomer_is_passed_on_to_its_lowest_delegates() -> None:
    me = One(one(20), many((1, 0), 16, 17), many((0,), 1, 2), many((3,), 50))
    assert [peers for peers, _ in sent(me.hear(9, PlaceRequest(one(18), 0)), PlaceRequest)] == [(16, 17)]
    ((peers, join),) = sent(me.hear(50, PlaceRequest(one(14), 0)), PlaceRequest)
    assert (peers, join.hops, join.row) == ((1, 2), 1, one(14))
    assert sent(me.hear(50, PlaceRequest(one(14), 0)), LaterRows) == []


def test_a_neighbour_takes_a_newcomer_in_and_sends_its_views() -> None:
    me = One(one(20), many((0,), 1))
    effects = me.hear(20, PlaceRequest(one(22), 0, hops=2))
    assert ((1, 1, 2), (22,)) in me.view(1)
    assert {peers for peers, _ in sent(effects, LaterRows)} == {(22,)}
    assert {row.about for _, tell in sent(effects, LaterRows) for row in tell.rows} >= {(1, 1, 0), (1, 1, 1), (0,)}


@pytest.mark.parametrize("join", [PlaceRequest(one(40), 0), PlaceRequest(one(14), 3), PlaceRequest(one(14), 0, hops=6)])
def test_where_nobody_lives_or_answers_the_one_asked_answers_itself(join: PlaceRequest) -> None:
    me = One(many((0,), 1, 2))
    effects = me.hear(9, join)
    assert sent(effects, PlaceRequest) == []
    assert {row.about for _, tell in sent(effects, LaterRows) for row in tell.rows} == {(0,), (1,)}


@pytest.mark.parametrize(
    "row", [one(22, count=0), many((1, 2), 25), SubsystemRow((1, 1, 2), 22, 5, (seat(20),), (), 1)]
)
def test_nobody_joins_with_what_is_no_row_of_its_own(row: SubsystemRow) -> None:
    assert details(One().hear(9, PlaceRequest(row, 0))) == ["bad row"]


# -- leaving and dying ------------------------------------------------------------------------------------------------


def test_who_leaves_tells_its_neighbours_and_these_tell_others() -> None:
    leaving = One(one(20), one(22))
    ((peers, tell),) = sent(leaving.give(Leave()), LaterRows)
    assert peers == (20, 22)
    (farewell,) = tell.rows
    me = One(one(20), replace(farewell, count=1, stamp=5, about=(1, 1, 2), author=22, delegates=(seat(22),)))
    gone = replace(one(22), stamp=11 * S, count=0)
    me.hear(22, LaterRows((gone,)))
    assert me.view(1) == [((1, 1, 0), (20,)), ((1, 1, 1), (ME,))]
    (_, told) = sent(me.hear(20, RowDigest(seat(20).address, marks(one(22)), False, True)), LaterRows)[0]
    assert told.rows == (gone,)
    me.hear(20, LaterRows((one(22),)))
    assert me.view(1) == [((1, 1, 0), (20,)), ((1, 1, 1), (ME,))]


def test_the_last_of_a_group_tells_the_groups_around() -> None:
    me = One(many((1, 0), 16, 17), many((0,), 1))
    ((peers, tell),) = sent(me.give(Leave()), LaterRows)
    assert peers == (16, 17)
    assert [(row.about, row.count) for row in tell.rows] == [((1, 1), 0)]


def test_a_silent_neighbour_is_asked_and_given_up_and_others_do_not_bring_it_back() -> None:
    me = One(one(20), one(22), asks=3)
    asked = 0
    for _ in range(8):
        effects = me.turn()
        asked += sum(20 in peers for peers, _ in sent(effects, Ping))
        me.hear(22, Pong())
    assert asked == 3
    assert me.view(1) == [((1, 1, 1), (ME,)), ((1, 1, 2), (22,))]
    stale = RowDigest(seat(22).address, (RowMark((1, 1, 0), 20, 5, age_ms=9000),), False, True)
    assert sent(me.hear(22, stale), RowDigest) == []
    alive = RowDigest(seat(22).address, (RowMark((1, 1, 0), 20, 5, age_ms=100),), False, True)
    assert [mark.author for _, back in sent(me.hear(22, alive), RowDigest) for mark in back.marks] == [20]
    me.hear(22, LaterRows((one(20),)))
    assert ((1, 1, 0), (20,)) in me.view(1)


def test_hearsay_spares_a_question_but_not_for_ever() -> None:
    me = One(one(20), one(22))
    asked = []
    for second in range(14):
        effects = me.turn()
        asked += [second for peers, _ in sent(effects, Ping) if 20 in peers]
        me.hear(22, RowDigest(seat(22).address, (RowMark((1, 1, 0), 20, 5, age_ms=0),), False, True))
    assert asked
    assert asked[0] >= 11


def test_who_cannot_be_reached_is_asked_at_once() -> None:
    me = One(one(20))
    me.give(PeerDown(20))
    assert [peers for peers, _ in sent(me.turn(S // 5), Ping)] == [(20,)]


def test_another_life_of_a_neighbour_is_welcome() -> None:
    me = One(one(20), asks=1)
    for _ in range(8):
        me.turn()
    assert me.view(1) == [((1, 1, 1), (ME,))]
    me.hear(20, PlaceRequest(one(20, stamp=20 * S), 0))
    assert ((1, 1, 0), (20,)) in me.view(1)


def test_a_subsystem_nobody_hears_of_is_forgotten_later_the_higher_it_stands() -> None:
    me = One(many((1, 0), 16), many((0,), 1))
    me.turn(16 * S)
    assert me.view(2) == [((1, 1), (ME,))]
    assert [about for about, _ in me.view(3)] == [(0,), (1,)]
    me.turn(15 * S)
    assert me.view(3) == [((1,), (ME,))]


def test_a_question_is_answered_and_a_stranger_that_asks_is_greeted() -> None:
    effects = One().hear(20, Ping())
    assert [peers for peers, _ in sent(effects, Pong)] == [(20,)]
    assert [peers for peers, _ in sent(effects, PlaceRequest)] == [(20,)]


# -- promotion and demotion -------------------------------------------------------------------------------------------


def test_delegates_are_promoted_and_demoted_as_members_come_and_go() -> None:
    me = One(one(22))
    assert me.tables.stands(3)
    me.hear(20, PlaceRequest(one(20), 0))
    me.hear(16, PlaceRequest(one(16), 0))
    me.expect(77)
    me.hear(77, LaterRows((many((1, 0), 16, 17, 18),)))
    assert [me.tables.stands(level) for level in (1, 2, 3)] == [True, True, False]
    me.hear(16, LaterRows((replace(many((1, 0), 16, stamp=12 * S), delegates=(seat(16),), count=0),)))
    assert me.tables.stands(3)


def test_what_changes_is_published_by_delegates_at_the_next_turn_and_all_of_it_together() -> None:
    me = One(one(20))
    me.turn()
    before = me.tables.others[1, 1].row
    assert (before.author, before.count) == (ME, 2)
    me.give(Subscribe(".y"))
    me.give(Subscribe(".z"))
    assert me.tables.others[1, 1].row == before
    me.turn()
    assert {Pattern(".y"), Pattern(".z")} <= {*me.tables.others[1, 1].row.interest}
    assert me.tables.others[1,].row.stamp > before.stamp


def test_capacity_makes_a_delegate_and_can_be_tuned() -> None:
    me = One(SubsystemRow((1, 1, 0), 20, 5, (seat(20, 3),), (), 1), choice="capacity", capacity=2)
    assert me.view(2) == [((1, 1), (20, ME))]
    me.give(Tune(".", Upkeep(choice="capacity", capacity=9)))
    assert me.view(2) == [((1, 1), (ME, 20))]


# -- small things -----------------------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused() -> None:
    for address, branching, params in [
        ((1, 1), (4, 4, 4), Params()),
        ((1, 4), (4, 4), Params()),
        ((1, 1), (4, 4), Params(variant="pmcast")),
        ((1, 1), (4, 4), Params(delegates=65)),
    ]:
        with pytest.raises(Misuse):
            hpmcast_node(ME, 1, address, branching, params=params)
    for wrong in ({"asks": 0}, {"interest_size": 0}, {"capacity": -1}, {"forget_us": S}, {"gossip_fanout": 9999}):
        with pytest.raises(Misuse):
            Upkeep(**wrong)  # type: ignore[arg-type]


def test_the_address_of_a_live_node_is_told_or_read_off_its_endpoint() -> None:
    assert of_node("1.2.3", "127.0.0.1:4000", (4, 4, 4)) == (1, 2, 3)
    assert of_node("", "127.0.0.1:4002", (256, 256, 256, 256, 4096), first_port=4000) == (127, 0, 0, 1, 2)
