"""What digests tell of, and how long it is asked for."""

from msgspec.structs import replace

from gossamer.core.events import Carried
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Deliver, Subscribe, Tune, Unsubscribe
from gossamer.parts.awaited import PER_PEER, TRIES
from gossamer.protocols.recovery.messages import DIGEST_MAX, Again, Digest, Want
from gossamer.protocols.recovery.params import Params
from protocols.recovery.field import A, B, Node, event, only, said

HOLDER, OTHER = 44, 45
LAST = event(1, (A, 1))


def told(*ids: EventId, by: Peer = HOLDER) -> Digest:
    return Digest(A, ids, by, 1, (SECOND_US,) * len(ids))


def reader(params: Params | None = None) -> Node:
    """One that has heard nothing yet, and has read for a while."""
    node = Node(params or Params.live(), A, tree=False)
    node.wait(10 * SECOND_US)
    return node


def test_what_a_digest_told_of_is_asked_for_until_it_comes_though_nobody_tells_of_it_again() -> None:
    """The last event of its publisher: no gap will ever show it."""
    node, want = reader(), (HOLDER, Want(A, (LAST.id,)))
    assert said(node.get(HOLDER, told(LAST.id)), Want) == [want]
    assert said(node.wait(2 * SECOND_US), Want) == [want] * 4
    assert only(node.get(HOLDER, Again(Carried(LAST, 1))), Deliver) == [Deliver(LAST, 1)]
    assert said(node.wait(10 * SECOND_US), Want) == []
    assert not [*node.recovery.asking.lives_by()]


def test_what_came_is_not_asked_for_with_what_did_not() -> None:
    node, came = reader(), event(2, (A, 2))
    node.get(HOLDER, told(LAST.id, came.id))
    node.get(HOLDER, Again(Carried(came, 1)))
    assert said(node.wait(SECOND_US // 2), Want) == [(HOLDER, Want(A, (LAST.id,)))]


def test_everybody_who_told_of_it_is_asked_in_turn() -> None:
    """One that is gone, or lied, does not keep an event from us."""
    node = reader()
    for holder in (HOLDER, OTHER):
        assert [to for to, _ in said(node.get(holder, told(LAST.id, by=holder)), Want)] == [holder]
    assert [to for to, _ in said(node.wait(2 * SECOND_US), Want)] == [HOLDER, OTHER] * 2


def test_what_nobody_sends_is_given_up_after_a_few_times_and_asked_for_again_when_told_of_again() -> None:
    node = reader()
    for _ in range(2):
        assert len(said(node.get(HOLDER, told(LAST.id)), Want)) == 1
        assert len(said(node.wait(60 * SECOND_US), Want)) == TRIES


def test_what_our_users_gave_up_meanwhile_is_not_asked_for_even_if_they_subscribe_anew() -> None:
    node = reader()
    node.get(HOLDER, told(LAST.id))
    node.take(Unsubscribe(A.topic))
    node.wait(1)
    node.take(Subscribe(A.topic))
    assert said(node.wait(10 * SECOND_US), Want) == []


def test_nor_is_what_is_not_recovered_any_more() -> None:
    node = reader()
    node.get(HOLDER, told(LAST.id))
    node.take(Tune(A.topic, Params(method="none")))
    assert said(node.wait(10 * SECOND_US), Want) == []


def test_another_subscription_that_comes_or_goes_changes_nothing() -> None:
    node = reader()
    node.get(HOLDER, told(LAST.id))
    node.take(Subscribe(B.topic))
    node.take(Unsubscribe(B.topic))
    assert len(said(node.wait(SECOND_US), Want)) == 2


def test_where_digests_are_all_that_is_said_the_next_one_asks_again() -> None:
    """The paper's push."""
    node = reader(replace(Params.paper(), method="push"))
    assert len(said(node.get(HOLDER, told(LAST.id)), Want)) == 1
    assert said(node.wait(10 * SECOND_US), Want) == []


def test_a_peer_that_makes_events_up_takes_little_room_and_is_asked_for_as_many_as_fit_a_message() -> None:
    node = reader()
    for number in range(20):
        node.get(66, told(*(EventId(77, number, n) for n in range(DIGEST_MAX)), by=66))
    assert len(node.recovery.asking.awaited) == PER_PEER
    wants = said(node.wait(SECOND_US // 2), Want)
    assert [len(want.ids) for _, want in wants] == [DIGEST_MAX] * 4  # type: ignore[attr-defined]
    node.get(HOLDER, told(LAST.id))
    node.wait(10 * SECOND_US)
    assert len(node.recovery.asking.awaited) == 0
