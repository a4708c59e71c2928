"""What a node does about the losses of others."""

import pytest
from msgspec.structs import replace

from gossamer.core.draws import FORWARD, chance, draw, fold, upper_pick
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Deliver, Fetch, Fetched, Note, Subscribe, Tune
from gossamer.core.patterns import Pattern
from gossamer.parts.cache import TAG_BYTES
from gossamer.parts.seen import Seen
from gossamer.protocols.recovery.holding import BYTES_MAX
from gossamer.protocols.recovery.messages import Again, Ask, Asked, Digest, Lost, Place, Want
from gossamer.protocols.recovery.params import Eviction, Params
from protocols.recovery.field import ME, A, B, C, Node, S, event, only, said

WAYS = {A: (1, 2, 3), B: (2, 4), C: (6,)}
PULL = Params(method="subscriber-pull")
ASKER = 44


def again(event: Event, hops: int = 2) -> Again:
    return Again(Carried(event, hops))


# A digest


def test_a_subscriber_wants_what_it_does_not_know_of_a_digest_and_asks_its_initiator() -> None:
    node = Node(Params(method="push"), A, ways=WAYS)
    known, news = event(1, (A, 1)), event(2, (A, 2))
    node.hear(known)
    effects = node.get(1, Digest(A, (known.id, news.id), ASKER, 3))
    assert said(effects, Want) == [(ASKER, Want(A, (news.id,)))]


def test_nobody_wants_what_it_knows_published_or_did_not_subscribe_to() -> None:
    node = Node(Params(method="push"), A, ways=WAYS)
    known = event(1, (A, 1))
    node.hear(known)
    mine = event(8, (A, 8), source=ME)
    assert said(node.get(1, Digest(A, (known.id, mine.id), ASKER, 3)), Want) == []
    assert said(node.get(1, Digest(B, (event(2, (B, 1)).id,), ASKER, 3)), Want) == []
    node.take(Tune(A.topic, Params(method="none")))
    assert said(node.get(1, Digest(A, (event(3, (A, 3)).id,), ASKER, 4)), Want) == []


def test_nobody_wants_what_is_older_than_its_subscription() -> None:
    node = Node(Params(method="push"), ways=WAYS)
    node.now_us = 5_000_000
    node.take(Subscribe(A.topic, A.where))
    old, new, unknown = (event(number, (A, number)).id for number in (1, 2, 3))
    node.now_us += 1_000_000
    effects = node.get(1, Digest(A, (old, new, unknown), ASKER, 3, (1_000_001, 1_000_000)))
    assert said(effects, Want) == [(ASKER, Want(A, (new, unknown)))]


def test_a_push_digest_is_passed_on_by_chance_only() -> None:
    node = Node(Params(method="push", forward=0.4), A, ways=WAYS)
    for number in range(1, 200):
        digest = Digest(A, (), ASKER, number)
        key = node.node.key(FORWARD, fold(ASKER, number))
        assert said(node.get(2, digest), Digest) == [(p, digest) for p in (1, 3) if chance(key, p) < 0.4]


# A want


def test_what_is_wanted_and_cached_is_sent_straight_back_without_its_route() -> None:
    node = Node(PULL, A)
    held = event(1, (A, 1))
    node.hear(held, route=(S, 1))
    effects = node.get(ASKER, Want(A, (held.id, event(2, (A, 2)).id, held.id)))
    assert said(effects, Again) == [(ASKER, again(held))]


def test_own_and_wanted_events_are_kept_and_relayed_ones_if_told_to() -> None:
    for relayed in (False, True):
        node = Node(Params(cache_relayed=relayed), A, ways=WAYS)
        own, wanted, others = event(1, (B, 1), source=ME), event(1, (A, 1)), event(2, (B, 1))
        node.publish(own)
        node.hear(wanted, others)
        held = [node.recovery.holding.get(each.id) is not None for each in (own, wanted, others)]
        assert held == [True, True, relayed]


# Subscriber pull


def test_a_holder_answers_by_any_tag_of_the_event() -> None:
    """S:Pa-5 and S:Pb-4 are the same event (4.2)."""
    node = Node(PULL, B, ways=WAYS)
    held = Event(event(9, (A, 5)).id, A.topic, tags=event(9, (A, 5), (B, 4)).tags)
    node.hear(held)
    effects = node.get(1, Lost(A, (Place(S, 0, 5), Place(S, 0, 6), Place(S, 1, 5)), ASKER, 1))
    assert said(effects, Again) == [(ASKER, again(held))]


