"""One node and what it does about single messages, hostile ones too."""

import pytest

from gossamer.core.errors import Misuse
from gossamer.core.machine import Introduced, Note, PeerDown, Received, Send, Subscribe
from gossamer.core.topics import Hierarchy
from gossamer.parts.wants import Wants
from gossamer.protocols.interests.entries import HOLDERS_MAX, OPEN_OF_PEER
from gossamer.protocols.interests.layer import DIGESTS_BURST
from gossamer.protocols.interests.messages import AskWants, Entry, Gone, Mark, NodesDigest, TellWants
from gossamer.protocols.interests.params import Params
from gossamer.protocols.interests.ring import Ring
from protocols.interests.towns import Alone


def wants(*topics: str) -> Wants:
    return Wants.of(topics, Hierarchy(), lambda topic: topic)


def entry(peer: int, *topics: str, incarnation: int = 1, version: int = 0, age_ms: int = 0) -> Entry:
    return Entry(Mark(peer, incarnation, version, age_ms), wants(*topics).packed)


def teach(alone: Alone, *entries: Entry, via: int = 99) -> None:
    """Somebody names nodes, is asked about them, and tells."""
    alone.hears(via, NodesDigest(tuple(each.mark for each in entries), answer=False))
    alone.hears(via, TellWants(entries))


def test_what_is_named_is_asked_for_once_and_then_known() -> None:
    alone = Alone()
    named = NodesDigest((Mark(9, 1, 0), Mark(5, 1, 0)), answer=False)
    assert alone.hears(9, named) == [AskWants((9, 5))]
    assert alone.hears(9, named) == []
    alone.hears(9, TellWants((entry(5, ".a"), entry(9, ".b"))))
    assert alone.interests.entries() == {5: wants(".a"), 9: wants(".b")}
    assert alone.hears(8, named) == []


def test_whoever_names_a_node_and_never_tells_keeps_nobody_from_telling() -> None:
    alone = Alone()
    false = NodesDigest((Mark(5, 1 << 40, 0),), answer=False)
    for _ in range(10):
        assert len(alone.hears(9, false)) <= 1
        alone.now_us += 100_000
    alone.hears(9, false)
    assert alone.hears(8, NodesDigest((Mark(5, 1, 0),), answer=False)) == [AskWants((5,))]
    alone.hears(8, TellWants((entry(5, ".a"),)))
    assert alone.interests.entries() == {5: wants(".a")}


def test_several_are_asked_about_the_same_node_and_not_everybody() -> None:
    alone = Alone()
    asked = [alone.hears(peer, NodesDigest((Mark(5, 1, 0),), answer=False)) for peer in range(10, 20)]
    assert asked == [[AskWants((5,))]] * HOLDERS_MAX + [[]] * (10 - HOLDERS_MAX)


def test_one_peer_that_makes_nodes_up_leaves_room_for_questions_to_others() -> None:
    alone = Alone()
    for first in range(1000, 5000, 100):
        alone.hears(9, NodesDigest(tuple(Mark(who, 1, 0) for who in range(first, first + 100)), answer=False))
    assert len(alone.interests.told.asked) == OPEN_OF_PEER
    assert alone.hears(8, NodesDigest((Mark(5, 1, 0),), answer=False)) == [AskWants((5,))]


def test_a_question_is_answered_with_what_is_known_and_with_ourselves() -> None:
    alone = Alone()
    alone.step(Subscribe(".mine"))
    teach(alone, entry(5, ".a", age_ms=3000))
    (answer,) = alone.hears(7, AskWants((5, 1, 77)))
    assert isinstance(answer, TellWants)
    assert [(each.mark.peer, each.wants) for each in answer.entries] == [
        (5, wants(".a").packed),
        (1, wants(".mine").packed),
    ]
    assert answer.entries[0].mark.age_ms == 3000


def test_the_later_entry_counts_whatever_comes_first() -> None:
    alone = Alone()
    teach(alone, entry(5, ".new", incarnation=2))
    teach(alone, entry(5, ".old", incarnation=1, version=9))
    assert alone.interests.entries() == {5: wants(".new")}
    teach(alone, entry(5, ".newer", incarnation=2, version=1))
    assert alone.interests.entries() == {5: wants(".newer")}


