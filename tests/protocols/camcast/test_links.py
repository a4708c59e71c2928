"""FIND_SUPER_CONTACT: how a node finds its way up, and how it passes that on."""

import pytest

from gossamer.core.draws import draw
from gossamer.core.machine import Fired, PeerDown, Started, Subscribe
from gossamer.core.topics import Hierarchy
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.links import Keep
from gossamer.protocols.camcast.messages import Alive, Away, ContactList, Probe
from gossamer.protocols.camcast.probing import Check
from protocols.linking import One, sent


def test_a_search_asks_for_every_topic_above_at_once_the_nearest_first() -> None:
    one = One()
    one.fire(Widen)
    assert one.search.asked == [[".a.b", ".a", "."]] * 2


def test_a_search_that_finds_nobody_slows_down_within_a_bound() -> None:
    one = One(search_every_us=1000)
    for _ in range(12):
        one.fire(Widen)
    waits = [timer.after_us for timer in one.timers if type(timer.timer) is Widen]
    assert waits[0] <= 1250
    assert 24_000 <= waits[-1] <= 40_000


def test_contacts_of_an_ancestor_are_used_while_the_search_goes_on_narrowed() -> None:
    one = One()
    one.found(".", 50, 51)
    assert one.links.tables(".a.b.c") == [[50, 51]]
    one.fire(Widen)
    assert one.search.asked[-1] == [".a.b", ".a"]
    one.found(".a", 40)
    assert one.links.tables(".a.b.c") == [[40]]
    one.fire(Widen)
    assert one.search.asked[-1] == [".a.b"]


def test_the_search_ends_when_the_super_topic_itself_is_found() -> None:
    one = One()
    one.fire(Widen)
    one.found(".a.b", 30)
    asked = len(one.search.asked)
    assert one.fire(Widen) == []
    assert len(one.search.asked) == asked


def test_a_farther_ancestor_never_replaces_a_nearer_one() -> None:
    one = One()
    one.found(".a.b", 30)
    one.hear(2, ContactList(".a.b.c", ".", (50,)))
    assert one.links.tables(".a.b.c") == [[30]]


def test_a_node_is_never_its_own_link() -> None:
    one = One()
    one.found(".a.b", 1, 30)
    one.hear(2, ContactList(".a.b.c", ".a.b", (1,)))
    assert one.links.tables(".a.b.c") == [[30]]


def test_a_topic_with_two_parents_leads_to_both() -> None:
    one = One(".a.b", Hierarchy({".a.b": [".x"]}))
    one.found(".x", 70)
    assert one.links.leads(".a.b") == {".x": [70]}
    one.fire(Widen)
    assert one.search.asked[-1] == [".a"]
    one.found(".a", 40)
    assert one.links.leads(".a.b") == {".a": [40], ".x": [70]}
    assert not one.links.searching(".a.b")


def test_through_empty_topics_every_branch_above_them_is_found() -> None:
    one = One(".x.b.a.c", Hierarchy({".x.b": [".d"]}))
    one.found(".x", 40)
    one.fire(Widen)
    assert one.search.asked[-1] == [".x.b.a", ".x.b", ".d"]
    one.found(".d", 70)
    assert one.links.leads(".x.b.a.c") == {".x": [40], ".d": [70]}
    one.found(".x.b", 30)
    assert one.links.leads(".x.b.a.c") == {".x.b": [30]}


def test_whoever_merely_claims_to_be_nearer_cuts_nobody_off() -> None:
    one = One()
    one.found(".", 50)
    one.hear(2, ContactList(".a.b.c", ".a", (40,)))
    assert one.links.leads(".a.b.c") == {".a": [40], ".": [50]}
    one.hear(40, Alive(one.table(".a").nonce, ".a"))
    assert one.links.leads(".a.b.c") == {".a": [40]}


def test_when_a_link_dies_the_back_off_starts_anew() -> None:
    one = One(search_every_us=1000)
    one.found(".", 50)
    for _ in range(8):
        one.fire(Widen)
    asked = len(one.search.asked)
    one.now_us += 500
    one.take(PeerDown(50))
    assert one.search.asked[asked:] == [[".a.b", ".a", "."]]
    assert one.timers[-1].after_us <= 1250


