"""Whatever peers of the overlay say, in whatever order: a node never raises, keeps its bounds, and never multiplies."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    Given,
    Note,
    PeerDown,
    Publish,
    Received,
    Send,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.pgrid.answering import AT_LARGE, QUESTIONS_BURST
from gossamer.protocols.pgrid.layer import PGrid
from gossamer.protocols.pgrid.messages import (
    AskPlaces,
    Give,
    ListHeld,
    Meet,
    PlaceQuestion,
    Registration,
    Took,
    WantListed,
)
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.reconciling import GIVEN_BURST
from gossamer.protocols.pgrid.store import id_of
from gossamer.protocols.pgrid.tending import MEETINGS_BURST
from gossamer.sim.checkers import bounds
from protocols.saying import ME, PEERS, TOPICS, any_of
from protocols.towns import CODEC, layer
from protocols.victims import Victim

TIMERS_MAX = 400
SPOKEN = [*CATALOGUE["pgrid"].spoken]
LEASE_US = Params().lease_us


class Member(Victim):
    """A node on the overlay."""

    def __init__(self, membership: MembershipName, *subscribed: str) -> None:
        node = camcast_node(ME, 1, params=CamcastParams.live(), membership=membership)
        super().__init__(node, CODEC, Started((1, 2, 3)), *map(Subscribe, subscribed))
        self.grid = layer(node, PGrid)

    def check(self) -> None:
        for what, size, most in bounds(self.node):
            assert size <= most, what
        assert {*self.grid.registering.topics} == {*self.node.interest.mine()}
        assert ME not in self.grid.trie.level_of
        assert len(self.waiting) <= TIMERS_MAX, "timers pile up"


OTHERS = PEERS.filter(lambda peer: peer != ME)
HEARD = st.builds(Received, OTHERS, any_of(SPOKEN))
GIVENS: st.SearchStrategy[Given] = st.one_of(
    HEARD,
    HEARD,
    HEARD,
    HEARD,
    st.builds(Received, OTHERS, any_of(CATALOGUE["camcast"].spoken)),
    st.builds(Subscribe, st.sampled_from(TOPICS)),
    st.builds(Unsubscribe, st.sampled_from(TOPICS)),
    st.builds(PeerDown, OTHERS),
    st.integers(0, 9).map(lambda number: Publish(Event(EventId(ME, 1, number), TOPICS[number % len(TOPICS)]))),
)


@pytest.mark.parametrize("membership", ["semi-structured", "structured"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(history=st.lists(st.tuples(GIVENS, st.integers(0, 3 * SECOND_US)), min_size=10, max_size=50))
def test_anything_said_at_any_time_is_taken_within_bounds(
    membership: MembershipName, history: list[tuple[Given, int]]
) -> None:
    victim = Member(membership, ".d")
    for given_now, pause_us in history:
        if type(given_now) is Received:
            victim.hear(given_now.peer, given_now.message)
        else:
            victim.take(given_now)
        victim.wait(pause_us)
        victim.check()


# -- floods -----------------------------------------------------------------------------------------------------------


def refused(effects: list[Effect]) -> bool:
    return any(type(each) is Note and str(each.detail).startswith("too many") for each in effects)


@pytest.mark.parametrize(
    ("message", "burst"),
    [
        (AskPlaces((PlaceQuestion(1, "0", ".", 8),)), QUESTIONS_BURST),
        (AskPlaces((PlaceQuestion(1, "", "", 8),)), QUESTIONS_BURST // AT_LARGE),
        (Meet("", 1, 1, 1, 0, 1, (), True), MEETINGS_BURST),
        (Give((Registration(".d", "1", 9, 1),) * 64, (0,) * 64), GIVEN_BURST // 64),
    ],
    ids=["questions", "questions at large", "meetings", "registrations"],
)
def test_who_floods_is_refused_and_others_are_not(message: object, burst: int) -> None:
    victim = Member("structured", ".d")
    answers = [victim.hear(9, message) for _ in range(burst + 20)]  # type: ignore[arg-type]
    assert not any(map(refused, answers[:burst]))
    assert all(map(refused, answers[burst + 1 :]))
    assert not refused(victim.hear(10, message))  # type: ignore[arg-type]
    victim.check()


# -- registrations that are handed on -------------------------------------------------------------------------------


def placed() -> Member:
    """One that holds the left half, and knows two peers in the right one."""
    victim = Member("structured")
    for peer in (21, 22):
        victim.hear(peer, Meet("1", 30, 4, 7, 0, 30, (), False))
    victim.grid.trie.move("0")
    return victim


def sent(effects: list[Effect], kind: type) -> list[tuple[tuple[int, ...], object]]:
    return [(each.peers, each.message) for each in effects if type(each) is Send and type(each.message) is kind]


HIS = Registration(".x", "1" * 30, 40, 5)
NUMBER = id_of(HIS.name, HIS.member)


def test_what_belongs_elsewhere_is_let_go_once_another_has_it_and_not_before() -> None:
    victim = placed()
    victim.hear(30, Give((HIS,), (0,)))
    listed = [each for each in sent(victim.wait(SECOND_US), ListHeld) if NUMBER in dict(each[1].marks)]  # type: ignore[attr-defined]
    assert listed
    assert sent(victim.hear(21, WantListed((NUMBER,), (NUMBER,))), Give)
    assert NUMBER in victim.grid.store.held, "it was given, and may have been lost on the way"
    victim.hear(21, WantListed((), (NUMBER,)))
    assert NUMBER not in victim.grid.store.held


def test_what_belongs_elsewhere_is_passed_on_and_let_go_long_before_the_next_round() -> None:
    victim = placed()
    for _ in range(8):  # rounds are far apart by now
        victim.wait(8 * SECOND_US)
        for peer in (21, 22):
            victim.hear(peer, Meet("1", 30, 4, 7, 0, 30, (), False))
    rounds = victim.grid.tending.rounds
    for peer, said in ((30, Give((HIS,), (0,))), (21, WantListed((NUMBER,), (NUMBER,)))):
        victim.hear(peer, said)
        assert sent(victim.wait(Params().settle_every_us), ListHeld), f"after {said}"
    assert victim.grid.tending.rounds == rounds


def test_a_member_that_comes_to_the_wrong_peer_is_passed_on_but_not_told_that_it_was_taken() -> None:
    victim = placed()
    assert not sent(victim.hear(HIS.member, Give((HIS,), (0,), spread=True)), Took)
    assert NUMBER in victim.grid.store.held


def test_a_registration_whose_lease_is_over_is_not_taken() -> None:
    victim = placed()
    victim.hear(30, Give((HIS,), (LEASE_US // 1000,)))
    assert NUMBER not in victim.grid.store.held
    victim.hear(30, Give((HIS,), (LEASE_US // 1000 - 1,)))
    assert NUMBER in victim.grid.store.held
    victim.wait(15 * SECOND_US)
    assert NUMBER not in victim.grid.store.held


def test_a_listing_of_what_nobody_has_and_a_wish_for_it_cost_little() -> None:
    victim = placed()
    victim.hear(30, Give((HIS,), (0,)))
    numbers = (NUMBER,) * 512
    given_to = sent(victim.hear(66, WantListed(numbers)), Give)
    assert len(given_to) == 1