@pytest.mark.parametrize("forward", [0.0, 0.4])
def test_a_node_that_does_not_want_the_pattern_must_pass_a_pull_on(forward: float) -> None:
    bystander, subscriber = (Node(Params(forward=forward), p, ways=WAYS) for p in (C, A))
    for number in range(1, 100):
        lost = Lost(A, (Place(S, 0, 1),), ASKER, number)
        key = bystander.node.key(FORWARD, fold(ASKER, number))
        drawn = [peer for peer in (1, 3) if chance(key, peer) < forward]
        assert [peer for peer, _ in said(subscriber.get(2, lost), Lost)] == drawn
        told = drawn or [(1, 3)[upper_pick(draw(key, 2**40 + 1), 2)]]
        assert said(bystander.get(2, lost), Lost) == [(peer, lost) for peer in told]


def test_at_the_end_of_the_tree_a_pull_ends() -> None:
    node = Node(PULL, C, ways={A: (2,)})
    assert said(node.get(2, Lost(A, (Place(S, 0, 1),), ASKER, 1)), Lost) == []


# Publisher pull


def test_what_was_served_is_not_asked_for_any_further() -> None:
    node = Node(PULL, A, B, ways=WAYS)
    held = event(1, (A, 1))
    node.hear(held)
    ask = Ask(S, 0, (Asked(A, 1), Asked(A, 2), Asked(B, 7)), (S, 7, 8), ASKER, 3)
    effects = node.get(1, ask)
    assert said(effects, Again) == [(ASKER, again(held))]
    assert said(effects, Ask) == [(8, Ask(S, 0, (Asked(A, 2), Asked(B, 7)), (S, 7), ASKER, 3))]


def test_where_the_route_ends_the_publisher_is_asked_and_with_all_served_nobody() -> None:
    node = Node(PULL, A)
    ask = Ask(S, 0, (Asked(A, 1),), (), ASKER, 3)
    assert said(node.get(1, ask), Ask) == [(S, ask)]
    node.hear(event(1, (A, 1)))
    assert said(node.get(1, ask), Ask) == []


def test_a_publisher_serves_what_it_has_and_passes_nothing_on() -> None:
    node = Node(PULL, ways=WAYS)
    mine = event(1, (A, 1), source=ME)
    node.publish(mine)
    effects = node.get(1, Ask(ME, 0, (Asked(A, 1), Asked(A, 2)), (3, 7), ASKER, 3))
    assert said(effects, Again, Ask) == [(ASKER, again(mine, 1))]


# What comes again


def test_an_event_sent_again_is_delivered_once_and_goes_no_further() -> None:
    node = Node(PULL, A)
    late = event(2, (A, 2))
    effects = node.get(3, again(late))
    assert only(effects, Deliver) == [Deliver(late, 2)]
    assert said(effects, Again) == []
    assert node.get(4, again(late)) == [Note("duplicate", event=late.id, peer=4)]


def test_an_event_sent_again_says_nothing_of_the_route() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1)), route=(S, 7))
    node.get(3, Again(Carried(event(2, (A, 2)), 3, (S, 66))))
    assert node.recovery.streams.sources[S, 0].route == (S, 7)


# Limits


def test_nobody_is_sent_an_event_of_a_topic_it_did_not_ask_about() -> None:
    """A publisher's tags may lie; and whoever knows an id may ask for it by a topic it can read."""
    node = Node(PULL, A, B, ways=WAYS)
    secret = Event(event(1, (A, 1)).id, A.topic, tags=event(1, (A, 1), (B, 1)).tags)
    node.hear(secret)
    asked = (Want(B, (secret.id,)), Lost(B, (Place(S, 0, 1),), ASKER, 1), Ask(S, 0, (Asked(B, 1),), (), ASKER, 1))
    assert [said(node.get(ASKER, message), Again) for message in asked] == [[], [], []]
    wider, below = Pattern("."), Pattern(A.topic + ".b")
    assert said(node.get(ASKER, Want(wider, (secret.id,))), Again) == [(ASKER, again(secret))]
    assert said(node.get(ASKER, Want(below, (secret.id,))), Again) == []


def test_nobody_answers_or_asks_itself() -> None:
    node = Node(PULL, A, ways=WAYS)
    node.hear(event(1, (A, 1)))
    wanted = (Place(S, 0, 1),)
    assert node.get(1, Lost(A, wanted, ME, 1)) == []
    assert node.get(1, Digest(A, (event(3, (A, 3)).id,), ME, 1)) == []
    assert node.get(1, Ask(S, 0, (Asked(A, 1),), (), ME, 1)) == []
    assert said(node.get(1, Ask(S, 0, (Asked(A, 9),), (S, ME), ASKER, 1)), Ask) == []


def test_over_cycles_nobody_speaks_for_others_and_nothing_is_passed_on() -> None:
    node = Node(PULL, A, tree=False)
    held = event(1, (A, 1))
    node.hear(held)
    spoken = (Lost(A, (Place(S, 0, 1),), ASKER, 1), Digest(A, (), ASKER, 1), Ask(S, 0, (Asked(A, 1),), (), ASKER, 1))
    for message in spoken:
        (note,) = node.get(1, message)
        assert (type(note), note.kind) == (Note, "reject")  # type: ignore[union-attr]
    assert said(node.get(ASKER, spoken[0]), Again, Lost) == [(ASKER, again(held))]
    assert said(node.get(ASKER, Ask(S, 0, (Asked(A, 9),), (S, 7), ASKER, 1)), Ask) == []


