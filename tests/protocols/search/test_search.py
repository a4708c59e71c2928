from collections.abc import Iterable, Mapping, Sequence

import pytest
from msgspec import Struct

from composing import use
from gossamer.core.draws import distinct
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import (
    SECOND_US,
    Contacted,
    Effect,
    Fired,
    Message,
    PeerDown,
    Received,
    Send,
    SetTimer,
    Started,
    Subscribe,
)
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.protocols.search.hints import HINTS_MAX, REMEMBERED_US
from gossamer.protocols.search.layer import ASKS_BURST, WAITING_MAX, AskOn, Search
from gossamer.protocols.search.messages import WANTED_MAX, AnsContact, ReqContact
from gossamer.protocols.search.params import Params
from gossamer.sim.checked import checked
from gossamer.sim.network import Latency, Network
from gossamer.sim.world import Watcher, World
from protocols.towns import CODEC


class Knowing(Layer):
    """Names members of topics, and remembers who was found."""

    def __init__(self, node: Stack, known: Mapping[str, Sequence[Peer]]) -> None:
        super().__init__(node)
        self.known = known
        self.heard: list[tuple[str, list[Peer]]] = []

    def nameable(self) -> Iterable[str]:
        return self.known

    def named(self, topic: str) -> Sequence[Peer]:
        return self.known.get(topic, ())

    def contacts_found(self, topic: str, peers: Sequence[Peer]) -> None:
        self.heard.append((topic, list(peers)))

    def newcomer(self, topic: str, peer: Peer) -> None:
        self.heard.append((topic, [peer]))


def searcher(
    me: Peer = 1,
    contacts: tuple[Peer, ...] = (2, 3, 4, 5),
    known: Mapping[str, Sequence[Peer]] | None = None,
    **changes: int,
) -> tuple[Stack, Search]:
    node = Stack(me, 1, Hierarchy(), Seen())
    search = Search(node, Params(**changes))
    use(node, search, Knowing(node, known or {}), contacts=search)
    for topic in known or ():
        search.spelled(topic)  # who knows members of a topic looked for some
    node.step(Started(contacts), 0)
    return node, search


def heard_by(node: Stack) -> list[tuple[str, list[Peer]]]:
    return next(each.heard for each in node.layers if isinstance(each, Knowing))


def sent(effects: list[Effect], kind: type[Struct]) -> list[tuple[Peer, Struct]]:
    return [(p, e.message) for e in effects if type(e) is Send and type(e.message) is kind for p in e.peers]


def request(origin: Peer = 9, nonce: int = 7, ttl: int = 3, wanted: tuple[str, ...] = (".d", ".")) -> ReqContact:
    return ReqContact(origin, nonce, wanted, ttl)


def test_a_request_is_relayed_by_those_not_interested_too() -> None:
    node, _ = searcher()
    relayed = sent(node.step(Received(9, request()), 0), ReqContact)
    assert len(relayed) == 3
    assert all(message == request(ttl=2) for _, message in relayed)
    assert not {peer for peer, _ in relayed} & {1, 9}


def test_a_request_is_handled_once() -> None:
    node, _ = searcher()
    node.step(Received(9, request()), 0)
    assert node.step(Received(3, request(ttl=9)), 1) == []


def test_a_request_ends_where_its_hops_do() -> None:
    node, _ = searcher()
    assert node.step(Received(9, request(ttl=1)), 0) == []


def test_a_request_made_up_in_ones_own_name_is_ignored() -> None:
    node, _ = searcher()
    node.step(Subscribe("."), 0)
    assert node.step(Received(9, request(origin=1)), 0) == []


def test_nobody_gets_more_hops_than_a_node_would_ask_for_itself() -> None:
    node, _ = searcher(ttl=4)
    relayed = sent(node.step(Received(9, request(ttl=255)), 0), ReqContact)
    assert len(relayed) == 3
    assert {message.ttl for _, message in relayed} == {3}  # type: ignore[attr-defined]


def test_a_member_answers_the_origin_and_relays_nothing() -> None:
    node, _ = searcher()
    node.step(Subscribe(".d"), 0)
    effects = node.step(Received(3, request()), 0)
    assert sent(effects, AnsContact) == [(9, AnsContact(".d", (1,)))]
    assert not sent(effects, ReqContact)


def test_who_can_only_name_members_further_up_lets_others_be_asked_for_nearer_ones() -> None:
    node, _ = searcher()
    node.step(Subscribe("."), 0)
    effects = node.step(Received(3, request()), 0)
    assert sent(effects, AnsContact) == [(9, AnsContact(".", (1,)))]
    assert {message.wanted for _, message in sent(effects, ReqContact)} == {(".d",)}  # type: ignore[attr-defined]


