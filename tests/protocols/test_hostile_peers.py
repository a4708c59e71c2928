"""Whatever peers say, in whatever order: a node never raises, never grows beyond its bounds, and never multiplies."""

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.core.draws import draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    Given,
    Introduced,
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
from gossamer.core.publications import PENDING_MAX, PUBLISHED_MAX
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.links import Links
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.outside import HandToMembers
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.table import Table
from gossamer.protocols.scamp.keeping import COPIES_MAX, FORWARDS_BURST, JOINS_BURST, REJOINS_BURST, Keeping
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.messages import Beat, Forward, Here, Join, Marks
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.layer import REQUESTS_BURST, SOUGHT_MAX, Search
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.protocols.search.params import Params as SearchParams
from protocols.member import LEASE
from protocols.saying import ME, PEERS, TOPICS, any_of
from protocols.towns import CODEC, layer
from protocols.victims import Victim

CAMCAST = Params(small=16, links=2, targets=2.0, links_low=1)
SCAMP = ScampParams(view_max=8)
SEARCH = SearchParams(acquaintances=6, remembered=4)
TIMERS_MAX = 150
"Timers under way, stale ones too: about eight for each topic, as often as it was joined within a lease."


class Member(Victim):
    """A node with tight bounds."""

    def __init__(self, *subscribed: str, scamp: ScampParams = SCAMP) -> None:
        node = camcast_node(ME, 1, params=CAMCAST, scamp=scamp, search=SEARCH)
        super().__init__(node, CODEC, Started((1, 2, 3)), *map(Subscribe, subscribed))

    def check(self) -> None:
        """Every bound of every table."""
        mine = self.node.interest.mine()
        scamp, links = layer(self.node, Scamp), layer(self.node, Links)
        search, handover = layer(self.node, Search), layer(self.node, HandToMembers)
        assert {*scamp.views} == {*mine}
        for view in scamp.views.values():
            assert max(len(view.held), len(view.holders)) <= SCAMP.view_max
            assert ME not in {**view.held, **view.holders}
            assert view.unanswered.asks.keys() <= view.held.keys()
            assert len(view.named) <= SCAMP.view_max + 64
        assert len(handover.outlets) <= PUBLISHED_MAX + len(self.node.publications.by_topic)
        assert links.frontiers.keys() == {*mine, *handover.outlets}
        finding = links.finding
        assert (
            {*finding.tables}
            == {*finding.linked}
            == {above for one in links.frontiers.values() for above in one.tables}
        )
        for table in finding.tables.values():
            assert max(len(table.asked), len(table.next)) <= CAMCAST.links
        for frontier in links.frontiers.values():
            assert (frontier.search is not None) == bool(frontier.open())
            assert frontier.tables.keys() <= {*frontier.above}
            for table in frontier.tables.values():
                assert 0 < len(table.entries) == len({*table.entries}) <= CAMCAST.links
                assert ME not in table.entries
                assert table.confirmed.keys() <= {*table.entries}
                assert len(table.unanswered.asks) <= 200
        assert len(search.acquaintances) <= SEARCH.acquaintances
        assert max(len(search.seeds), len(search.lost)) <= SEARCH.remembered
        assert len(search.sought) <= SOUGHT_MAX
        keeping = layer(self.node, Keeping)
        for buckets in (search.by_origin, search.by_sender, keeping.joins, keeping.forwards, keeping.relayed):
            assert len(buckets.kept) <= buckets.most
        assert self.node.waiting <= PENDING_MAX
        assert len(self.waiting) <= TIMERS_MAX, "timers pile up"


