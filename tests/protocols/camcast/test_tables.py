"""KEEP_TABLE_UPDATED and MERGE: how super-topic tables stay alive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Fired, PeerDown, Subscribe, Tune, Unsubscribe
from gossamer.protocols.camcast.links import Keep
from gossamer.protocols.camcast.messages import Alive, Away, ContactList, NewProcess, Probe
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.camcast.probing import Check
from gossamer.protocols.camcast.table import Table
from protocols.linking import One, sent

PEERS = st.lists(st.integers(0, 12), max_size=8)


@given(PEERS, PEERS, PEERS, st.integers(1, 5))
def test_merge_keeps_who_is_there_fills_what_failed_and_never_exceeds_z(
    first: list[Peer], failed: list[Peer], second: list[Peer], z: int
) -> None:
    table = Table(".a")
    table.trim(z)
    table.merge(first)
    for peer in dict.fromkeys(failed):
        if peer in table.entries:
            table.remove(peer)
    kept = [*table.entries]
    changed = table.merge(second)
    assert table.entries[: len(kept)] == kept
    assert changed == (table.entries != kept)
    assert len(table.entries) == len({*table.entries}) == min(z, len({*kept, *second}))


def test_below_tau_exactly_z_minus_tau_new_contacts_are_asked_of_every_live_link() -> None:
    one = One(links=6, links_low=4)
    one.found(".a.b", 30, 31, 32, 33, 34, 35)
    asked = sent(one.checked(30, 31, 32), NewProcess)
    assert [peer for peer, _ in asked] == [30, 31, 32]
    assert {message.count for _, message in asked} == {6 - 4}  # type: ignore[attr-defined]


def test_between_tau_and_z_one_link_is_asked_for_what_is_missing() -> None:
    one = One(links=6, links_low=4)
    one.found(".a.b", 30, 31, 32, 33, 34, 35)
    ((_, request),) = sent(one.checked(30, 31, 32, 33, 34), NewProcess)
    assert request.count == 1  # type: ignore[attr-defined]


def test_with_every_link_alive_nothing_is_asked() -> None:
    one = One()
    one.found(".a.b", 30, 31, 32)
    assert not sent(one.checked(30, 31, 32), NewProcess)


def test_new_contacts_take_the_place_of_failed_ones() -> None:
    one = One()
    one.found(".a.b", 30, 31, 32)
    one.checked(31)
    one.hear(31, ContactList(".a.b.c", ".a.b", (40, 41)))
    assert one.links.tables(".a.b.c") == [[31, 40, 41]]


def test_a_link_that_failed_and_is_found_again_is_as_good_as_anybody_new() -> None:
    one = One()
    one.found(".a.b", 30, 31, 32)
    one.checked(30, 31)
    assert one.links.tables(".a.b.c") == [[30, 31]]
    assert [peer for peer, _ in sent(one.hear(30, ContactList(".a.b.c", ".a.b", (32,))), Probe)] == [30, 31, 32]
    assert one.links.tables(".a.b.c") == [[30, 31, 32]]


def test_a_link_is_probed_again_and_again_before_it_has_failed() -> None:
    one = One(probes=16)
    one.found(".a.b", 30, 31, 32)
    one.fire(Keep)
    one.alive(30)
    for _ in range(15):
        assert [peer for peer, _ in sent(one.fire(Check), Probe)] == [31, 32]
        assert one.links.tables(".a.b.c") == [[30, 31, 32]]
    one.alive(32)
    assert [message.failed for _, message in sent(one.fire(Check), ContactList)] == [(31,)] * 3  # type: ignore[attr-defined]
    assert one.links.tables(".a.b.c") == [[30, 32]]
    assert one.now_us <= 5 * one.params.keep_every_us


def test_while_some_are_probed_again_no_second_check_begins() -> None:
    one = One(probes=16)
    one.found(".a.b", 30, 31, 32)
    one.take(PeerDown(30))
    probed = [peer for peer, _ in sent(one.fire(Keep), Probe)]
    assert probed == [31, 32]
    assert not sent(one.fire(Keep), Probe)
    assert [peer for peer, _ in sent(one.fire(Check), Probe)] == [31, 32]


def test_a_link_that_says_it_left_the_community_has_failed_at_once() -> None:
    one = One(probes=16)
    one.found(".a.b", 30, 31)
    one.fire(Keep)
    one.hear(30, Alive(one.table().nonce, one.table().topic, here=False))
    assert one.links.tables(".a.b.c") == [[31]]
    one.alive(31)
    one.fire(Check)
    assert one.links.tables(".a.b.c") == [[31]]


def test_an_answer_that_comes_after_the_judgement_still_counts() -> None:
    one = One()
    one.found(".a.b", 30, 31)
    one.checked(30)
    assert one.links.tables(".a.b.c") == [[30]]
    one.alive(31)
    assert one.links.tables(".a.b.c") == [[30, 31]]


@pytest.mark.parametrize(("electors", "share"), [(0.0, 0.0), (1.0, 0.2), (2.5, 0.5), (5.0, 1.0)])
def test_of_five_members_as_many_probe_each_time_as_are_elected_however_small_the_community(
    electors: float, share: float
) -> None:
    one = One(electors=electors)
    one.found(".a.b", 30)
    probing = 0
    for _ in range(400):
        if sent(one.fire(Keep), Probe):
            probing += 1
            one.alive(30)
            one.fire(Check)
    assert abs(probing / 400 - share) <= 4 * (share * (1 - share) / 400) ** 0.5


def test_who_is_sent_an_event_and_is_no_member_any_more_is_no_link_from_then_on() -> None:
    one = One()
    one.found(".a.b", 30, 31)
    one.hear(30, Away(".x"))
    assert one.links.tables(".a.b.c") == [[30, 31]]
    one.hear(30, Away(".a.b.c"))
    assert one.links.tables(".a.b.c") == [[31]]
    one.hear(31, Away(".a.b.c"))
    assert one.links.searching(".a.b.c")


def test_who_copied_all_its_links_exchanges_them_for_others_as_these_answer() -> None:
    one = One(links=4)
    one.hear(2, ContactList(".a.b.c", ".a.b", (30, 31, 32, 33)))
    one.alive(30, 31, 32, 33)
    ((asked, request),) = sent(one.fire(Check), NewProcess)
    assert request == NewProcess(".a.b", ".a.b.c", 4)
    one.hear(asked, ContactList(".a.b.c", ".a.b", (40, 41, 42, 33)))
    one.alive(40, 41)
    assert len({*one.table().entries} & {30, 31, 32, 33}) == 2
    assert {40, 41} < {*one.table().entries}
    assert asked not in one.table().entries


def test_a_link_that_comes_while_others_are_probed_is_probed_too_and_judged_by_its_own_silence() -> None:
    one = One(probes=2)
    one.found(".a.b", 30, 31)
    one.fire(Keep)
    one.alive(30)
    one.fire(Check)
    assert sent(one.hear(2, ContactList(".a.b.c", ".a.b", (40,))), Probe)
    one.fire(Check)
    assert one.links.tables(".a.b.c") == [[30, 40]]
    one.fire(Check)
    assert one.links.tables(".a.b.c") == [[30]]


def test_without_a_live_link_the_search_starts_again() -> None:
    one = One()
    one.found(".a.b", 30)
    one.checked()
    assert one.search.asked == [[".a.b", ".a", "."]] * 2


def test_even_with_tau_equal_to_z_something_is_asked_for() -> None:
    one = One(links=3, links_low=3)
    one.found(".a.b", 30, 31, 32)
    assert {message.count for _, message in sent(one.checked(30), NewProcess)} == {1}  # type: ignore[attr-defined]


def test_rotation_exchanges_one_live_link_for_one_it_names() -> None:
    one = One(rotation=1.0)
    one.found(".a.b", 30, 31, 32)
    ((rotated, request),) = sent(one.checked(30, 31, 32), NewProcess)
    assert request == NewProcess(".a.b", ".a.b.c", 1)
    assert [peer for peer, _ in sent(one.hear(rotated, ContactList(".a.b.c", ".a.b", (40,))), Probe)] == [40]
    assert {*one.table().entries} == {30, 31, 32}
    one.alive(40)
    assert {*one.table().entries} == {30, 31, 32, 40} - {rotated}


def test_who_names_others_without_being_asked_replaces_nobody() -> None:
    one = One(links=2, rotation=0.0)
    one.found(".a.b", 30, 31)
    for named in ((66, 67), (68, 69)):
        one.hear(30, ContactList(".a.b.c", ".a.b", named))
        one.alive(*named)
    assert one.table().entries == [30, 31]


def test_an_only_link_is_exchanged_for_one_that_answered_and_for_no_other() -> None:
    one = One(links=1, rotation=1.0)
    one.found(".a.b", 30)
    assert sent(one.checked(30), NewProcess)
    one.hear(30, ContactList(".a.b.c", ".a.b", (66,)))
    assert [*one.table().confirmed] == [30]
    one.checked(30)
    one.hear(30, ContactList(".a.b.c", ".a.b", (40,)))
    one.alive(66)  # asked in an earlier check
    assert [*one.table().confirmed] == [30]
    one.alive(40)
    assert one.table().entries == [*one.table().confirmed] == [40]


def test_where_the_community_above_has_no_others_it_is_asked_for_some_now_and_then_only() -> None:
    one = One(links=4, rotation=0.2)
    one.found(".a.b", 30, 31)
    asked = 0
    for _ in range(100):
        for peer, _request in sent(one.checked(30, 31), NewProcess):
            asked += 1
            one.hear(peer, ContactList(".a.b.c", ".a.b", (31,) if peer == 30 else (30,)))
    assert 5 < asked < 40
    one.take(PeerDown(31))
    assert sent(one.checked(30), NewProcess)


def test_communities_of_one_node_share_their_links_and_these_are_probed_once() -> None:
    one = One()
    one.found(".a.b", 30, 31, 32)
    for number in range(20):
        one.take(Subscribe(f".a.b.{number}"))
    assert len(one.links.finding.tables) == 1
    keeps = [each.timer for each in one.timers if type(each.timer) is Keep]
    assert len({keep.topic for keep in keeps}) == 21
    one.now_us += 2 * SECOND_US
    assert sum(len(sent(one.take(Fired(keep)), Probe)) for keep in keeps) == 3
    one.take(PeerDown(30))
    assert {*map(str, (one.links.tables(topic) for topic in one.links.frontiers))} == {"[[31, 32]]"}
    for topic in [*one.links.frontiers]:
        one.take(Unsubscribe(topic))
    assert one.links.finding.tables == one.links.finding.linked == {}


def test_lowering_z_while_running_shortens_the_table_the_unproven_first() -> None:
    one = One(links=4, links_low=1)
    one.found(".a.b", 30, 31, 32, 33)
    one.table().confirmed.pop(31)
    one.take(Tune(one.topic, Params(links=2, links_low=1, small=100)))
    assert one.table().entries == [30, 32]


def test_a_peer_the_transport_gave_up_is_no_live_link() -> None:
    one = One()
    one.found(".a.b", 30, 31)
    one.take(PeerDown(30))
    assert one.links.tables(".a.b.c") == [[31]]


def test_hearsay_of_a_failure_leads_to_a_probe_not_to_belief_and_not_to_two() -> None:
    one = One()
    one.found(".a.b", 30, 31)
    gossip = ContactList(".a.b.c", ".a.b", (), failed=(30,))
    assert [peer for peer, _ in sent(one.hear(2, gossip), Probe)] == [30]
    assert one.links.tables(".a.b.c") == [[30, 31]]
    assert not sent(one.hear(3, gossip), Probe)


def test_only_members_say_yes_to_probes_and_answer_requests_for_members() -> None:
    one = One()
    assert sent(one.hear(9, Probe(7, ".a.b.c")), Alive) == [(9, Alive(7, ".a.b.c"))]
    assert sent(one.hear(9, Probe(7, ".a")), Alive) == [(9, Alive(7, ".a", here=False))]
    assert one.hear(9, NewProcess(".a", ".a.b", 2)) == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_new_contacts_named_are_members_drawn_anew_each_time_and_never_the_asker(count: int) -> None:
    one = One()
    named = set()
    for second in range(40):
        one.now_us = second
        ((_, answer),) = sent(one.hear(4, NewProcess(".a.b.c", ".a.b.c.d", count)), ContactList)
        assert len(answer.peers) == count  # type: ignore[attr-defined]
        named |= {*answer.peers}  # type: ignore[attr-defined]
    assert named == {2, 3, 5}


def test_a_timer_from_before_the_topic_was_left_does_nothing() -> None:
    one = One()
    stale = next(timer.timer for timer in one.timers if type(timer.timer) is Keep)
    one.take(Unsubscribe(one.topic))
    one.take(Subscribe(one.topic))
    assert one.take(Fired(stale)) == []