def test_on_several_branches_each_is_answered() -> None:
    node, _ = searcher(known={".a": [40], ".x": [50], ".": [60]})
    effects = node.step(Received(3, request(wanted=(".a.b", ".a", ".x", "."))), 0)
    assert sent(effects, AnsContact) == [(9, AnsContact(".a", (40,))), (9, AnsContact(".x", (50,)))]
    assert {message.wanted for _, message in sent(effects, ReqContact)} == {(".a.b",)}  # type: ignore[attr-defined]


def test_who_looks_for_members_of_a_topic_finds_whoever_is_about_to_join_it() -> None:
    node, search = searcher()
    search.ask([".d", "."])
    node.step(Received(3, ReqContact(9, 7, (".d",), 3)), 0)
    assert heard_by(node) == []
    node.step(Received(3, ReqContact(9, 8, (".d", ".x"), 3, joining=True)), 0)
    assert heard_by(node) == [(".d", [9])]


def test_the_dearest_topic_that_can_be_answered_is() -> None:
    node, _ = searcher(known={".d": [40, 41]})
    node.step(Subscribe("."), 0)
    assert sent(node.step(Received(3, request()), 0), AnsContact) == [(9, AnsContact(".d", (40, 41)))]


def test_an_answer_never_names_the_one_who_asks_and_not_too_many() -> None:
    node, _ = searcher(answers=3, known={".d": [9, *range(40, 60)]})
    ((_, answer),) = sent(node.step(Received(3, request()), 0), AnsContact)
    assert answer.peers == (40, 41, 42)  # type: ignore[attr-defined]


def test_found_contacts_are_told_to_those_who_look_and_never_include_oneself() -> None:
    node, search = searcher()
    search.ask([".d", "."])
    node.step(Received(3, AnsContact(".d", (1, 40, 41))), 0)
    assert heard_by(node) == [(".d", [40, 41])]


def test_an_answer_nobody_asked_for_is_rejected_and_makes_no_acquaintances() -> None:
    node, search = searcher()
    (note,) = node.step(Received(3, AnsContact(".d", (40, 41))), 0)
    assert note.kind == "reject"  # type: ignore[union-attr]
    assert [*search.acquaintances] == [2, 3, 4, 5]


def test_the_neighbourhood_is_bounded_forgets_the_stalest_and_the_dead() -> None:
    node, search = searcher(acquaintances=4)
    node.step(Received(9, request(ttl=1)), 0)
    assert [*search.acquaintances] == [3, 4, 5, 9]
    node.step(PeerDown(4), 0)
    assert [*search.acquaintances] == [3, 5, 9]


def test_each_request_goes_to_one_from_further_back_too_and_to_no_more_peers_for_that() -> None:
    node, search = searcher(acquaintances=6)
    for peer in range(20, 26):
        node.step(Received(peer, request(nonce=peer, ttl=1)), 0)
    assert not {2, 3, 4, 5} & {*search.acquaintances}
    asked = []
    for _ in range(40):
        search.ask([".d"])
        node.now_us += SECOND_US
        asked.append([peer for peer, _ in sent(node.out.take(), ReqContact)])
    assert all(len({*each}) == 3 for each in asked)
    assert all(len({*each} & {2, 3, 4, 5}) == 1 for each in asked)
    assert {peer for each in asked for peer in each} == {2, 3, 4, 5, *range(20, 26)}


def test_who_was_given_up_is_remembered_within_a_bound_and_asked_when_nobody_else_is_left() -> None:
    node, search = searcher(contacts=(2,), remembered=5)
    for peer in range(20, 40):
        node.step(Received(peer, request(nonce=peer, ttl=1)), 0)
    for peer in (2, *range(20, 40)):
        node.step(PeerDown(peer), 0)
    assert [*search.acquaintances] == []
    assert [*search.lost] == [35, 36, 37, 38, 39]
    search.ask([".d"])
    told = [peer for peer, _ in sent(node.out.take(), ReqContact)]
    assert len(told) == 3
    assert {*told} <= {2, *search.lost}
    node.step(Received(37, request(nonce=99, ttl=1)), 0)
    assert [*search.acquaintances] == [37]
    assert 37 not in search.lost


def test_seeds_are_never_forgotten() -> None:
    node, search = searcher(contacts=(2, 3), acquaintances=4, remembered=4)
    node.step(Contacted((6,)), 0)
    for peer in range(20, 40):
        node.step(Received(peer, request(nonce=peer, ttl=1)), 0)
        node.step(PeerDown(peer), 0)
    assert [*search.seeds] == [2, 3, 6]


def test_asking_for_nothing_or_knowing_nobody_sends_nothing() -> None:
    node, search = searcher(contacts=())
    search.ask([])
    search.ask([".d"])
    assert node.out.take() == []


