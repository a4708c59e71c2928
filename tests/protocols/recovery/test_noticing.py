"""Gaps between the tags of events: what is missing, and when that is said."""

import pytest
from msgspec.structs import replace

from gossamer.core.events import Carried
from gossamer.core.machine import SECOND_US, Missing, Note, Subscribe, Unsubscribe
from gossamer.parts.tagging import Tagger
from gossamer.protocols.recovery.gaps import runs
from gossamer.protocols.recovery.layer import UNSURE_US
from gossamer.protocols.recovery.messages import Again, Listed, Lost
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.rules import GAP_MAX
from gossamer.protocols.recovery.streams import LOST_MAX, SOURCES_MAX
from protocols.recovery.field import A, B, C, Node, S, event, only, said

PULL = Params(method="subscriber-pull")


def missing(node: Node) -> list[tuple[int, int, int, int]]:
    return [*node.recovery.streams.lost.noticed_us]


def place(sequence: int, life: int = 0, pattern: int = A.signature) -> tuple[int, int, int, int]:
    return (S, life, pattern, sequence)


def test_the_first_event_heard_tells_nothing_of_those_before() -> None:
    node = Node(PULL, A)
    assert only(node.hear(event(7, (A, 7))), Missing) == []
    assert missing(node) == []


# Those before the first one heard

SUBSCRIBED_US = 10 * SECOND_US


def late_reader() -> Node:
    node = Node(PULL)
    node.now_us = SUBSCRIBED_US
    node.take(Subscribe(A.topic))
    node.now_us = 20 * SECOND_US
    return node


@pytest.mark.parametrize("began_us", [SUBSCRIBED_US, SUBSCRIBED_US + 1, 19 * SECOND_US])
def test_who_subscribed_before_a_count_began_misses_it_from_one(began_us: int) -> None:
    node = late_reader()
    first = event(7, (A, 4), at_us=node.now_us, age_ms=(node.now_us - began_us) // 1000)
    assert only(node.hear(first), Missing) == [Missing(S, 0, A, 1, 3)]
    assert said(node.wait(SECOND_US), Lost)


@pytest.mark.parametrize("began_us", [SUBSCRIBED_US - 1, 0])
def test_who_subscribed_later_does_not(began_us: int) -> None:
    node = late_reader()
    assert node.hear(event(7, (A, 4), at_us=node.now_us, age_ms=-((began_us - node.now_us) // 1000)))
    assert missing(node) == []


def test_the_life_of_a_publisher_that_began_later_began_its_counts_later() -> None:
    node = late_reader()
    node.hear(event(50, (A, 50), at_us=1))
    node.hear(event(3, (A, 3), life=12 * SECOND_US, at_us=15 * SECOND_US, age_ms=2_000))
    assert missing(node) == [place(1, life=12 * SECOND_US), place(2, life=12 * SECOND_US)]


def test_a_clock_that_is_ahead_makes_no_count_younger_than_its_event_and_one_that_is_behind_makes_none_young() -> None:
    node = late_reader()
    node.hear(event(2, (A, 2), source=7, at_us=10**12, age_ms=11_000))
    node.hear(event(2, (A, 2), source=8, at_us=5 * SECOND_US, age_ms=1))
    assert missing(node) == []
    node.hear(event(2, (A, 2), source=9, at_us=10**12, age_ms=9_000))
    assert missing(node) == [(9, 0, A.signature, 1)]


def test_what_the_publisher_counts_and_the_reader_concludes_agree() -> None:
    """Whenever the count began, and whichever event of it comes first."""
    for began_us in range(SUBSCRIBED_US - 5_000, SUBSCRIBED_US + 5_000, 333):
        tagger = Tagger()
        for number in range(1, 6):
            (tag,) = tagger.tags([A.signature], began_us + 700 * (number - 1))
        node = late_reader()
        node.hear(replace(event(5, (A, 5), at_us=began_us + 2_800), tags=(tag,)))
        assert missing(node) in ([], [place(n) for n in range(1, 5)])
        if began_us < SUBSCRIBED_US or began_us >= SUBSCRIBED_US + 1_000:  # a millisecond is what they may be apart
            assert bool(missing(node)) == (began_us >= SUBSCRIBED_US)


# Gaps


def test_what_is_passed_over_is_missing_and_said_to_be() -> None:
    node = Node(PULL, A)
    effects = node.hear(event(1, (A, 1)), event(4, (A, 4)))
    assert only(effects, Missing) == [Missing(S, 0, A, 2, 3)]
    assert missing(node) == [place(2), place(3)]


def test_only_patterns_our_users_want_are_followed() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1), (B, 1)), event(2, (A, 2), (B, 9)))
    assert missing(node) == []


def test_an_event_that_comes_late_fills_all_its_places() -> None:
    node = Node(PULL, A, B)
    node.hear(event(1, (A, 1), (B, 1)), event(3, (A, 3), (B, 3)))
    assert len(missing(node)) == 2
    effects = node.hear(event(2, (A, 2), (B, 2)))
    assert missing(node) == []
    assert [e for e in only(effects, Note) if e.kind == "recover"] == []  # type: ignore[attr-defined]


def test_one_that_was_sent_again_is_recovered_and_says_how_long_it_took() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1)), event(3, (A, 3)))
    node.wait(1234)
    late = event(2, (A, 2))
    effects = node.get(3, Again(Carried(late, 4)))
    assert Note("recover", event=late.id, peer=3, topic=A.topic, detail="1234") in effects
    assert missing(node) == []