def test_one_peer_is_sent_no_more_than_its_share_and_large_events_count_more() -> None:
    node = Node(Params(answers_per_s=10, cache=500), A)
    held = [event(n, (A, n)) for n in range(1, 101)]
    node.hear(*held)
    everything = Want(A, tuple(each.id for each in held))
    assert len(said(node.get(ASKER, everything), Again)) == 20
    assert len(said(node.get(ASKER, everything), Again)) == 0
    assert len(said(node.get(45, everything), Again)) == 20
    node.now_us += 1_000_000
    assert len(said(node.get(ASKER, everything), Again)) == 10
    big = [event(n, (A, n), payload=bytes(40_000)) for n in range(101, 111)]
    node.hear(*big)
    assert len(said(node.get(46, Want(A, tuple(each.id for each in big))), Again)) == 2


def test_what_others_ask_in_a_peers_name_does_not_take_from_what_it_may_ask_itself() -> None:
    node = Node(Params(answers_per_s=10, cache=500), A)
    node.hear(*(event(n, (A, n)) for n in range(1, 101)))
    lost = Lost(A, tuple(Place(S, 0, n) for n in range(1, 101)), ASKER, 1)
    assert len(said(node.get(1, lost), Again)) == 20
    assert len(said(node.get(1, lost), Again)) == 0
    assert len(said(node.get(ASKER, lost), Again)) == 20


def test_digests_without_end_are_not_heard_without_end() -> None:
    node = Node(Params(answers_per_s=10), A, ways=WAYS)
    unknown = tuple(event(n, (A, n)).id for n in range(500))
    effects = [node.get(ASKER, Digest(A, unknown, ASKER, number)) for number in range(1000)]
    assert sum(len(said(each, Want)) for each in effects) <= 100


# The store


def test_what_left_the_cache_is_asked_of_the_store_and_then_sent() -> None:
    node = Node(Params(cache=3, store=True), A)
    events = [event(n, (A, n)) for n in range(1, 40)]
    node.hear(*events)
    effects = node.get(1, Lost(A, (Place(S, 0, 38), Place(S, 0, 20), Place(S, 0, 1)), ASKER, 1))
    assert said(effects, Again) == [(ASKER, again(events[37]))]
    assert only(effects, Fetch) == [Fetch(ASKER, (events[19].id,))]
    assert said(node.take(Fetched(ASKER, (events[19],))), Again) == [(ASKER, again(events[19], 1))]
    assert only(node.get(1, Want(B, (events[19].id,))), Fetch) == []
    assert len(node.recovery.holding.stored or ()) == 30


def test_without_a_store_what_left_the_cache_is_gone() -> None:
    node = Node(Params(cache=3), A)
    node.hear(*(event(n, (A, n)) for n in range(1, 40)))
    assert node.get(ASKER, Want(A, (event(20, (A, 20)).id,))) == []


def test_a_request_whose_way_leads_back_here_goes_no_further() -> None:
    node = Node(Params.live(), A)
    asked = (Asked(A, 1),)
    assert said(node.get(1, Ask(S, 0, asked, (3, 2), 1, 1)), Ask) == [(2, Ask(S, 0, asked, (3,), 1, 1))]
    assert said(node.get(1, Ask(S, 0, asked, (2, ME, 2), 1, 2)), Ask) == []


@pytest.mark.parametrize("eviction", ["fifo", "random", "subscriber-first"])
def test_large_events_leave_the_cache_before_it_is_full(eviction: Eviction) -> None:
    node = Node(replace(Params.live(), eviction=eviction), A)
    payload = bytes(BYTES_MAX // 4 - TAG_BYTES)
    node.hear(*(event(n, (A, n), payload=payload) for n in range(1, 11)))
    holding = node.recovery.holding
    assert len(holding.cache) == 4
    assert holding.cache.bytes == BYTES_MAX
    assert len(holding.stored or ()) == 6
    asked = tuple(EventId(S, 0, n) for n in range(1, 11))
    assert all(holding.get(each) is not None or holding.in_store(each) == (A.topic, len(payload)) for each in asked)
    node.hear(event(11, (A, 11), payload=bytes(2 * BYTES_MAX)))
    assert len(holding.cache) == 1


def test_an_event_that_the_door_forgot_is_held_once() -> None:
    node = Node(replace(Params.live(), cache=2), A)
    node.node.seen = Seen(1)
    for n in (1, 1, 2, 3, 1, 4, 5, 6, *range(7, 40)):
        node.hear(event(n, (A, n)))
    assert len(node.recovery.holding.cache) == 2
    assert len(node.recovery.holding.stored or ()) == 20