class Asking(Layer):
    """Asks for members of a topic as soon as it is joined."""

    def __init__(self, node: Stack, search: Search) -> None:
        super().__init__(node)
        self.search = search

    def joined(self, topic: str) -> None:
        self.search.ask([".nobody"])


class Counting(Watcher):
    def __init__(self) -> None:
        self.requests: list[tuple[Peer, ReqContact]] = []

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if type(message) is ReqContact:
            self.requests.append((sender, message))


def test_one_request_costs_no_more_than_its_hops_and_width_allow_and_each_node_relays_it_once() -> None:
    """At most neighbours + … + neighbours ** ttl messages, in a network where nobody can answer."""
    n, neighbours, ttl = 400, 3, 4

    def make(me: Peer) -> Stack:
        node = Stack(me, 1, Hierarchy(), Seen())
        search = Search(node, Params())
        return use(node, search, Asking(node, search), contacts=search)

    watch = Counting()
    world = checked(World(make, Network(1, Latency(median_us=1000)), [watch], CODEC))
    for peer in range(n):
        world.start(peer, distinct(peer + 1, n, 8))
    world.give(0, Subscribe("."))
    world.run()
    assert neighbours**ttl / 2 < len(watch.requests) <= sum(neighbours**hop for hop in range(1, ttl + 1))
    senders = [sender for sender, _ in watch.requests]
    assert all(senders.count(sender) <= neighbours for sender in senders)
    assert {message.ttl for _, message in watch.requests} == {1, 2, 3, 4}


# -- who passed by --------------------------------------------------------------------------------------------------


def asked_on(effects: list[Effect]) -> dict[Peer, int]:
    """Whom a request was passed on to, and how far from there."""
    return {peer: message.ttl for peer, message in sent(effects, ReqContact)}  # type: ignore[attr-defined]


def joins(origin: Peer, nonce: int = 8) -> ReqContact:
    return ReqContact(origin, nonce, (".d",), 3, joining=True)


def test_who_looked_for_a_topic_hears_of_whoever_comes_to_join_it_through_anybody_both_asked() -> None:
    node, _ = searcher(contacts=())
    node.step(Received(4, request(origin=9)), 0)
    assert asked_on(node.step(Received(5, joins(70)), SECOND_US)) == {9: 1, 4: 2}


def test_who_looks_for_a_topic_is_heard_by_whoever_came_to_join_it() -> None:
    node, _ = searcher(contacts=())
    node.step(Received(5, joins(70)), 0)
    assert asked_on(node.step(Received(4, request(origin=9)), SECOND_US)) == {70: 1, 5: 2}
    assert asked_on(node.step(Received(4, joins(71)), SECOND_US)) == {70: 1, 9: 1, 5: 2}


def test_who_looks_for_the_same_as_others_is_of_no_use_to_them() -> None:
    node, _ = searcher(contacts=())
    node.step(Received(4, request(origin=9)), 0)
    assert asked_on(node.step(Received(5, request(origin=70, nonce=8)), SECOND_US)) == {4: 2}


def test_who_passed_by_long_ago_is_forgotten_and_so_is_who_passed_by_before_many_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, search = searcher(contacts=())
    node.step(Received(4, request(origin=9)), 0)
    assert 9 not in asked_on(node.step(Received(5, joins(70)), REMEMBERED_US + 1))
    monkeypatch.setattr("gossamer.protocols.search.hints.REMEMBERED_MAX", 10)
    for number in range(50):
        node.step(Received(number, request(origin=number + 100, nonce=number, wanted=(f".n{number}",))), 2 * SECOND_US)
    assert len(search.hints.looked) == 10


def test_a_request_for_very_many_topics_makes_a_node_send_few_messages_more() -> None:
    node, _ = searcher()
    names = tuple(f".n{number}" for number in range(WANTED_MAX))
    for number, name in enumerate(names):
        node.step(Received(number, request(origin=number + 100, nonce=number, wanted=(name,))), 0)
    flood = ReqContact(9, 999, names, 4, joining=True)
    assert len(asked_on(node.step(Received(9, flood), 0))) == 3 + HINTS_MAX


def test_more_topics_than_one_request_holds_are_asked_for_in_several() -> None:
    node, search = searcher()
    topics = [f".p{number}" for number in range(WANTED_MAX + 12)]
    search.ask(topics)
    asked = dict.fromkeys(sent(node.out.take(), ReqContact)[0][1].wanted)  # type: ignore[attr-defined]
    asked |= dict.fromkeys(sent(node.step(Fired(AskOn()), SECOND_US), ReqContact)[0][1].wanted)  # type: ignore[attr-defined]
    assert [*asked] == topics