def test_one_that_nobody_missed_is_recovered_too_but_took_no_known_time() -> None:
    node = Node(PULL, A)
    late = event(2, (A, 2))
    effects = node.get(3, Again(Carried(late, 4)))
    assert Note("recover", event=late.id, peer=3, topic=A.topic) in effects


def test_a_restarted_publisher_is_a_new_stream() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1)), event(50, (A, 50), life=1), event(52, (A, 52), life=1))
    assert missing(node) == [place(51, life=1)]


def test_of_a_gap_of_any_size_the_newest_thousand_are_asked_for_and_all_are_told() -> None:
    node = Node(PULL, A)
    effects = node.hear(event(1, (A, 1)), event(2, (A, 2**62)))
    assert only(effects, Missing) == [Missing(S, 0, A, 2, 2**62 - 1)]
    assert missing(node) == [place(each) for each in range(2**62 - GAP_MAX, 2**62)]


def test_what_came_late_is_told_of_a_large_gap_as_of_any() -> None:
    node = Node(replace(PULL, patience_us=5_000), A)
    node.hear(event(1, (A, 1)), event(2, (A, 2_000)), event(3, (A, 1_500)))
    assert only(node.wait(30_000), Missing) == [Missing(S, 0, A, 2, 1_499), Missing(S, 0, A, 1_501, 1_999)]


@pytest.mark.parametrize("lost", [90, 150, 999, 1_500])
def test_however_many_of_the_first_events_are_lost_they_are_told_and_as_many_as_of_any_gap_asked_for(lost: int) -> None:
    node, tagger = late_reader(), Tagger()
    for number in range(lost + 1):
        tags = tagger.tags([A.signature], SUBSCRIBED_US + 1_000 + 5_000 * number)
    effects = node.hear(replace(event(lost + 1, (A, 1), at_us=SUBSCRIBED_US + 1_000 + 5_000 * lost), tags=tags))
    assert only(effects, Missing) == [Missing(S, 0, A, 1, lost)]
    assert len(missing(node)) == min(lost, GAP_MAX)


def test_losses_and_publishers_are_kept_within_bounds() -> None:
    node = Node(PULL, A)
    for source in range(30):
        node.hear(event(1, (A, 1), source=100 + source), event(2, (A, 10**6), source=100 + source))
    assert len(missing(node)) == LOST_MAX
    for source in range(SOURCES_MAX + 10):
        node.hear(event(1, (A, 1), source=10_000 + source))
    assert len(node.recovery.streams.sources) == SOURCES_MAX


def test_of_too_many_publishers_the_one_heard_of_longest_ago_begins_anew() -> None:
    node = Node(PULL, A)
    node.hear(event(1, (A, 1)))
    for source in range(SOURCES_MAX + 10):
        node.hear(event(1, (A, 1), source=10_000 + source))
        if source % 100 == 0:
            node.hear(event(2 + source, (A, 2 + source)))
    assert len(node.recovery.streams.sources) == SOURCES_MAX
    assert node.recovery.streams.sources[S, 0].highest == {A.signature: 2 + SOURCES_MAX}
    assert (10_000, 0) not in node.recovery.streams.sources


