"""Whatever peers say: a node never raises, never grows beyond its bounds, and never multiplies."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from composing import use
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    Effect,
    Given,
    Known,
    Note,
    PeerDown,
    Publish,
    Received,
    Send,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.awaited import AWAITED_MAX, PER_PEER, TRIES
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static
from gossamer.protocols.flood.branches import GUESTS_MAX
from gossamer.protocols.flood.messages import IDS_MAX, Graft, Have, Message, Near, Part, Pass, Prune
from gossamer.protocols.flood.params import Params
from gossamer.protocols.flood.tree import GRAFTS_PER_S, TOPICS_MAX, WORDS_BURST, BroadcastTree
from gossamer.wire.codec import Codec
from protocols.saying import ME, PEERS, TOPICS, any_of
from protocols.victims import Victim

KINDS = Message.__args__
CODEC = Codec(KINDS)
NEWS: Topic = ".d"


class Member(Victim):
    """A node of a community of eight."""

    sends_max = GRAFTS_PER_S  # all at once, to whoever missed much

    def __init__(self, *subscribed: Topic, params: Params | None = None) -> None:
        node = Stack(ME, 1, Hierarchy(), Seen())
        members = Static(node, {topic: range(8) for topic in TOPICS})
        self.tree = BroadcastTree(node, members, params or Params(tree=True, remembered=20, shortcut=1))
        use(node, self.tree, members=members, spread=self.tree)
        super().__init__(node, CODEC, Started(), *map(Subscribe, subscribed or (NEWS,)))

    def check(self) -> None:
        tree = self.tree
        assert len(self.waiting) <= 2
        assert len(tree.recent.kept) == len(tree.recent.order) <= tree.params.remembered
        assert len(tree.awaited) <= AWAITED_MAX
        assert sum(tree.awaited.told_by.values()) == len(tree.awaited)
        assert len(tree.branches) <= TOPICS_MAX
        for branch in tree.branches.values():
            assert max(len(branch.guests), len(branch.asked) - len(branch.guests)) <= GUESTS_MAX
            assert len(branch.around) == len({*branch.around}) <= 8 + GUESTS_MAX
            assert branch.lazy.keys() <= {*branch.around}
            assert len(branch.away) <= 8 + GUESTS_MAX


def sent(effects: Sequence[Effect], kind: type[Struct]) -> list[tuple[tuple[Peer, ...], Struct]]:
    return [(each.peers, each.message) for each in effects if type(each) is Send and type(each.message) is kind]


def event(number: int, topic: Topic = NEWS, publisher: Peer = 9, payload: bytes = b"") -> Event:
    return Event(EventId(publisher, 0, number), topic, payload)


IDS = st.builds(EventId, st.integers(0, 9), st.integers(0, 1), st.integers(0, 9))
EVENTS = st.builds(Event, IDS, st.sampled_from(TOPICS))
ABOUT_EVENTS: st.SearchStrategy[Struct] = st.one_of(
    st.builds(Pass, st.builds(Carried, EVENTS, st.integers(0, 9))),
    st.builds(Have, st.sampled_from(TOPICS), st.lists(IDS, max_size=3).map(tuple), st.just((0, 7))),
    st.builds(Graft, st.sampled_from(TOPICS), st.lists(IDS, max_size=3).map(tuple)),
)
GIVENS: st.SearchStrategy[Given] = st.one_of(
    st.builds(Received, PEERS, any_of(KINDS)),
    st.builds(Received, st.integers(0, 7).filter(lambda peer: peer != ME), ABOUT_EVENTS),
    st.builds(Received, st.integers(0, 7).filter(lambda peer: peer != ME), ABOUT_EVENTS),
    st.builds(Known, PEERS, st.lists(IDS, max_size=3).map(tuple)),
    st.builds(PeerDown, PEERS),
    st.builds(Subscribe, st.sampled_from(TOPICS)),
    st.builds(Unsubscribe, st.sampled_from(TOPICS)),
    st.builds(Publish, EVENTS),
)
HISTORY = st.lists(st.tuples(GIVENS, st.sampled_from([0, 1000, 10**5, 10**6, 40 * 10**6])), max_size=40)


def live_through(history: list[tuple[Given, int]]) -> list[list[Effect]]:
    victim, lived = Member("."), []
    for given_now, pause_us in history:
        if type(given_now) is Received:
            lived.append(victim.hear(given_now.peer, given_now.message))
        else:
            lived.append(victim.take(given_now))
        assert sum(len(each.peers) for each in lived[-1] if type(each) is Send) <= 100
        lived.append(victim.wait(pause_us))
        victim.check()
    return lived


@settings(max_examples=150)
@given(HISTORY)
def test_anything_said_at_any_time_is_taken_within_bounds_and_always_alike(history: list[tuple[Given, int]]) -> None:
    # As they are written: an attribute may be no number at all (NaN), which equals nothing.
    assert repr(live_through(history)) == repr(live_through(history))


def test_one_that_makes_events_up_fills_its_own_share_and_is_asked_a_few_times_for_each() -> None:
    victim = Member()
    for number in range(100):
        ids = tuple(EventId(66, number, n) for n in range(IDS_MAX))
        victim.hear(66, Have(NEWS, ids))
    assert len(victim.tree.awaited) == PER_PEER
    victim.hear(1, Have(NEWS, (EventId(9, 0, 1),)))
    asked = [graft for _ in range(2 * TRIES) for graft in sent(victim.wait(300_000), Graft)]
    assert sum(len(graft.ids) for _, graft in asked) == TRIES * (PER_PEER + 1)  # type: ignore[attr-defined]
    assert {peers for peers, _ in asked} == {(66,), (1,)}
    assert len(victim.tree.awaited) == 0
    assert victim.waiting == []
    victim.check()


def test_many_that_make_events_up_fill_a_bounded_table() -> None:
    victim = Member()
    for peer in range(100, 200):
        victim.hear(peer, Have(NEWS, tuple(EventId(peer, 0, n) for n in range(IDS_MAX))))
    assert len(victim.tree.awaited) == AWAITED_MAX
    victim.check()


def test_an_event_is_asked_of_the_next_who_has_it_until_it_comes() -> None:
    victim = Member()
    wanted = event(1)
    for peer in (1, 2):
        victim.hear(peer, Have(NEWS, (wanted.id,), (3,)))
    asked = [sent(victim.wait(300_000), Graft) for _ in range(3)]
    assert asked == [[((peer,), Graft(NEWS, (wanted.id,)))] for peer in (1, 2, 1)]
    victim.hear(2, Pass(Carried(wanted)))
    assert sent(victim.wait(300_000), Graft) == []


def test_who_asks_for_the_same_over_and_over_gets_it_within_limits() -> None:
    victim = Member(params=Params(tree=True))
    for number in range(500):
        victim.hear(1, Pass(Carried(event(number, payload=bytes(4096)))))
    ids = tuple(EventId(9, 0, number) for number in range(500))
    answers = [len(sent(victim.hear(2, Graft(NEWS, ids)), Pass)) for _ in range(10)]
    assert sum(answers) <= GRAFTS_PER_S  # each counts double, and twice as many at once
    assert len(sent(victim.hear(3, Graft(NEWS, ids[:5])), Pass)) == 5


def test_nobody_gets_an_event_by_naming_another_topic() -> None:
    """Grants are checked by the topic a request names."""
    victim = Member(".")
    secret = event(1, ".x")
    victim.hear(1, Pass(Carried(secret)))
    assert sent(victim.hear(2, Graft(NEWS, (secret.id,))), Pass) == []
    assert len(sent(victim.hear(2, Graft(".x", (secret.id,))), Pass)) == 1


def test_words_about_topics_that_do_not_concern_us_are_answered_with_one_and_not_for_ever() -> None:
    victim = Member()
    said = [victim.hear(66, Have(".x", (EventId(66, 0, n),))) for n in range(3 * WORDS_BURST)]
    assert sum(len(sent(effects, Part)) for effects in said) == WORDS_BURST
    assert victim.tree.branches == {}
    for message in (Prune(".x"), Part(".x")):
        assert victim.hear(66, message) == []
    assert sent(victim.hear(1, Graft(".x", (EventId(9, 0, 1),))), Part) == [((1,), Part(".x"))]


def test_words_about_topics_made_up_below_ours_leave_no_trace() -> None:
    victim = Member()
    for number in range(50):
        topic = f".d.{number}"
        for message in (
            Graft(topic, (EventId(9, 0, 1),)),
            Near(topic),
            Near(topic, asks=True),
            Prune(topic),
            Part(topic),
        ):
            assert sent(victim.hear(66, message), Pass) == []
        victim.hear(66, Have(topic, (EventId(66, 0, number),)))
    victim.wait(300_000)
    assert victim.tree.branches == {}


def test_a_thousand_topics_made_up_below_ours_are_forgotten_in_turn() -> None:
    victim = Member()
    for number in range(TOPICS_MAX + 50):
        victim.hear(1, Pass(Carried(event(number, f".d.{number}"))))
        if number % 100 == 0:
            victim.hear(1, Pass(Carried(event(10**6 + number))))
    assert len(victim.tree.branches) == TOPICS_MAX
    assert NEWS in victim.tree.branches


def test_large_events_leave_sooner() -> None:
    victim = Member(params=Params(tree=True))
    for number in range(40):
        victim.hear(1, Pass(Carried(event(number, payload=bytes(1 << 20)))))
    assert len(victim.tree.recent.kept) == 16
    assert victim.tree.recent.size == 16 << 20


def test_copies_known_before_they_are_decoded_make_a_link_lazy_once() -> None:
    """As a live node hears of them."""
    victim = Member()
    victim.hear(1, Pass(Carried(event(1))))
    first = victim.take(Known(2, (EventId(9, 0, 1), EventId(9, 0, 77))))
    assert sent(first, Prune) == [((2,), Prune(NEWS))]
    assert victim.take(Known(2, (EventId(9, 0, 1),))) == []
    assert victim.take(Known(1, (EventId(9, 0, 1),))) == []
    victim.now_us += 10**6
    assert len(sent(victim.take(Known(2, (EventId(9, 0, 1),))), Prune)) == 1
    copies = sent(victim.hear(1, Pass(Carried(event(2)))), Pass)
    assert [peers for peers, _ in copies] == [(0, 3, 4, 6, 7)]
    assert sent(victim.wait(20_000), Have) == [((2,), Have(NEWS, (EventId(9, 0, 2),), (0,)))]


def test_a_copy_of_what_one_published_oneself_says_nothing_of_its_link() -> None:
    victim = Member()
    victim.take(Publish(event(1, publisher=ME)))
    effects = victim.hear(2, Pass(Carried(event(1, publisher=ME))))
    assert [type(effect) for effect in effects] == [Note]