def test_entries_nobody_asked_for_are_not_taken() -> None:
    alone = Alone()
    alone.hears(9, TellWants((entry(5, ".a"),)))
    assert alone.interests.entries() == {}


def test_whoever_was_given_up_comes_back_by_news_only() -> None:
    alone = Alone()
    for gone in (Received(5, Gone()), PeerDown(5)):
        alone.now_us += 10_000_000
        teach(alone, entry(5, ".a"))
        assert 5 in alone.interests.entries()
        alone.step(gone)
        alone.now_us += 2_000_000
        teach(alone, entry(5, ".a", age_ms=2500))
        assert 5 not in alone.interests.entries()
        teach(alone, entry(5, ".a", age_ms=1500))
        assert 5 in alone.interests.entries()


def test_nobody_speaks_for_another_that_leaves() -> None:
    alone = Alone()
    teach(alone, entry(5, ".a"))
    alone.hears(6, Gone())
    assert 5 in alone.interests.entries()


def test_wants_that_are_none_are_refused_and_the_rest_is_taken() -> None:
    alone = Alone()
    alone.hears(9, NodesDigest((Mark(5, 1, 0), Mark(6, 1, 0)), answer=False))
    effects = alone.step(Received(9, TellWants((Entry(Mark(5, 1, 0), b"\x05"), entry(6, ".a")))))
    assert Note("reject", peer=9, detail="bad message") in effects
    assert list(alone.interests.entries()) == [6]


def test_a_flood_of_digests_is_not_heard() -> None:
    alone = Alone()
    effects = []
    for _ in range(DIGESTS_BURST + 1):
        effects = alone.step(Received(9, NodesDigest((), answer=True)))
    assert effects == [Note("reject", peer=9, detail="too many requests")]


def test_a_short_question_has_no_end_of_long_answers() -> None:
    alone = Alone(params=Params(view_max=100))
    for first in range(10, 90, 20):
        teach(alone, *(entry(peer, *(f".t{peer}.{i}" for i in range(1200))) for peer in range(first, first + 20)))
    told = 0
    for _ in range(10):
        for effect in alone.step(Received(9, AskWants(tuple(range(10, 70))))):
            if isinstance(effect, Send) and isinstance(effect.message, TellWants):
                told += sum(len(each.wants) for each in effect.message.entries)
    assert 1_000_000 < told <= 2_000_000


def test_the_view_is_bounded_and_the_nearest_stay() -> None:
    alone = Alone(params=Params(view_max=20, leaves=2))
    ring = Ring()
    for peer in range(2, 400):
        ring.add(peer)
        teach(alone, entry(peer, ".a"), via=1000 + peer % 7)
        assert len(alone.interests.entries()) <= 20
    assert set(alone.interests.view.around()) == set(ring.around(1, 2))


def test_an_owner_of_many_nodes_gets_no_more_than_a_quarter_of_a_full_view() -> None:
    alone = Alone(params=Params(view_max=40, leaves=2))
    for peer in range(2, 200):
        alone.step(Introduced(peer, owner=7 if peer >= 40 else peer))
    for peer in range(2, 42):
        teach(alone, entry(peer, ".a"))
    for turn in range(5):
        for peer in range(42, 200):
            teach(alone, entry(peer, ".a", incarnation=turn + 2), via=peer)
    leaves = alone.interests.view.around()
    assert sum(peer >= 40 and peer not in leaves for peer in alone.interests.entries()) <= 10


def test_a_former_life_whose_clock_was_ahead_is_outlived() -> None:
    alone = Alone(me=1)
    alone.step(Subscribe(".now"))
    ahead = entry(1, ".then", incarnation=5_000_000)
    assert alone.hears(9, NodesDigest((ahead.mark,), answer=False)) == [AskWants((1,))]
    alone.hears(9, TellWants((ahead,)))
    (answer,) = alone.hears(9, AskWants((1,)))
    assert isinstance(answer, TellWants)
    assert answer.entries[0].mark.stamp > ahead.mark.stamp
    assert answer.entries[0].wants == wants(".now").packed


def test_senseless_settings_are_refused() -> None:
    for field, said in (("marks", 1000), ("view_max", 8), ("forget_us", 1_000_000), ("asks", 0)):
        with pytest.raises(Misuse, match=field):
            Params(**{field: said})