def test_a_publisher_that_was_forgotten_is_not_expected_to_have_counted_from_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.protocols.recovery.streams.SOURCES_MAX", 2)
    node = late_reader()
    for number in range(1, 6):
        for source in range(4):
            node.now_us += 1_000
            node.hear(event(number, (A, number), source=source, at_us=node.now_us, age_ms=4 * (number - 1) + 1))
    assert missing(node) == []


def test_of_what_began_after_anybody_was_forgotten_everything_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.protocols.recovery.streams.SOURCES_MAX", 2)
    node = late_reader()
    for source in (1, 2, 3):
        node.hear(event(1, (A, 1), source=source, at_us=node.now_us))
    forgot_us = node.now_us
    node.now_us += SECOND_US
    node.hear(event(3, (A, 3), at_us=node.now_us, age_ms=1 + (node.now_us - forgot_us) // 1000))
    assert missing(node) == []
    node.now_us += SECOND_US
    node.hear(event(3, (B, 3), (A, 3), life=1, at_us=node.now_us, age_ms=500))
    assert missing(node) == [place(1, life=1), place(2, life=1)]


def test_losses_expire() -> None:
    node = Node(Params(method="subscriber-pull", interval_us=1000, expiry_us=10_000), A)
    node.hear(event(1, (A, 1)), event(3, (A, 3)))
    assert said(node.wait(9_000), Lost)
    node.wait(2_000)
    assert missing(node) == []
    assert said(node.wait(100_000), Lost) == []
    assert node.timers == []


def test_patience_lets_most_gaps_fill_by_themselves() -> None:
    node = Node(Params(interval_us=1000, patience_us=5_000), A)
    effects = node.hear(event(1, (A, 1)), event(6, (A, 6)))
    effects += node.wait(4_000)
    node.hear(event(3, (A, 3)))
    assert only(effects, Missing) == []
    assert said(effects, Lost) == []
    effects = node.wait(30_000)
    assert only(effects, Missing) == [Missing(S, 0, A, 2, 2), Missing(S, 0, A, 4, 5)]
    assert said(effects, Lost)


def test_what_nobody_wants_any_more_is_forgotten_and_counted_afresh_later() -> None:
    node = Node(PULL, A, B)
    node.hear(event(1, (A, 1), (B, 1)), event(3, (A, 3), (B, 3)))
    node.take(Unsubscribe(A.topic))
    assert missing(node) == [place(2, pattern=B.signature)]
    assert node.recovery.streams.sources[S, 0].highest == {B.signature: 3}


def test_an_event_without_tags_is_nobodys_business_but_on_a_tree_of_whoever_wants_it() -> None:
    for tree, matching, held in ((False, (A,), 0), (True, (B,), 0), (True, (A,), 1)):
        node = Node(PULL, A, tree=tree)
        node.field.matching = matching
        node.hear(replace(event(1, (A, 1)), tags=()))
        assert node.recovery.streams.sources == {}
        assert len(node.recovery.holding.cache) == held
        assert bool(said(node.wait(SECOND_US), Listed)) == bool(held)


def test_nor_of_its_publisher_unless_it_cannot_know_who_wants_it_yet() -> None:
    node = Node(PULL, A)
    node.field.matching = ()
    node.publish(replace(event(1, (A, 1), source=node.node.me), tags=()))
    assert len(node.recovery.holding.cache) == 0
    node.recovery.links_changed(".")
    node.publish(replace(event(2, (A, 1), source=node.node.me), tags=()))
    assert len(node.recovery.holding.cache) == 1
    node.wait(UNSURE_US)
    node.publish(replace(event(3, (A, 1), source=node.node.me), tags=()))
    assert len(node.recovery.holding.cache) == 1


def test_an_event_of_a_pattern_of_ours_is_followed_even_if_a_filter_keeps_it_from_our_user() -> None:
    node = Node(PULL, A)
    narrow = event(2, (C, 1), (A, 2))
    node.hear(event(1, (A, 1)))
    node.hear(narrow)
    assert node.recovery.streams.sources[S, 0].highest == {A.signature: 2}
    assert node.recovery.holding.get(narrow.id) is not None


def test_stretches() -> None:
    assert runs([]) == []
    assert runs([1, 2, 3, 5, 7, 8]) == [(1, 3), (5, 5), (7, 8)]
