"""When a node gossips, about what, and to whom."""

from itertools import pairwise

import pytest

from gossamer.core.draws import FORWARD, ROUND, chance, draw, fold, upper_pick
from gossamer.core.machine import Fired, Tune
from gossamer.core.patterns import Pattern
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import DIGEST_MAX, Ask, Asked, Digest, Latest, Lost, Place, Want
from gossamer.protocols.recovery.params import Method, Params
from gossamer.protocols.recovery.rounds import Round
from protocols.recovery.field import ME, A, B, C, Node, S, event, said

T = 10_000
GOSSIP = (Digest, Lost, Ask)
WAYS = {A: (1, 2, 3), B: (2, 4), C: (6,)}


def params(method: Method, **changes: object) -> Params:
    return Params(method=method, interval_us=T, **changes)  # type: ignore[arg-type]


def lossy(node: Node, pattern: Pattern = A, source: int = S) -> None:
    node.hear(event(1, (pattern, 1), source=source), event(3, (pattern, 3), source=source))


@pytest.mark.parametrize("method", ["none", "subscriber-pull", "publisher-pull", "combined"])
def test_without_a_loss_a_pull_says_nothing_and_needs_no_timer(method: Method) -> None:
    node = Node(params(method), A, B, ways=WAYS)
    node.hear(*(event(n, (A, n), (B, n)) for n in range(1, 50)))
    node.publish(*(event(n, (A, n), source=ME) for n in range(1, 50)))
    assert node.timers == []
    assert said(node.wait(100 * T), *GOSSIP, Latest) == []


def test_rounds_lie_on_a_grid_however_late_the_timer_is_set() -> None:
    """The first is at the phase, and the n-th n - 1 intervals later, whenever the loss came."""
    phase = draw(Node(params("combined")).node.key(ROUND, 0), 0) % T
    for loss_us in (0, 1, phase, 3 * T + phase - 1, 7 * T + phase):
        node = Node(params("subscriber-pull"), A)
        node.now_us = loss_us
        lossy(node)
        ((due_us, _),) = node.timers
        assert due_us > loss_us
        assert due_us - loss_us <= max(T, phase)
        assert (due_us - phase) % T == 0
        ((_, message),) = {message.round: (peer, message) for peer, message in said(node.wait(T), Lost)}.values()  # type: ignore[attr-defined]
        assert message.round == (due_us - phase) // T + 1  # type: ignore[attr-defined]


def test_a_subscriber_pull_asks_for_everything_missing_of_one_pattern() -> None:
    node = Node(params("subscriber-pull", forward=1.0), A, B, ways=WAYS)
    lossy(node, A)
    lossy(node, B, source=8)
    node.hear(event(6, (A, 6)))
    asked = {}
    for peer, lost in said(node.wait(60 * T), Lost):
        asked.setdefault(lost.pattern, (lost.wanted, []))[1].append(peer)  # type: ignore[attr-defined]
    assert asked.keys() == {A, B}
    assert asked[A][0] == (Place(S, 0, 2), Place(S, 0, 4), Place(S, 0, 5))
    assert {*asked[A][1]} == {1, 2, 3}
    assert asked[B][0] == (Place(8, 0, 2),)


def test_which_pattern_a_round_is_about_is_drawn_by_its_number() -> None:
    node = Node(params("subscriber-pull"), A, B, ways=WAYS)
    lossy(node, A)
    lossy(node, B, source=8)
    for _, lost in said(node.wait(50 * T), Lost):
        expected = (A, B)[upper_pick(draw(node.node.key(ROUND, lost.round), 0), 2)]  # type: ignore[attr-defined]
        assert lost.pattern == expected  # type: ignore[attr-defined]
        assert lost.initiator == ME  # type: ignore[attr-defined]


def test_a_publisher_pull_walks_back_the_way_events_came() -> None:
    node = Node(params("publisher-pull"), A, B, ways=WAYS)
    node.hear(event(1, (A, 1), (B, 1)), route=(S, 7))
    node.hear(event(4, (A, 3), (B, 4)), route=(S, 8, 1))
    (target, ask), *_ = said(node.wait(2 * T), Ask)
    assert target == 1
    wanted = (Asked(A, 2), Asked(B, 2), Asked(B, 3))
    assert ask == Ask(S, 0, wanted, (S, 8), ME, ask.round)  # type: ignore[attr-defined]


