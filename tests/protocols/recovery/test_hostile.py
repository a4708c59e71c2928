"""Whatever peers say: the same givens give the same effects, memory is bounded, no word is answered with a storm."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Effect, Given, Received, Send
from gossamer.core.patterns import UNCOUNTED, Tag
from gossamer.protocols.recovery.messages import (
    DIGEST_MAX,
    Again,
    Ask,
    Asked,
    Digest,
    Latest,
    Listed,
    Lost,
    Place,
    Want,
)
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.streams import LOST_MAX
from protocols.recovery.field import ME, A, B, C, Carry, Node, S, event, said

PATTERNS = st.sampled_from([A, B, C])
PEERS = st.integers(0, 12)
SMALL = st.integers(0, 30) | st.just(2**62)
IDS = st.builds(EventId, PEERS, st.integers(0, 1), st.integers(0, 30))
SIGNATURES = PATTERNS.map(lambda pattern: pattern.signature) | st.just(UNCOUNTED)
TAGS = st.lists(st.builds(Tag, SIGNATURES, SMALL, st.integers(0, 3)), max_size=3).map(tuple)
EVENTS = st.builds(Event, IDS, PATTERNS.map(lambda pattern: pattern.topic), tags=TAGS)
CARRIED = st.builds(Carried, EVENTS, st.integers(0, 5), st.lists(PEERS, max_size=3).map(tuple))
MESSAGES: st.SearchStrategy[Struct] = st.one_of(
    st.builds(Carry, CARRIED),
    st.builds(Again, CARRIED),
    st.builds(Digest, PATTERNS, st.lists(IDS, max_size=4).map(tuple), PEERS, SMALL),
    st.builds(Want, PATTERNS, st.lists(IDS, max_size=4).map(tuple)),
    st.builds(Listed, PATTERNS.map(lambda pattern: pattern.topic), st.lists(IDS, max_size=4).map(tuple)),
    st.builds(
        Lost, PATTERNS, st.lists(st.builds(Place, PEERS, st.just(0), SMALL), max_size=4).map(tuple), PEERS, SMALL
    ),
    st.builds(
        *(Ask, PEERS, st.just(0), st.lists(st.builds(Asked, PATTERNS, SMALL), max_size=4).map(tuple)),
        *(st.lists(PEERS, max_size=3).map(tuple), PEERS, SMALL),
    ),
    st.builds(Latest, PEERS, st.just(0), PATTERNS, SMALL, SMALL),
)
STEPS = st.lists(st.tuples(PEERS, MESSAGES, st.sampled_from([0, 1000, 10**6])), max_size=40)
WAYS = {A: (1, 2, 3), B: (2, 4), C: (6,)}


def live_through(steps: list[tuple[int, Struct, int]], tree: bool) -> tuple[Node, list[list[Effect]]]:
    node = Node(Params.live(), A, B, ways=WAYS, tree=tree)
    return node, [[*node.get(peer, message), *node.wait(us)] for peer, message, us in steps]


@settings(max_examples=100)
@given(STEPS, st.booleans())
def test_the_same_givens_give_the_same_effects(steps: list[tuple[int, Struct, int]], tree: bool) -> None:
    assert live_through(steps, tree)[1] == live_through(steps, tree)[1]


@settings(max_examples=100)
@given(STEPS, st.booleans())
def test_nobody_is_sent_to_itself_and_only_what_was_asked_about(steps: list[Any], tree: bool) -> None:
    node = Node(Params.live(), A, B, ways=WAYS, tree=tree)
    for peer, message, _ in steps:
        effects = node.get(peer, message)
        assert all(ME not in effect.peers for effect in effects if type(effect) is Send)
        asked = (
            [message.pattern]
            if hasattr(message, "pattern")
            else [each.pattern for each in getattr(message, "wanted", ())]
        )
        for _, again in said(effects, Again):
            assert again.carried.event.topic in [pattern.topic for pattern in asked]  # type: ignore[attr-defined]


def spam(number: int, peer: int) -> list[Given]:
    """One of each kind, with as much in it as there may be, about what never was."""
    far = 10**6 * (number + 1)
    ids = tuple(EventId(peer, number, n) for n in range(DIGEST_MAX))
    places = tuple(Place(peer, number, n) for n in range(DIGEST_MAX))
    asked = tuple(Asked(A, n) for n in range(DIGEST_MAX))
    messages: list[Struct] = [
        Digest(A, ids, peer, number),
        Want(A, ids),
        Listed(A.topic, ids),
        Lost(A, places, peer, number),
        Ask(peer, number, asked, (), peer, number),
        Latest(peer, number, A, far, 0),
        Latest(S, 0, A, far, 0),
        Carry(Carried(event(1, (A, 1), source=peer, life=number))),
        Carry(Carried(event(2, (A, far), source=peer, life=number))),
    ]
    return [Received(peer, message) for message in messages]


def test_a_peer_that_makes_things_up_fills_bounded_buffers_only() -> None:
    node = Node(Params.live(), A, ways={A: range(100, 150)}, tree=False)
    for number in range(60):
        for each in spam(number, 66):
            node.take(each)
    recovery = node.recovery
    assert len(recovery.streams.lost) <= LOST_MAX
    assert len(recovery.streams.gaps.waiting) <= 1000
    assert len(recovery.holding.cache) <= 2000
    assert S not in [source for source, _ in recovery.streams.sources]
    for _, asked in said(node.wait(10**6), Lost, Ask):
        assert len(asked.wanted) <= DIGEST_MAX  # type: ignore[attr-defined]


def test_what_is_heard_of_one_peer_is_answered_with_no_more_than_it_cost() -> None:
    """Bytes out for bytes in, over links that make cycles: a request for events may ask for its share of these."""
    node = Node(Params.live(), A, ways={A: range(100, 150)}, tree=False)
    for number in range(50):
        for given_now in spam(number, 66):
            effects = node.take(given_now)
            assert sum(len(effect.peers) for effect in effects if type(effect) is Send) <= 3


def test_one_peer_cannot_push_out_what_others_lost_by_what_it_says_of_itself() -> None:
    node = Node(Params.live(), A, tree=False)
    node.wait(10**6)
    node.hear(event(1, (A, 1)), event(3, (A, 3)))
    for number in range(50 * 50):
        node.get(66, Latest(66, number, A, 10**6, 0))
        node.now_us += 20_000
    assert (S, 0, A.signature, 2) in node.recovery.streams.lost
    assert len(node.recovery.streams.sources) < 200