EVENT_IDS = st.builds(EventId, st.integers(0, 9), st.integers(0, 2), st.integers(0, 9))
OVERLAY = CATALOGUE["pgrid"].messages
"Heard where membership is structured: see `pgrid/test_hostile.py`."
HEARD = st.builds(Received, PEERS, any_of(kind for kind in CATALOGUE["camcast"].spoken if kind not in OVERLAY))
GIVENS: st.SearchStrategy[Given] = st.one_of(
    HEARD,
    HEARD,
    HEARD,
    HEARD,
    HEARD,
    st.builds(Subscribe, st.sampled_from(TOPICS)),
    st.builds(Unsubscribe, st.sampled_from(TOPICS)),
    st.builds(PeerDown, PEERS),
    st.builds(Introduced, PEERS, st.integers(0, 3)),
    st.builds(Known, PEERS, st.lists(EVENT_IDS, max_size=3).map(tuple)),
    st.builds(Publish, st.builds(Event, EVENT_IDS, st.sampled_from(TOPICS)), st.booleans()),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(st.tuples(GIVENS, st.integers(0, 3 * SECOND_US)), min_size=20, max_size=60), st.sampled_from(TOPICS))
def test_anything_said_at_any_time_is_taken_within_bounds(history: list[tuple[Given, int]], subscribed: str) -> None:
    victim = Member(subscribed)
    for given_now, pause_us in history:
        if type(given_now) is Received:
            victim.hear(given_now.peer, given_now.message)
        else:
            victim.take(given_now)
        victim.wait(pause_us)
        victim.check()


def test_ten_thousand_joins_of_many_names_leave_memory_as_it_was() -> None:
    victim = Member(".", ".d")
    for number in range(10_000):
        key = fold(7, number)
        who, topic = draw(key, 0) % 5000, (".", ".d", ".x")[number % 3]
        for message in (
            Join(topic, who, number, number % 7, LEASE, copies=number),
            Forward(topic, who, number, number % 40, LEASE),
            ReqContact(who, number, (topic, ".d.g"), 255),
            AnsContact(topic, tuple(range(number, number + 64))),
        ):
            victim.hear(1000 + draw(key, 1) % 100, message)
        victim.wait(1000)
    victim.check()
    assert all(len(buckets.kept) <= 4096 for buckets in (layer(victim.node, Keeping).joins,))


# -- buckets --------------------------------------------------------------------------------------------------------


def refused(effects: Iterable[Effect]) -> bool:
    return any(type(effect) is Note and effect.detail == "too many requests" for effect in effects)


@pytest.mark.parametrize(
    ("flood", "burst"),
    [
        (lambda number: ReqContact(77, number, (".nobody",), 4), REQUESTS_BURST),
        (lambda number: Join(".", 77, number, 0, LEASE), REJOINS_BURST),
        (lambda number: Forward(".", 77, number, 5, LEASE), FORWARDS_BURST),
    ],
    ids=["requests", "joins", "copies"],
)
def test_who_asks_too_often_is_refused_in_a_note_and_others_are_not(flood: object, burst: int) -> None:
    victim = Member(".")
    for peer in (2, 3, 4):
        victim.hear(peer, Forward(".", peer, 1, 1, LEASE))
    answers = [victim.hear(2 + number % 30, flood(number)) for number in range(burst + 50)]  # type: ignore[operator]
    assert not any(map(refused, answers[:burst]))
    assert all(map(refused, answers[burst:]))
    assert not any(type(effect) is Send for effects in answers[burst:] for effect in effects)
    for message in (ReqContact(78, 1, (".nobody",), 4), Join(".", 78, 1, 0, LEASE), Forward(".", 78, 1, 5, LEASE)):
        assert not refused(victim.hear(2, message))
    victim.now_us += 60 * SECOND_US
    assert not refused(victim.hear(2, flood(10**6)))  # type: ignore[operator]