def test_without_a_route_the_publisher_is_asked_itself() -> None:
    node = Node(params("publisher-pull"), A)
    lossy(node)
    (target, ask), *_ = said(node.wait(2 * T), Ask)
    assert target == S
    assert ask.route == ()  # type: ignore[attr-defined]


def test_where_links_make_cycles_there_is_no_route() -> None:
    node = Node(params("publisher-pull"), A, tree=False)
    node.hear(event(1, (A, 1)), event(3, (A, 3)), route=(S, 7))
    (target, ask), *_ = said(node.wait(2 * T), Ask)
    assert (target, ask.route) == (S, ())  # type: ignore[attr-defined]


def test_combined_rounds_ask_one_way_or_the_other_as_drawn() -> None:
    node = Node(params("combined", publisher_share=0.3), A)
    lossy(node)
    asked = {message.round: type(message) for _, message in said(node.wait(300 * T), Lost, Ask)}  # type: ignore[attr-defined]
    for number, kind in asked.items():
        assert (kind is Ask) == (chance(node.node.key(ROUND, number), 1) < 0.3)
    assert 0.2 < [*asked.values()].count(Ask) / len(asked) < 0.4


def test_a_combined_round_asks_the_publisher_where_there_is_no_other_subscriber() -> None:
    node = Node(params("combined", publisher_share=0.0), A, B, ways={B: (2, 4)})
    lossy(node, A)
    rounds = said(node.wait(20 * T), Lost, Ask)
    assert len(rounds) >= 19
    assert {type(message) for _, message in rounds} == {Ask}
    lossy(node, B, source=8)
    assert {type(message) for _, message in said(node.wait(20 * T), Lost, Ask)} == {Ask, Lost}


def test_push_tells_of_what_is_cached_of_any_known_pattern_but_says_nothing_empty() -> None:
    node = Node(params("push", forward=1.0), A, ways=WAYS)
    assert said(node.wait(20 * T), *GOSSIP) == []
    first, second = event(1, (A, 1), (B, 1)), event(2, (A, 2))
    node.hear(first, second)
    digests = {d.pattern: (d.ids, d.initiator) for _, d in said(node.wait(60 * T), Digest)}  # type: ignore[attr-defined]
    assert digests == {A: ((first.id, second.id), ME), B: ((first.id,), ME)}


def test_push_may_keep_to_what_its_own_users_want() -> None:
    node = Node(params("push", push_local=True), A, ways=WAYS)
    node.hear(event(1, (A, 1), (B, 1)))
    assert {digest.pattern for _, digest in said(node.wait(60 * T), Digest)} == {A}  # type: ignore[attr-defined]


def test_a_push_digest_names_the_newest() -> None:
    node = Node(params("push"), A)
    node.hear(*(event(n, (A, n)) for n in range(1, DIGEST_MAX + 100)))
    (_, digest), *_ = said(node.wait(2 * T), Digest)
    assert [each.sequence for each in digest.ids] == [*range(100, DIGEST_MAX + 100)]  # type: ignore[attr-defined]


def test_a_pull_names_no_more_than_a_message_may_hold() -> None:
    node = Node(params("combined"), A)
    node.hear(event(1, (A, 1)), event(2, (A, 900)))
    asked = [len(message.wanted) for _, message in said(node.wait(20 * T), Lost, Ask)]  # type: ignore[attr-defined]
    assert {*asked} == {DIGEST_MAX}


@pytest.mark.parametrize("forward", [0.0, 0.3, 1.0])
def test_an_initiator_tells_each_neighbour_by_its_own_chance_and_at_least_one(forward: float) -> None:
    node = Node(params("subscriber-pull", forward=forward), A)
    lossy(node)
    told: dict[int, list[int]] = {}
    for peer, lost in said(node.wait(200 * T), Lost):
        told.setdefault(lost.round, []).append(peer)  # type: ignore[attr-defined]
    for number, peers in told.items():
        key = node.node.key(FORWARD, fold(ME, number))
        drawn = [peer for peer in (1, 2, 3) if chance(key, peer) < forward]
        assert peers == (drawn or [(1, 2, 3)[upper_pick(draw(key, 2**40 + 1), 3)]])


