"""One node, message by message."""

import pytest
from msgspec import Struct

from gossamer.core.machine import (
    SECOND_US,
    Contacted,
    Effect,
    Fired,
    Leave,
    PeerDown,
    Subscribe,
    Tune,
    Unsubscribe,
)
from gossamer.protocols.scamp.layer import AnswerDue, AskAgain, BeatsDue, Renew
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.scamp.params import Params
from gossamer.protocols.search.messages import AnsContact, ReqContact
from protocols.member import LEASE, One, sent, timers


def accepted(one: One, by: int = 9) -> list[Effect]:
    effects = one.hear(by, AnsContact(".", (by,)))
    ((_, join),) = sent(effects, Join) or sent(one.fire(AnswerDue), Join)
    return one.hear(by, Accept(".", join.number))  # type: ignore[attr-defined]


def test_a_newcomer_asks_tells_its_contact_and_holds_whoever_accepts() -> None:
    one = One()
    effects = one.hear(9, AnsContact(".", (9,)))
    assert [(peer, join.who, join.copies) for peer, join in sent(effects, Join)] == [(9, 1, None)]  # type: ignore[attr-defined]
    assert not one.scamp.ready(".")
    number = one.scamp.views["."].number
    one.hear(30, Accept(".", number))
    assert one.held == [30]
    assert one.scamp.ready(".")


def test_contacts_that_answer_late_are_asked_at_once_by_those_alone_and_by_nobody_else() -> None:
    one = One()
    for _ in range(6):
        one.fire(AnswerDue)
    assert [peer for peer, _ in sent(one.take(Contacted((7,))), ReqContact)] == [7]
    assert timers(one.take(Contacted((8,))), AnswerDue)[0].after_us == Params().patience_us
    one.hear(9, Kept("."))
    assert not sent(one.take(Contacted((10,))), ReqContact)


def test_an_acceptance_nobody_asked_for_changes_nothing() -> None:
    one = One()
    one.hear(9, AnsContact(".", (9,)))
    one.hear(30, Accept(".", 12345))
    assert one.held == []


def test_a_contact_alone_keeps_the_newcomer_itself() -> None:
    one = One()
    effects = one.hear(5, Join(".", 5, 77, 5, LEASE))
    assert one.held == [5]
    assert sent(effects, Accept) == [(5, Accept(".", 77))]
    assert sent(effects, Kept) == [(5, Kept("."))]


def test_a_contact_sends_copies_to_its_whole_view_and_c_more() -> None:
    one = One(2, 3, 4, params=Params(extra_copies=2))
    effects = one.hear(5, Join(".", 5, 77, 0, LEASE))
    told = [peer for peer, _ in sent(effects, Forward)]
    assert len(told) == 3 + 2
    assert {*told} == {2, 3, 4}
    assert one.held == [2, 3, 4]


def test_a_renewal_makes_as_many_copies_as_it_asks_for() -> None:
    one = One(2, 3, 4, 5, 6)
    told = [peer for peer, _ in sent(one.hear(7, Join(".", 7, 77, 0, LEASE, copies=3)), Forward)]
    assert len({*told}) == len(told) == 3


def test_a_join_walks_on_while_steps_are_left() -> None:
    one = One(2, 3, 4)
    ((peer, join),) = sent(one.hear(5, Join(".", 5, 77, 3, LEASE)), Join)
    assert peer in (2, 3, 4)
    assert (join.walk, join.degree) == (2, 3)  # type: ignore[attr-defined]


def test_a_copy_is_kept_where_its_hops_end() -> None:
    one = One(2, 3, 4)
    one.hear(2, Forward(".", 50, 7, 1, LEASE))
    assert 50 in one.held


def test_a_node_never_holds_itself() -> None:
    one = One(2, 3)
    one.hear(2, Forward(".", 1, 7, 1, LEASE))
    one.hear(2, Gone(".", instead=1))
    one.hear(2, Join(".", 1, 7, 0, LEASE))
    assert one.held == [3]


