"""The contract of a node, kept by a stack with toy layers: one given in, effects out, never an exception."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from composing import use
from gossamer.core.draws import PICK, fold
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.machine import (
    Deliver,
    Effect,
    Fired,
    Given,
    Leave,
    Machine,
    Note,
    PeerDown,
    Publish,
    Received,
    Relayed,
    Send,
    SetTimer,
    Started,
    StartPublishing,
    StopPublishing,
    Subscribe,
    Tune,
    Unkept,
    Unsubscribe,
)
from gossamer.core.publications import PENDING_MAX, PUBLISHED_MAX
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.seen import Seen

ME = 1


class Tell(Struct, frozen=True):
    carried: Carried


class Ping(Struct, frozen=True):
    number: int


class Unheard(Struct, frozen=True):
    anything: Any = None


class Tick(Struct, frozen=True):
    generation: int


class Toy(Layer):
    """Tells peers 2 and 3 what it accepts; keeps a diary; ticks with generations."""

    def __init__(self, node: Stack, relays: bool = False) -> None:
        self.relays = relays
        self.diary: list[tuple[object, ...]] = []
        self.generation = 0
        super().__init__(node)

    def has_place(self, topic: Topic) -> bool:
        return True

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Tell: self.on_tell, Ping: self.on_ping, Tick: self.on_tick}

    def publish(self, events: Sequence[Event]) -> bool:
        for event in events:
            self.pass_on(Carried(event), self.node.me)
        return True

    def on_tell(self, peer: Peer, tell: Tell) -> None:
        self.pass_on(tell.carried, peer)

    def pass_on(self, carried: Carried, via: Peer) -> None:
        if self.node.accept(carried, via):
            self.out.send([2, 3], Tell(carried.hop()))

    def on_ping(self, peer: Peer, ping: Ping) -> None:
        self.generation += 1
        self.out.timer(ping.number, Tick(self.generation))

    def on_tick(self, timer: Tick) -> None:
        if timer.generation == self.generation:
            self.out.send([2], Ping(self.node.key(PICK, self.node.now_us) % 1000))

    def started(self, contacts: Sequence[Peer]) -> None:
        self.diary.append(("started", contacts))

    def joined(self, topic: Topic) -> None:
        self.diary.append(("joined", topic))

    def left(self, topic: Topic) -> None:
        self.diary.append(("left", topic))

    def tuned(self, topic: Topic, params: Struct) -> None:
        self.diary.append(("tuned", topic, params))

    def peer_down(self, peer: Peer) -> None:
        self.diary.append(("peer_down", peer))

    def leaving(self) -> None:
        self.diary.append(("leaving",))
        self.out.send([2], Ping(0))


def node(*subscribed: Topic, relays: bool = False) -> tuple[Stack, Toy]:
    made = Stack(ME, seed=5, hierarchy=Hierarchy(), seen=Seen())
    toy = Toy(made, relays)
    use(made, toy, spread=toy)
    for topic in subscribed:
        made.step(Subscribe(topic), 0)
    toy.diary.clear()
    return made, toy


def event(topic: Topic, sequence: int = 0, publisher: Peer = 9) -> Event:
    return Event(EventId(publisher, 0, sequence), topic)


def told(about: Event, hops: int = 1, peer: Peer = 9) -> Received:
    return Received(peer, Tell(Carried(about, hops)))


def test_a_stack_is_a_machine() -> None:
    made, _ = node()
    machine: Machine = made
    assert machine.step(Started(), 0) == [Note("start")]


# -- what peers send --------------------------------------------------------------------------------------------


def test_a_message_no_layer_hears_is_rejected_with_a_note() -> None:
    made, _ = node(".a")
    assert made.step(Received(4, Unheard("?")), 0) == [Note("reject", peer=4, detail="unknown message")]
    bare = use(Stack(ME, 5, Hierarchy(), Seen()))
    assert bare.step(Received(4, Ping(1)), 0) == [Note("reject", peer=4, detail="unknown message")]


def test_two_layers_that_hear_the_same_message_are_refused() -> None:
    made = Stack(ME, 5, Hierarchy(), Seen())
    with pytest.raises(TypeError, match="Tell is heard by two layers"):
        use(made, toy := Toy(made), Toy(made), spread=toy)


def test_who_has_a_role_and_is_none_of_the_layers_is_refused() -> None:
    made = Stack(ME, 5, Hierarchy(), Seen())
    with pytest.raises(TypeError, match="Toy has a role, and is none of the layers"):
        use(made, spread=Toy(made))


def test_layers_within_a_layer_are_told_before_it() -> None:
    made, told_of = Stack(ME, 5, Hierarchy(), Seen()), []

    class Named(Layer):
        def __init__(self, name: str, *within: Layer) -> None:
            super().__init__(made)
            self.name, self.within = name, within

        def joined(self, topic: Topic) -> None:
            told_of.append(self.name)

    use(made, Named("outer", Named("inner", Named("core")), Named("other")), Named("next"))
    made.step(Subscribe(".a"), 0)
    assert told_of == ["core", "inner", "other", "outer", "next"]


def test_an_event_we_want_is_delivered_with_its_hops_and_carried_on() -> None:
    made, _ = node(".a")
    news = event(".a.b")
    assert made.step(told(news, hops=3), 0) == [Deliver(news, 3), Send((2, 3), Tell(Carried(news, 4)))]


def test_a_second_copy_is_neither_delivered_nor_carried_on() -> None:
    made, _ = node(".a")
    made.step(told(event(".a")), 0)
    assert made.step(told(event(".a"), peer=7), 1) == [Note("duplicate", event=EventId(9, 0, 0), peer=7)]


def test_an_unwanted_event_is_a_parasite_and_stops_here_where_nobody_relays() -> None:
    made, _ = node(".a")
    assert made.step(told(event(".x")), 0) == [Note("parasite", event=EventId(9, 0, 0), peer=9, topic=".x")]
    assert made.step(told(event(".x")), 0) == [Note("parasite", event=EventId(9, 0, 0), peer=9, topic=".x")]


def test_an_event_that_came_before_anybody_wanted_it_is_news_to_who_subscribes_later() -> None:
    made, _ = node(".a")
    made.step(told(event(".x")), 0)
    made.step(Subscribe(".x"), 1)
    assert Deliver(event(".x"), 1) in made.step(told(event(".x")), 2)
    assert made.step(told(event(".x")), 3) == [Note("duplicate", event=EventId(9, 0, 0), peer=9)]


def test_who_relays_says_so_as_it_starts() -> None:
    notes = [node(relays=relays)[0].step(Started(), 0) for relays in (False, True)]
    assert [[each.kind for each in said if isinstance(each, Note)] for said in notes] == [["start"], ["start", "relay"]]


def test_an_unwanted_event_is_relayed_and_not_delivered_where_the_protocol_relays() -> None:
    made, _ = node(".a", relays=True)
    news = event(".x")
    note = Note("relay", event=news.id, peer=9, topic=".x")
    assert made.step(told(news), 0) == [note, Relayed(news, 1), Send((2, 3), Tell(Carried(news, 2)))]
    assert made.step(Unkept((news.id,)), 1) == []
    assert made.step(told(news), 2) == [Relayed(news, 1)]
    assert made.step(told(news), 3) == [Note("duplicate", event=news.id, peer=9)]


def test_an_event_that_could_not_be_kept_is_delivered_again_and_passed_on_once() -> None:
    made, _ = node(".a")
    assert Send((2, 3), Tell(Carried(event(".a"), 2))) in made.step(told(event(".a")), 0)
    assert made.step(Unkept((event(".a").id, EventId(9, 9, 9))), 1) == []
    assert made.lacks(event(".a").id)
    assert made.knows(event(".a").id)
    assert not made.was_kept(event(".a").id)
    assert not made.lacks(EventId(9, 9, 9)), "it never came"
    assert made.step(told(event(".a")), 2) == [Deliver(event(".a"), 1, again=True)]
    assert made.was_kept(event(".a").id)
    assert made.step(told(event(".a")), 3) == [Note("duplicate", event=event(".a").id, peer=9)]


def test_an_event_of_our_own_that_could_not_be_kept_is_delivered_again_when_it_is_published_again() -> None:
    made, _ = node(".a")
    ours = Event(EventId(ME, 0, 0), ".a")
    assert Deliver(ours) in made.step(Publish(ours), 0)
    made.step(Unkept((ours.id,)), 1)
    assert Deliver(ours, again=True) in made.step(Publish(ours), 2)
    assert not any(isinstance(each, Deliver) for each in made.step(Publish(ours), 3))


def test_publications_that_wait_for_a_place_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.core.publications.PENDING_BYTES", 100)
    made, toy = node()
    monkeypatch.setattr(toy, "has_place", lambda topic: False)
    monkeypatch.setattr(toy, "publish", lambda events: False)
    said = [made.step(Publish(Event(EventId(ME, 0, number), ".a", bytes(60))), 0) for number in range(3)]
    assert made.waiting == 2
    assert [each.detail for each in said[2] if isinstance(each, Note) and each.kind == "drop"] == [
        "too many publications wait to join"
    ]


def test_who_only_publishes_keeps_nothing_of_what_others_publish_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.core.door.PASSED_MAX", 2)
    made, _ = node()
    made.step(StartPublishing(".a"), 0)
    for number in range(5):
        made.step(told(event(".a", number)), 1)
    ids = [EventId(9, 0, number) for number in range(5)]
    assert all(map(made.knows, ids))
    assert [made.was_kept(each) for each in ids[2:]] == [False] * 3, "as far as it remembers"
    made.step(Subscribe(".a"), 2)
    made.step(told(event(".a", 9)), 3)
    assert made.was_kept(EventId(9, 0, 9))


def test_the_events_remembered_that_could_not_be_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.core.door.UNKEPT_MAX", 2)
    made, _ = node(".a")
    for number in range(3):
        made.step(told(event(".a", number)), 0)
        made.step(Unkept((EventId(9, 0, number),)), 1)
    assert [made.lacks(EventId(9, 0, number)) for number in range(3)] == [False, True, True]


def test_an_event_of_a_wider_topic_than_ours_is_a_parasite() -> None:
    made, _ = node(".a.b")
    assert [effect.kind for effect in made.step(told(event(".a")), 0) if isinstance(effect, Note)] == ["parasite"]


@given(st.text(max_size=20))
def test_a_topic_that_is_none_does_not_upset_the_node(topic: str) -> None:
    made, _ = node(".a")
    effects = made.step(told(event(topic)), 0)
    assert effects


def test_a_node_knows_the_events_it_met_and_no_others() -> None:
    made, _ = node(".a")
    made.step(told(event(".a", 1)), 0)
    made.step(told(event(".x", 2)), 0)
    assert made.knows(EventId(9, 0, 1))
    assert not made.knows(EventId(9, 0, 2)), "nobody here wants it yet"
    assert not made.knows(EventId(9, 1, 1))
    assert not made.knows(EventId(9, 0, 3))
    assert not made.knows(EventId(9, 0, 3)), "asking must not make it known"


# -- what our user does -----------------------------------------------------------------------------------------


def test_a_publisher_that_subscribes_is_delivered_its_own_event() -> None:
    made, _ = node(".a")
    mine = event(".a", publisher=ME)
    assert made.step(Publish(mine), 0)[:-1] == [
        Note("publish", event=mine.id, topic=".a"),
        Deliver(mine, 0),
        Send((2, 3), Tell(Carried(mine, 1))),
    ]


def test_a_publisher_that_does_not_subscribe_carries_on_but_is_not_delivered() -> None:
    made, toy = node()
    mine = event(".a", publisher=ME)
    assert made.step(Publish(mine), 0)[:-1] == [
        Note("publish", event=mine.id, topic=".a"),
        Send((2, 3), Tell(Carried(mine, 1))),
    ]
    assert toy.diary == [("joined", ".a")]
    theirs = event(".a.b")
    assert made.step(told(theirs), 1) == [Send((2, 3), Tell(Carried(theirs, 2)))]


def test_joining_comes_before_the_first_publication_and_only_then() -> None:
    made, toy = node()
    for sequence in range(3):
        made.step(Publish(event(".a", sequence, publisher=ME)), 0)
    assert toy.diary == [("joined", ".a")]


def test_ones_own_publication_is_no_parasite_even_when_it_starts_after_one_stopped_publishing() -> None:
    """A publication that waited for its community may begin as the publisher leaves: its hand-over."""
    made, toy = node()
    made.step(Publish(event(".a", 0, publisher=ME)), 0)
    made.step(StopPublishing(".a"), 0)
    late = event(".a", 1, publisher=ME)
    toy.publish([late])
    assert made.out.take() == [Send((2, 3), Tell(Carried(late, 1)))]


def test_layers_are_told_once_of_each_community_joined_and_left() -> None:
    made, toy = node()
    lives: list[tuple[Given, list[tuple[object, ...]]]] = [
        (Subscribe(".a"), [("joined", ".a")]),
        (Subscribe(".a"), []),
        (Publish(event(".a", publisher=ME)), []),
        (Unsubscribe(".a"), []),
        (Subscribe(".a"), []),
        (StopPublishing(".a"), []),
        (StopPublishing(".a"), []),
        (Unsubscribe(".a"), [("left", ".a")]),
        (Unsubscribe(".a"), []),
        (Subscribe(".a.b"), [("joined", ".a.b")]),
        (Subscribe(".a"), [("joined", ".a")]),
        (Unsubscribe(".x"), []),
        (StopPublishing(".a.b"), []),
        (Publish(event(".x", 1, publisher=ME)), [("joined", ".x")]),
        (StopPublishing(".x"), [("left", ".x")]),
    ]
    for given_now, expected in lives:
        toy.diary.clear()
        made.step(given_now, 0)
        assert toy.diary == expected, given_now
    assert made.interest.mine() == (".a.b", ".a")


def test_events_are_parasites_after_unsubscribing_and_wanted_after_subscribing_again() -> None:
    made, _ = node(".a")
    assert Deliver(event(".a", 0), 1) in made.step(told(event(".a", 0)), 0)
    made.step(Unsubscribe(".a"), 0)
    assert made.step(told(event(".a", 1)), 0) == [Note("parasite", event=EventId(9, 0, 1), peer=9, topic=".a")]
    made.step(Subscribe(".a"), 0)
    assert Deliver(event(".a", 2), 1) in made.step(told(event(".a", 2)), 0)


def test_subscribing_and_unsubscribing_leave_a_note() -> None:
    made, _ = node()
    assert made.step(Subscribe(".a"), 0) == [Note("subscribe", topic=".a")]
    assert made.step(Unsubscribe(".a"), 0) == [Note("unsubscribe", topic=".a")]


def test_every_layer_hears_of_the_moments_in_the_nodes_life() -> None:
    second: list[Peer] = []

    class Another(Layer):
        def peer_down(self, peer: Peer) -> None:
            second.append(peer)

    made = Stack(ME, 5, Hierarchy(), Seen())
    toy = Toy(made)
    use(made, toy, Another(made), spread=toy)
    made.step(Started((4, 5)), 0)
    made.step(Tune(".a", Ping(1)), 0)
    made.step(PeerDown(4), 0)
    assert made.step(Leave(), 0) == [Send((2,), Ping(0)), Note("stop")]
    assert toy.diary == [
        ("started", (4, 5)),
        ("tuned", ".a", Ping(1)),
        ("peer_down", 4),
        ("leaving",),
    ]
    assert second == [4]


# -- timers, draws, replay --------------------------------------------------------------------------------------


def test_a_stale_timer_is_ignored_and_the_current_one_heard() -> None:
    made, _ = node()
    assert made.step(Received(2, Ping(50)), 0) == [SetTimer(50, Tick(1))]
    assert made.step(Received(2, Ping(60)), 10) == [SetTimer(60, Tick(2))]
    assert made.step(Fired(Tick(1)), 50) == []
    assert [type(effect) for effect in made.step(Fired(Tick(2)), 70)] == [Send]


def test_a_message_to_nobody_is_not_sent() -> None:
    made, _ = node()
    made.out.send([], Ping(1))
    made.out.send(iter(()), Ping(1))
    assert made.out.take() == []


def test_draws_are_keyed_by_seed_reason_word_and_who() -> None:
    made, _ = node()
    assert made.key(PICK, 77) == fold(fold(fold(5, PICK), 77), ME)
    assert made.key(PICK, 77) == made.key(PICK, 77)
    others = [Stack(2, 5, Hierarchy(), Seen()).key(PICK, 77), Stack(ME, 6, Hierarchy(), Seen()).key(PICK, 77)]
    assert made.key(PICK, 77) not in others
    assert made.key(PICK, 77) not in (made.key(PICK, 78), made.key(PICK + 1, 77))


TOPICS = st.sampled_from([".", ".a", ".a.b", ".x"])
EVENTS = st.builds(event, TOPICS, st.integers(0, 5), st.integers(0, 3))
GIVENS: st.SearchStrategy[Given] = st.one_of(
    st.builds(Subscribe, TOPICS),
    st.builds(Unsubscribe, TOPICS),
    st.builds(StopPublishing, TOPICS),
    st.builds(Publish, EVENTS),
    st.builds(told, EVENTS, st.integers(0, 4), st.integers(2, 9)),
    st.builds(Received, st.integers(2, 9), st.builds(Ping, st.integers(0, 99)) | st.just(Unheard())),
    st.builds(Fired, st.builds(Tick, st.integers(0, 4))),
    st.builds(PeerDown, st.integers(2, 9)),
)
HISTORIES = st.lists(GIVENS, max_size=40)


def live_through(history: list[Given], relays: bool) -> list[list[Effect]]:
    made, _ = node(relays=relays)
    return [made.step(given_now, now_us) for now_us, given_now in enumerate(history)]


@given(HISTORIES, st.booleans())
def test_the_same_givens_give_the_same_effects(history: list[Given], relays: bool) -> None:
    assert live_through(history, relays) == live_through(history, relays)


@given(HISTORIES)
def test_no_event_is_delivered_twice_and_none_that_nobody_asked_for(history: list[Given]) -> None:
    made, _ = node()
    delivered: list[EventId] = []
    for given_now in history:
        wanted = tuple(made.interest.subscribed)
        for effect in made.step(given_now, 0):
            if isinstance(effect, Deliver):
                delivered.append(effect.event.id)
                assert any(made.hierarchy.includes(wide, effect.event.topic) for wide in wanted)
    assert len(set(delivered)) == len(delivered)


@given(HISTORIES)
def test_what_layers_were_told_adds_up_to_the_communities_held(history: list[Given]) -> None:
    made, toy = node()
    for given_now in history:
        made.step(given_now, 0)
    held: list[object] = []
    for what, topic, *_ in ((*each, None) for each in toy.diary):
        if what == "joined":
            assert topic not in held
            held.append(topic)
        elif what == "left":
            held.remove(topic)
    assert sorted(map(str, held)) == sorted(made.interest.mine())


class Slow(Toy):
    """A spread that has not found its place yet."""

    place = False

    def has_place(self, topic: Topic) -> bool:
        return self.place

    def publish(self, events: Sequence[Event]) -> bool:
        return self.place and super().publish(events)


def slow_node() -> tuple[Stack, Slow]:
    made = Stack(ME, seed=5, hierarchy=Hierarchy(), seen=Seen())
    slow = Slow(made, False)
    return use(made, slow, spread=slow), slow


def test_a_publication_waits_until_the_node_has_found_its_place() -> None:
    made, toy = slow_node()
    made.step(Publish(event(".a", publisher=ME)), 0)
    assert made.waiting == 1
    toy.place = True
    made.is_ready(".a")
    assert made.waiting == 0
    assert made.knows(event(".a", publisher=ME).id)


def test_a_publisher_that_stops_while_its_event_waits_leaves_after_the_hand_over() -> None:
    made, toy = slow_node()
    made.step(Publish(event(".a", publisher=ME)), 0)
    made.step(StopPublishing(".a"), 0)
    assert made.interest.takes_part(".a")
    toy.place = True
    made.is_ready(".a")
    assert made.knows(event(".a", publisher=ME).id)
    assert not made.interest.takes_part(".a")


def test_publications_still_waiting_when_the_node_leaves_are_said_to_be_dropped() -> None:
    made, _ = slow_node()
    made.step(Publish(event(".a", publisher=ME)), 0)
    assert [e.kind for e in made.step(Leave(), 0) if isinstance(e, Note)] == ["drop", "stop"]


def test_an_event_published_again_while_it_waits_waits_once() -> None:
    made, toy = slow_node()
    first = made.step(Publish(event(".a", publisher=ME)), 0)
    assert made.step(Publish(event(".a", publisher=ME)), 1) == []
    assert [e.kind for e in first if isinstance(e, Note)] == ["publish"]
    toy.place = True
    made.is_ready(".a")
    assert [type(effect) for effect in made.out.take()] == [Send]


def test_an_event_published_again_is_noted_and_delivered_once() -> None:
    made, _ = node(".a")
    mine = event(".a", publisher=ME)
    made.step(Publish(mine), 0)
    again = made.step(Publish(mine), 1)
    assert not [e for e in again if isinstance(e, Deliver) or (isinstance(e, Note) and e.kind == "publish")]


def test_publications_beyond_those_that_may_wait_are_dropped_and_count_as_published_only_once_taken() -> None:
    made, toy = slow_node()
    for sequence in range(PENDING_MAX):
        made.step(Publish(event(".a", sequence, publisher=ME)), 0)
    late = event(".a", PENDING_MAX, publisher=ME)
    assert made.waiting == PENDING_MAX
    assert [e.kind for e in made.step(Publish(late), 0) if isinstance(e, Note)] == ["drop"]
    toy.place = True
    made.is_ready(".a")
    made.out.take()
    assert made.step(Publish(late), 1)[0] == Note("publish", event=late.id, topic=".a")


def test_whoever_is_going_to_publish_joins_before_the_first_event() -> None:
    made, _ = node()
    made.step(StartPublishing(".a"), 0)
    assert made.interest.takes_part(".a")
    assert not made.interest.wants(".a")


# -- topics that are no longer published on ---------------------------------------------------------------------


def test_a_topic_that_was_published_on_is_left_after_a_while_and_one_in_use_is_not() -> None:
    made, _ = node(".read")
    (timer,) = [each for each in made.step(Publish(event(".a", 0, ME)), 0) if type(each) is SetTimer]
    made.step(Publish(event(".read", 1, ME)), 5)
    made.step(StartPublishing(".told"), 10)
    made.step(Publish(event(".told", 2, ME)), 20)
    made.step(Publish(event(".b", 3, ME)), timer.after_us - 1)
    (again,) = [each for each in made.step(Fired(timer.timer), timer.after_us) if type(each) is SetTimer]
    assert {*made.interest.mine()} == {".read", ".told", ".b"}
    assert not made.step(Fired(again.timer), 3 * timer.after_us)
    assert {*made.interest.mine()} == {".read", ".told"}
    assert [each for each in made.step(Publish(event(".a", 4, ME)), 4 * timer.after_us) if type(each) is SetTimer]


def test_of_many_topics_published_on_once_the_latest_stay_joined_and_none_is_left_before_its_event_went_out() -> None:
    made, _ = node()
    for number in range(3 * PUBLISHED_MAX):
        made.step(Publish(event(f".n{number}", number, ME)), number)
    assert [*made.interest.mine()] == [f".n{number}" for number in range(2 * PUBLISHED_MAX, 3 * PUBLISHED_MAX)]
    waiting, toy = slow_node()
    for number in range(PUBLISHED_MAX + 5):
        waiting.step(Publish(event(f".n{number}", number, ME)), number)
    assert len(waiting.interest.mine()) == PUBLISHED_MAX + 5
    toy.place = True
    for number in range(PUBLISHED_MAX + 5):
        waiting.is_ready(f".n{number}")
    assert len(waiting.interest.mine()) == PUBLISHED_MAX
    assert waiting.waiting == 0