def test_the_back_off_starts_anew_too_where_a_link_was_found_while_the_search_went_on() -> None:
    """One of two parents is linked after a long time in vain; nothing is asked before that link dies."""
    one = One(".x.b", Hierarchy({".x.b": [".d"]}), search_every_us=1000)
    for _ in range(8):
        one.fire(Widen)
    one.found(".x", 50)
    asked = len(one.search.asked)
    one.now_us += 500
    one.take(PeerDown(50))
    assert len(one.search.asked) == asked + 1
    assert one.timers[-1].after_us <= 1250


def test_what_this_node_knows_of_topics_above_serves_a_new_community_at_once() -> None:
    one = One(".a.b")
    one.found(".a", 40, 41)
    one.take(Subscribe(".a.b.c.d"))
    assert one.links.leads(".a.b.c.d") == {".a": [40, 41]}
    assert one.search.asked[-1] == [".a.b.c", ".a.b"]


@pytest.mark.parametrize("seed", range(50))
def test_without_proven_links_a_search_is_under_way_after_every_step_whatever_happens(seed: int) -> None:
    """Steps drawn from everything links hear: the value and its one timer go together."""
    one = One(".x.b.a.c", Hierarchy({".x.b": [".d"]}), links=2, links_low=1, rotation=0.5)
    above = one.links.frontiers[one.topic].above
    for turn in range(150):
        word = draw(seed, turn)
        peer, topic = 30 + word % 5, above[word // 7 % len(above)]
        match word // 100 % 8:
            case 0:
                one.take(PeerDown(peer))
            case 1:
                one.hear(2, ContactList(one.topic, topic, (peer, peer + 1), failed=(peer + 2,)))
            case 2:
                one.node.tell(lambda layer: layer.contacts_found(topic, [peer]))  # noqa: B023
                one.take(Started())
            case 3:
                one.hear(peer, Away(one.topic))
            case 4 | 5:
                for table in [*one.links.frontiers[one.topic].tables.values()]:
                    for entry in [*table.entries]:
                        one.hear(entry, Alive(table.nonce, table.topic, here=bool(word & 1024)))
            case _:
                timer = one.timers.pop(word // 1000 % len(one.timers))
                one.now_us += timer.after_us
                one.take(Fired(timer.timer))
        frontier = one.links.frontiers[one.topic]
        proven = {*one.node.hierarchy.nearest(each for each, table in frontier.tables.items() if table.confirmed)}
        unknown = [each for each in above if not any(one.node.hierarchy.includes(each, there) for there in proven)]
        assert one.links.searching(one.topic) == bool(unknown)
        if frontier.search is not None:
            assert Widen(one.topic, frontier.search.generation) in [timer.timer for timer in one.timers]


def test_a_greeting_carries_the_way_up_and_nothing_is_sent_before_one_is_known() -> None:
    one = One()
    one.links.greeting(9, ".a.b.c")
    assert one.node.out.take() == []
    one.found(".a.b", 30, 31)
    one.links.greeting(9, ".a.b.c")
    assert sent(one.node.out.take(), ContactList) == [(9, ContactList(".a.b.c", ".a.b", (30, 31)))]


def test_what_one_node_finds_it_tells_a_few_of_its_community_once_it_has_answered() -> None:
    one = One()
    one.node.tell(lambda layer: layer.contacts_found(".a.b", [30, 31]))
    effects = one.take(Started())
    assert [peer for peer, _ in sent(effects, Probe)] == [30, 31]
    assert not sent(effects, ContactList)
    assert one.links.tables(".a.b.c") == [[30, 31]]  # events go there meanwhile
    one.hear(30, Alive(one.table().nonce, one.table().topic))
    told = sent(one.fire(Check), ContactList)
    assert len(told) == 3
    assert {peer for peer, _ in told} <= {2, 3, 4, 5}
    assert {message.peers for _, message in told} == {(30,)}  # type: ignore[attr-defined]


def test_nobody_is_told_of_a_link_that_owes_two_answers() -> None:
    one = One(probes=16)
    one.found(".a.b", 30, 31)
    one.fire(Keep)
    one.hear(30, Alive(one.table().nonce, one.table().topic))
    one.fire(Check)
    one.links.greeting(9, ".a.b.c")
    ((_, contacts),) = sent(one.node.out.take(), ContactList)
    assert contacts.peers == (30,)  # type: ignore[attr-defined]
    assert one.links.named(".a.b") == [30]