# -- hidden names ---------------------------------------------------------------------------------------------------


def whispered(topic: str) -> str:
    return f"hash of {topic[::-1]}"


def hiding(me: Peer = 1) -> tuple[Stack, Search]:
    node = Stack(me, 1, Hierarchy(), Seen())
    search = Search(node, Params(), whispered)
    use(node, search, Knowing(node, {}), contacts=search)
    node.step(Started((2, 3, 4)), 0)
    return node, search


def test_topics_travel_as_they_are_spelled_and_answers_are_read_back() -> None:
    (asking, search), (answering, _) = hiding(1), hiding(9)
    search.ask([".d", "."])
    ((_, asked), *_) = sent(asking.out.take(), ReqContact)
    assert asked.wanted == ("hash of d.", "hash of .")  # type: ignore[attr-defined]
    answering.step(Subscribe("."), 0)
    ((origin, answer),) = sent(answering.step(Received(3, asked), 0), AnsContact)
    assert (origin, answer) == (1, AnsContact("hash of .", (9,)))
    asking.step(Received(9, answer), 0)
    assert heard_by(asking) == [(".", [9])]


def test_who_does_not_know_the_topic_passes_its_spelling_on_unread() -> None:
    node, search = hiding()
    node.step(Subscribe(".x"), 0)
    for _, message in sent(node.step(Received(9, ReqContact(9, 7, ("?", "hash of d."), 3)), 0), ReqContact):
        assert message == ReqContact(9, 7, ("?", "hash of d."), 2)
    assert search.spellings == {".x": "hash of x."}


def test_a_topic_is_spelled_once() -> None:
    spoken: list[str] = []
    node = Stack(1, 1, Hierarchy(), Seen())
    search = Search(node, Params(), lambda topic: spoken.append(topic) or topic)  # type: ignore[func-returns-value]
    use(node, search, contacts=search)
    node.step(Subscribe("."), 0)
    for nonce in range(5):
        search.ask([".d"])
        node.step(Received(9, request(nonce=nonce)), 0)
    assert spoken == [".", ".d"]


def test_what_was_asked_for_is_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.protocols.search.layer.SOUGHT_MAX", 1000)
    node, search = hiding()
    for number in range(3000):
        search.ask([f".n{number}"])
    node.step(Fired(AskOn()), 100 * SECOND_US)
    assert len(search.sought) == 1000
    assert search.meant("hash of 9992n.") == ".n2999"
    assert search.meant("hash of 0n.") is None


# Many at once


def wanted(effects: list[Effect]) -> list[tuple[str, ...]]:
    found = [effect.message for effect in effects if type(effect) is Send]
    return [message.wanted for message in found if isinstance(message, ReqContact)]


def test_what_is_looked_for_beyond_a_burst_waits_and_goes_together() -> None:
    node, search = searcher()
    for number in range(ASKS_BURST + 300):
        search.ask([f".a.t{number}"], joining=True)
        search.ask([f".a.t{number}"], joining=True)  # and nothing twice
    effects = node.out.take()
    assert len(wanted(effects)) == ASKS_BURST // 2 * 2
    assert [effect.timer for effect in effects if type(effect) is SetTimer] == [AskOn()]
    later: list[tuple[str, ...]] = []
    for second in (1, 2):
        later += wanted(node.step(Fired(AskOn()), second * SECOND_US))
    assert [len(each) for each in later] == [WANTED_MAX, WANTED_MAX, 300 + ASKS_BURST // 2 - 2 * WANTED_MAX]
    assert [topic for each in later for topic in each] == [f".a.t{n}" for n in range(ASKS_BURST // 2, ASKS_BURST + 300)]
    assert not search.waiting
    assert search.meant(".a.t299") == ".a.t299"


def test_topics_of_which_one_includes_another_are_looked_for_apart() -> None:
    node, search = searcher()
    for number in range(ASKS_BURST):
        search.ask([f".n{number}"])
    for topics in ([".a"], [".a.b"], [".c", "."], [".d"], [".e.f"], [".e"], [".c", "."]):
        search.ask(topics)
    search.ask([".g"], joining=True)
    node.out.take()
    assert wanted(node.step(Fired(AskOn()), 10 * SECOND_US)) == [
        (".a", ".c", ".d", ".e.f"),
        (".a.b", ".e"),
        (".",),
        (".g",),
    ]


def test_what_waits_is_bounded() -> None:
    _, search = searcher()
    for number in range(ASKS_BURST + WAITING_MAX + 10):
        search.ask([f".n{number}"])
    assert len(search.waiting) == WAITING_MAX
    assert next(iter(search.waiting)) == (f".n{ASKS_BURST + 10}", False)
