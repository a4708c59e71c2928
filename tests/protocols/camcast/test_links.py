"""FIND_SUPER_CONTACT: how a node finds its way up, and how it passes that on."""

from gossamer.core.machine import Started
from gossamer.core.topics import Hierarchy
from gossamer.protocols.camcast.finding import Widen
from gossamer.protocols.camcast.links import Check, Keep
from gossamer.protocols.camcast.messages import Alive, Contacts, Probe
from protocols.linking import One, sent


def test_a_search_starts_with_the_super_topic_itself_and_widens_one_by_one() -> None:
    one = One()
    for _ in range(4):
        one.fire(Widen)
    assert one.search.asked == [[".a.b"], [".a.b", ".a"], [".a.b", ".a", "."], [".a.b", ".a", "."], [".a.b", ".a", "."]]


def test_a_search_that_finds_nobody_slows_down_within_a_bound() -> None:
    one = One(search_every_us=1000)
    for _ in range(12):
        one.fire(Widen)
    waits = [timer.after_us for timer in one.timers if type(timer.timer) is Widen]
    assert max(waits[:3]) <= 1250
    assert 24_000 <= waits[-1] <= 40_000


def test_contacts_of_an_ancestor_are_used_while_the_search_goes_on_narrowed() -> None:
    one = One()
    one.fire(Widen)
    one.fire(Widen)
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
    one.hear(2, Contacts(".a.b.c", ".a.b", ".", (50,)))
    assert one.links.tables(".a.b.c") == [[30]]


def test_a_node_is_never_its_own_link() -> None:
    one = One()
    one.found(".a.b", 1, 30)
    one.hear(2, Contacts(".a.b.c", ".a.b", ".a.b", (1,)))
    assert one.links.tables(".a.b.c") == [[30]]


def test_a_topic_with_two_parents_has_a_table_for_each() -> None:
    one = One(".a.b", Hierarchy({".a.b": [".x"]}))
    assert one.search.asked == [[".a"], [".x"]]
    one.found(".x", 70)
    one.found(".a", 40)
    assert one.links.tables(".a.b") == [[40], [70]]


def test_an_empty_super_topic_with_two_parents_is_stood_in_for_by_both_until_it_is_found() -> None:
    one = One(hierarchy=Hierarchy({".a.b": [".x"]}))
    one.fire(Widen)
    assert one.search.asked[1:3] == [[".a"], [".x"]]
    one.found(".a", 40)
    one.found(".x", 70)
    assert [table for table in one.links.tables(".a.b.c") if table] == [[40], [70]]
    one.found(".a.b", 30)
    assert one.links.tables(".a.b.c") == [[30]]


def test_a_greeting_carries_the_way_up_and_nothing_is_sent_before_one_is_known() -> None:
    one = One()
    one.links.greet(9, ".a.b.c")
    assert one.node.out.take() == []
    one.found(".a.b", 30, 31)
    one.links.greet(9, ".a.b.c")
    assert sent(one.node.out.take(), Contacts) == [(9, Contacts(".a.b.c", ".a.b", ".a.b", (30, 31)))]


def test_what_one_node_finds_it_tells_a_few_of_its_community_once_it_has_answered() -> None:
    one = One()
    for hearer in one.search.found:
        hearer(".a.b", [30, 31])
    effects = one.take(Started())
    assert [peer for peer, _ in sent(effects, Probe)] == [30, 31]
    assert not sent(effects, Contacts)
    assert one.links.tables(".a.b.c") == [[30, 31]]  # events go there meanwhile
    one.hear(30, Alive(one.table().nonce))
    told = sent(one.fire(Check), Contacts)
    assert len(told) == 3
    assert {peer for peer, _ in told} <= {2, 3, 4, 5}
    assert {message.peers for _, message in told} == {(30,)}  # type: ignore[attr-defined]


def test_nobody_is_told_of_a_link_that_owes_two_answers() -> None:
    one = One(probes=16)
    one.found(".a.b", 30, 31)
    one.fire(Keep)
    one.hear(30, Alive(one.table().nonce))
    one.fire(Check)
    one.links.greet(9, ".a.b.c")
    ((_, contacts),) = sent(one.node.out.take(), Contacts)
    assert contacts.peers == (30,)  # type: ignore[attr-defined]
    assert one.links.finding.known_in(".a.b") == [30]