def test_a_copy_that_meets_itself_goes_on_and_one_that_meets_an_older_one_renews_it() -> None:
    one = One(2, 3, 50)
    one.now_us = 10 * SECOND_US
    assert sent(one.hear(2, Forward(".", 50, 1, 9, LEASE)), Forward)
    assert not sent(one.hear(2, Forward(".", 50, 2, 9, LEASE)), Forward)
    assert one.scamp.views["."].held[50].until_us == one.now_us + LEASE


def test_a_stranger_can_neither_ask_for_longer_leases_nor_for_more_hops_than_we_would() -> None:
    one = One(2, 3, params=Params(forwards_max=4))
    one.hear(2, Forward(".", 50, 7, 1, 1 << 60))
    assert one.scamp.views["."].held[50].until_us <= LEASE
    effects = one.hear(2, Forward(".", 50, 7, 1 << 40, LEASE))
    assert [forward.hops for _, forward in sent(effects, Forward)] == [3]  # type: ignore[attr-defined]


def test_views_are_bounded() -> None:
    one = One(params=Params(view_max=4))
    for peer in range(100, 120):
        one.hear(peer, Forward(".", peer, 1, 1, LEASE))
        one.hear(peer, Kept("."))
    assert len(one.held) == 4
    assert len(one.scamp.views["."].holders) == 4


def test_only_the_leaver_itself_can_make_others_drop_it() -> None:
    """`Gone` names nobody: whoever sends it speaks of itself."""
    one = One(2, 3)
    one.hear(3, Gone(".", instead=40))
    assert one.held == [2, 40]
    one.hear(66, Gone(".", instead=67))
    assert one.held == [2, 40]


def test_a_leaver_names_heirs_to_all_holders_but_the_last_c_plus_1() -> None:
    one = One(2, 3)
    for holder in (10, 11, 12, 13):
        one.hear(holder, Kept("."))
    told = dict(sent(one.take(Unsubscribe(".")), Gone))
    assert [told[holder].instead for holder in (10, 11, 12, 13)] == [2, 3, None, None]  # type: ignore[attr-defined]
    assert [told[peer].instead for peer in (2, 3)] == [None, None]  # type: ignore[attr-defined]