def test_over_cycles_a_digest_goes_to_a_few() -> None:
    node = Node(params("subscriber-pull", fanout=3), A, ways={A: range(100, 140)}, tree=False)
    lossy(node)
    told: dict[int, list[int]] = {}
    for peer, lost in said(node.wait(40 * T), Lost):
        told.setdefault(lost.round, []).append(peer)  # type: ignore[attr-defined]
    assert {len({*peers}) for peers in told.values()} == {3}
    assert len({peer for peers in told.values() for peer in peers}) > 20


def test_a_loss_may_begin_a_round_at_once() -> None:
    node = Node(params("subscriber-pull", immediate=True), A)
    node.now_us = 2 * T
    lossy(node)
    at_once = said(node.wait(1), Lost)
    assert at_once
    assert {lost.round for _, lost in at_once} == {rules.HURRIED + 1}  # type: ignore[attr-defined]
    assert said(node.wait(2 * T), Lost)


def intervals(node: Node, us: int) -> list[int]:
    """Time between rounds, as their timers say."""
    due = []
    until_us = node.now_us + us
    while node.now_us < until_us:
        (due_us, timer), *_ = sorted(each for each in node.timers if type(each[1]) is Round)
        node.timers.remove((due_us, timer))
        due.append(due_us)
        node.now_us = due_us
        node.take(Fired(timer))
    return [after - before for before, after in pairwise(due)]


def test_an_adaptive_push_slows_down_in_vain_and_hurries_when_it_was_wanted() -> None:
    node = Node(params("push", adaptive=True), A)
    node.hear(event(1, (A, 1)))
    assert intervals(node, 100 * T) == [T, 2 * T, 4 * T, 8 * T, 16 * T, 32 * T, 32 * T, 32 * T]
    node.get(2, Want(A, (event(1, (A, 1)).id,)))
    assert intervals(node, 70 * T)[:3] == [T, 2 * T, 4 * T]


def test_an_adaptive_pull_hurries_at_a_new_loss() -> None:
    node = Node(params("combined", adaptive=True, expiry_us=10**9), A)
    lossy(node)
    assert max(intervals(node, 130 * T)) == 32 * T
    node.hear(event(5, (A, 5)))
    assert sorted(node.timers)[0][0] - node.now_us <= T


def test_topics_may_differ_and_a_subscriber_may_turn_recovery_off_for_itself() -> None:
    node = Node(params("combined"), A, B, ways=WAYS)
    node.take(Tune(A.topic, params("none")))
    lossy(node, A)
    lossy(node, B, source=8)
    asked = said(node.wait(60 * T), Lost, Ask)
    assert asked
    assert all(getattr(m, "pattern", B) == B and getattr(m, "source", 8) == 8 for _, m in asked)
    assert node.node.patterns(A.topic, {}) == (A.signature,)
    node.recovery.settings.network = lambda topic: params("none")
    assert node.node.patterns(A.topic, {}) == ()


def test_who_does_like_the_network_again_does_so_when_the_network_changes() -> None:
    node = Node(params("combined"), A, ways=WAYS)
    node.take(Tune(A.topic, params("none")))
    node.take(Tune(A.topic, params("combined")))
    node.recovery.settings.network = lambda topic: params("push")
    assert node.recovery.settings.of(A.topic).method == "push"


def test_rounds_that_no_topic_asks_for_any_more_end() -> None:
    node = Node(params("push"), A, ways=WAYS)
    node.wait(10 * T)
    assert node.timers
    node.recovery.settings.network = lambda topic: params("combined")
    node.take(Tune(A.topic, params("combined")))
    node.wait(10 * T)
    assert not node.timers


def test_regimes_that_no_topic_has_any_more_are_gone_and_their_losses_are_asked_for_by_the_next() -> None:
    node = Node(params("subscriber-pull"), A, B, ways=WAYS)
    lossy(node, A)
    for each in range(1, 50):
        node.take(Tune(A.topic, Params(method="subscriber-pull", interval_us=T * each, expiry_us=10**9)))
    assert len(node.recovery.rounds.regimes) == 2
    assert said(node.wait(49 * T), Lost)
    assert node.timers
    node.take(Tune(A.topic, params("subscriber-pull")))
    assert len(node.recovery.rounds.regimes) == 1