@pytest.mark.parametrize("copies", [4, 64])
def test_who_joins_many_communities_is_refused_once_it_caused_too_many_copies(copies: int) -> None:
    topics = [f".t{number}" for number in range(JOINS_BURST // copies // 10 + 1)]
    victim = Member(*topics)
    for topic in topics:
        for peer in (2, 3):
            victim.hear(peer, Forward(topic, peer, 1, 1, LEASE))
    joins = [Join(topic, 77, number, 0, LEASE, copies) for number in range(10) for topic in topics]
    answers = [victim.hear(77, join) for join in joins]
    assert not any(map(refused, answers[: JOINS_BURST // copies]))
    assert all(map(refused, answers[JOINS_BURST // copies :]))


def test_one_that_makes_up_names_is_refused_all_the_same() -> None:
    victim = Member(".")
    answers = [victim.hear(66, ReqContact(1000 + number, number, (".nobody",), 4)) for number in range(1000)]
    assert sum(map(refused, answers)) == 500


def test_a_join_makes_no_more_copies_than_a_million_members_would_need() -> None:
    node = camcast_node(ME, 1)
    node.step(Subscribe("."), 0)
    for peer in range(100, 350):
        node.step(Received(peer, Forward(".", peer, 1, 1, LEASE)), 0)
    for copies in (None, 2**32):
        effects = node.step(Received(9, Join(".", 9, 7, 0, LEASE, copies)), 0)
        copied = [e for e in effects if type(e) is Send and type(e.message) is Forward]
        assert sum(len(effect.peers) for effect in copied) == COPIES_MAX


def test_nobody_can_wind_the_count_forward_to_where_it_ends() -> None:
    victim = Member(".")
    victim.wait(60 * SECOND_US)
    (note,) = victim.hear(3, Marks(".", 2**62 - 1, b"abcd", 2**32, True))
    assert type(note) is Note
    assert note.kind == "reject"


# -- owners ---------------------------------------------------------------------------------------------------------

ATTACKER = 666
CROWD = range(10_000, 11_000)


def shares(victim: Member) -> list[float]:
    """What part of each of its tables is the attacker's."""
    view = layer(victim.node, Scamp).views["."]
    return [sum(peer in CROWD for peer in peers) / len(peers) for peers in (view.held, view.holders) if peers]


def crowd_in(victim: Member, number: int = 1) -> None:
    for peer in CROWD:
        victim.take(Introduced(peer, ATTACKER))
        victim.hear(peer, Forward(".", peer, number, 1, LEASE))
        victim.hear(peer, Beat("."))


@pytest.mark.parametrize("named", [False, True])
def test_a_thousand_nodes_of_one_owner_get_no_more_than_a_quarter_of_a_view(named: bool) -> None:
    victim = Member(".", scamp=ScampParams(view_max=64))
    for peer in range(100, 112):
        victim.take(Introduced(peer, peer % 6 + 1 if named else 0))
        victim.hear(peer, Forward(".", peer, 1, 1, LEASE))
        victim.hear(peer, Beat("."))
    crowd_in(victim)
    assert all(0 < each <= 0.25 for each in shares(victim))
    held, holders = (getattr(layer(victim.node, Scamp).views["."], name) for name in ("held", "holders"))
    assert {*range(100, 112)} <= held.keys() & holders.keys()


def test_an_owner_that_was_there_first_makes_room_within_a_lease_and_five_beats() -> None:
    victim = Member(".", scamp=ScampParams(view_max=32))
    crowd_in(victim)
    assert shares(victim) == [1, 1]
    for beat in range(21):
        for peer in range(100, 112):
            victim.hear(peer, Forward(".", peer, beat, 1, LEASE))
            victim.hear(peer, Beat("."))
        for peer in CROWD[:100]:
            victim.hear(peer, Forward(".", peer, beat + 2, 1, LEASE))
            victim.hear(peer, Beat("."))
        victim.wait(3 * SECOND_US)
        for peer in [*layer(victim.node, Scamp).about(".")]:
            victim.hear(peer, Here("."))
    assert all(each <= 0.25 for each in shares(victim)), shares(victim)


def test_a_table_of_links_has_two_of_one_owner_at_most_where_there_are_others() -> None:
    owners = {**dict.fromkeys(CROWD, ATTACKER), 1: 0, 2: 0}
    table = Table(".")
    table.trim(4)
    table.merge([1, 2], owners)
    table.merge(CROWD, owners)
    assert table.entries == [1, 2, *CROWD[:2]]
    first = Table(".")
    first.trim(4)
    first.merge(CROWD, owners)
    assert first.entries == [*CROWD[:4]]
    first.merge([1, 2, 3], owners)
    assert {*first.entries} == {1, 2, *CROWD[2:4]}