def test_a_node_that_goes_says_goodbye_in_every_community() -> None:
    one = One(2)
    one.take(Subscribe(".d"))
    one.hear(8, Forward(".d", 8, 1, 1, LEASE))
    assert {(peer, gone.topic) for peer, gone in sent(one.take(Leave()), Gone)} == {(2, "."), (8, ".d")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("message", [Beat(".x"), Kept(".x"), Forward(".x", 5, 1, 3, LEASE), Join(".x", 5, 1, 3, LEASE)])
def test_whoever_takes_us_for_a_member_where_we_are_none_is_told(message: Struct) -> None:
    assert sent(One().hear(5, message), Gone) == [(5, Gone(".x"))]


def test_a_beat_is_answered_and_tells_that_we_are_held() -> None:
    one = One()
    assert sent(one.hear(5, Beat(".")), Here) == [(5, Here("."))]
    assert one.scamp.about(".") == [5]
    assert one.held == []


def test_who_does_not_answer_a_beat_is_asked_again_within_it_and_dropped_after_sixteen_questions() -> None:
    one = One(2, 3)
    for beat in range(4):
        assert [peer for peer, _ in sent(one.fire(BeatsDue), Beat)] == [2, 3]
        one.hear(2, Here("."))
        for _ in range(3):
            assert [peer for peer, _ in sent(one.fire(AskAgain), Beat)] == [3], beat
        assert one.held == [2, 3]
    one.fire(BeatsDue)
    assert one.held == [2]


def test_where_everybody_answers_nobody_is_asked_twice() -> None:
    one = One(2, 3)
    one.fire(BeatsDue)
    one.hear(2, Here("."))
    one.hear(3, Here("."))
    assert one.fire(AskAgain) == []


def test_one_answer_clears_all_doubt() -> None:
    one = One(2)
    for _ in range(8):
        one.fire(BeatsDue)
        one.fire(AskAgain)
        one.fire(AskAgain)
        one.hear(2, Here("."))
    assert one.held == [2]


def test_who_owes_two_answers_or_two_beats_is_kept_but_named_to_nobody() -> None:
    one = One(2, 3)
    one.hear(5, Beat("."))
    one.fire(BeatsDue)
    one.hear(2, Here("."))
    one.fire(AskAgain)
    assert {*one.scamp.named(".")} == {2, 5}
    one.fire(BeatsDue)
    one.hear(2, Here("."))
    one.hear(3, Here("."))
    assert {*one.scamp.named(".")} == {2, 3}
    assert {*one.scamp.about(".")} == {2, 3, 5}


def test_a_holder_is_forgotten_when_five_beats_go_by_without_one_of_its_own() -> None:
    one = One()
    one.hear(5, Beat("."))
    for _ in range(4):
        one.fire(BeatsDue)
    assert one.scamp.about(".") == [5]
    one.hear(5, Beat("."))
    for _ in range(4):
        one.fire(BeatsDue)
    assert one.scamp.about(".") == [5]
    one.fire(BeatsDue)
    assert one.scamp.about(".") == []


def test_a_node_that_wakes_up_late_asks_before_it_drops_anybody() -> None:
    one = One(2, 3)
    one.hear(5, Beat("."))
    one.now_us += 50 * SECOND_US  # its leases still hold
    one.fire(BeatsDue)
    assert one.scamp.about(".") == [2, 3, 5]


def test_a_peer_given_up_by_the_transport_is_forgotten() -> None:
    one = One(2, 3)
    one.hear(2, Kept("."))
    one.take(PeerDown(2))
    assert one.scamp.about(".") == [3]


def test_stale_timers_do_nothing() -> None:
    one = One()
    (old,) = timers(one.first, BeatsDue)
    (waiting,) = timers(one.first, AnswerDue)
    accepted(one)
    assert one.take(Fired(waiting.timer)) == []
    one.take(Unsubscribe("."))
    one.take(Subscribe("."))
    assert one.take(Fired(old.timer)) == []
    assert one.take(Fired(Renew(".", 1))) == []


def test_a_renewal_nobody_answers_goes_through_a_member_of_the_view() -> None:
    one = One(2, 3)
    (renew,) = timers(accepted(one), Renew)
    assert renew.after_us < Params().first_lease_us
    one.hear(2, Kept("."))
    one.fire(Renew)
    ((contact, join),) = sent(one.fire(AnswerDue), Join)
    assert contact in one.scamp.about(".")
    assert join.copies is not None  # type: ignore[attr-defined]


def test_who_has_company_hears_all_answers_and_prefers_a_stranger_for_its_contact() -> None:
    one = One(2, 3)
    assert not sent(one.hear(2, AnsContact(".", (2, 3))), Join)
    one.hear(3, AnsContact(".", (3, 44)))
    assert [peer for peer, _ in sent(one.fire(AnswerDue), Join)] == [44]


def test_each_failed_attempt_walks_fewer_steps_and_ends_at_whoever_answered() -> None:
    one = One()
    walks = []
    for _ in range(4):
        ((contact, join),) = sent(one.hear(9, AnsContact(".", (9, 10, 11))), Join)
        walks.append(join.walk)  # type: ignore[attr-defined]
        one.fire(AnswerDue)
    assert walks == [5, 2, 1, 0]
    assert contact == 9
    assert not one.scamp.ready(".")  # contacts were named: it is not alone


def test_marks_that_are_none_are_rejected_in_a_note() -> None:
    (note,) = One().hear(5, Marks(".", 3, b"abc", None, True))
    assert note.kind == "reject"  # type: ignore[union-attr]


def test_parameters_can_be_changed_for_one_topic_while_running() -> None:
    one = One(2, 3)
    one.take(Tune(".", Params(extra_copies=4)))
    assert len(sent(one.hear(5, Join(".", 5, 7, 0, LEASE)), Forward)) == 2 + 4


def test_a_sample_is_of_different_known_members_and_the_same_for_the_same_key() -> None:
    one = One(*range(10, 30))
    picked = one.scamp.sample(".", 7, key=5)
    assert len({*picked}) == 7
    assert picked == one.scamp.sample(".", 7, key=5)
    assert {*one.scamp.sample(".", 99, key=5)} == {*range(10, 30)}
    assert one.scamp.sample(".nowhere", 3, key=5) == []
