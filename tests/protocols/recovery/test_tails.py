"""Losses no later event shows: what an idle publisher says, and who believes what."""

from itertools import pairwise

from gossamer.core.machine import SECOND_US, Missing, Tune
from gossamer.core.patterns import Pattern
from gossamer.protocols.recovery.messages import Digest, Latest, Lost
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.rules import TAIL_REPEATS
from gossamer.protocols.recovery.tails import HEARSAY_MAX
from protocols.recovery.field import ME, A, B, C, Node, S, event, only, said

TAILS = Params(tail_after_us=SECOND_US // 2, expiry_us=1000 * SECOND_US)
WAYS = {A: (1, 2, 3), B: (2, 4), C: (6,)}


def latest(sequence: int, age_us: int = 10**9, source: int = S, pattern: Pattern = A, life: int = 0) -> Latest:
    return Latest(source, life, pattern, sequence, age_us)


def missing(node: Node) -> list[int]:
    return [place[3] for place in node.recovery.streams.lost.noticed_us]


# What we say of ourselves


def test_an_idle_publisher_repeats_where_it_stands_less_and_less_often() -> None:
    node = Node(TAILS, ways={A: (1,)})
    node.publish(event(1, (A, 1), source=ME))
    node.wait(300_000)
    node.publish(event(2, (A, 2), source=ME))
    times = []
    for _ in range(3000):
        times += [(node.now_us, message) for _, message in said(node.wait(100_000), Latest)]
    assert len(times) == TAIL_REPEATS
    waited = [(at - 300_000) / SECOND_US for at, _ in times]
    assert waited == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]
    assert times[0][1] == latest(2, 800_000, ME)
    assert node.timers == []


def test_as_long_as_it_publishes_it_need_not_say_where_it_stands() -> None:
    node = Node(TAILS, ways={A: (1,)})
    for n in range(1, 40):
        node.publish(event(n, (A, n), source=ME))
        assert said(node.wait(400_000), Latest) == []
    assert [message.sequence for _, message in said(node.wait(200_000), Latest)] == [39]  # type: ignore[attr-defined]


def test_without_tails_nothing_is_said() -> None:
    node = Node(Params(), ways={A: (1,)})
    node.publish(event(1, (A, 1), source=ME))
    assert node.timers == []


def test_a_new_life_counts_afresh() -> None:
    node = Node(TAILS, ways={A: (1,)})
    node.publish(event(7, (A, 7), source=ME))
    node.publish(event(1, (A, 1), source=ME, life=1))
    assert said(node.wait(600_000), Latest) == [(1, latest(1, 500_000, ME, life=1))]


def test_a_tail_lives_on_after_it_was_tuned_off_and_on() -> None:
    node = Node(TAILS, ways={A: (1,)})
    node.publish(event(1, (A, 1), source=ME))
    assert len(said(node.wait(600_000), Latest)) == 1
    node.take(Tune(A.topic, Params()))
    node.publish(event(2, (A, 2), source=ME))
    assert said(node.wait(100 * SECOND_US), Latest) == []
    assert node.timers == []
    node.take(Tune(A.topic, TAILS))
    assert [message.sequence for _, message in said(node.wait(10), Latest)] == [2]  # type: ignore[attr-defined]
    node.publish(event(3, (A, 3), source=ME))
    times = [node.now_us for _ in range(3000) if said(node.wait(100_000), Latest)]
    assert len(times) == TAIL_REPEATS
    assert node.timers == []


def test_a_tail_that_is_opened_late_says_when_its_count_began_or_else_that_it_is_old() -> None:
    node = Node(Params(), ways={A: (1,), B: (2,)})
    node.field.matching = (A, B)
    for topic in (A.topic, B.topic):
        node.take(Tune(topic, TAILS))
    node.wait(60 * SECOND_US)
    node.publish(event(11, (A, 11), source=ME, at_us=node.now_us, age_ms=40_000))
    node.publish(event(12, (B, 500), source=ME, at_us=node.now_us))
    told = [message for _, message in said(node.wait(SECOND_US), Latest)]
    half_us = SECOND_US // 2
    assert told == [latest(11, 40 * SECOND_US + half_us, ME), latest(500, node.now_us - half_us, ME, B)]


def test_a_publisher_whose_many_streams_end_at_once_says_so_no_faster_than_others_hear() -> None:
    patterns = [Pattern(".a", f"p{number}") for number in range(300)]
    node = Node(TAILS, ways=dict.fromkeys(patterns, (1,)))
    node.field.matching = patterns
    node.wait(SECOND_US)
    node.publish(event(1, *((pattern, 1) for pattern in patterns), source=ME, at_us=node.now_us))
    heard = Node(TAILS, *patterns, ways={}, me=6)
    times: dict[Pattern, int] = {}
    for _ in range(100):
        for _, message in said(node.wait(100_000), Latest):
            heard.now_us = node.now_us
            if only(heard.get(ME, message), Missing):
                times.setdefault(message.pattern, node.now_us)  # type: ignore[attr-defined]
    assert times.keys() == {*patterns}


# What we hear of others


def test_a_subscriber_that_is_behind_knows_what_it_misses() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.hear(event(1, (A, 1)))
    assert only(node.get(S, latest(3)), Missing) == [Missing(S, 0, A, 2, 3)]
    assert only(node.get(S, latest(3)), Missing) == []
    assert only(node.get(S, latest(4)), Missing) == [Missing(S, 0, A, 4, 4)]
    assert said(node.wait(10 * SECOND_US), Lost)


def test_what_was_said_does_not_hide_what_events_show() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.hear(event(1, (A, 1)))
    node.get(S, latest(3))
    node.hear(event(6, (A, 6)))
    assert missing(node) == [2, 3, 4, 5]


def test_a_stream_never_heard_of_that_began_after_the_subscription_is_all_missing() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.wait(10 * SECOND_US)
    node.get(S, latest(3, age_us=4 * SECOND_US))
    assert missing(node) == [1, 2, 3]


def test_an_older_one_begins_where_it_stands() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.get(S, latest(3, age_us=4 * SECOND_US))
    assert missing(node) == []
    node.hear(event(5, (A, 5)))
    assert missing(node) == [4]


def test_along_a_tree_everybody_passes_it_on() -> None:
    node = Node(TAILS, C, ways=WAYS)
    assert said(node.get(2, latest(3)), Latest) == [(1, latest(3)), (3, latest(3))]


def test_over_cycles_those_for_whom_it_is_news_pass_it_on() -> None:
    node = Node(TAILS, A, ways={A: range(100, 120)}, tree=False)
    node.hear(event(1, (A, 1)))
    assert len(said(node.get(100, latest(3)), Latest)) in (2, 3)
    assert said(node.get(101, latest(3)), Latest) == []


def test_hearsay_is_believed_of_streams_we_follow_and_a_few_places_ahead() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.get(1, latest(3, age_us=0))
    assert node.recovery.streams.sources == {}
    node.hear(event(1, (A, 1)))
    node.get(1, latest(2**62))
    assert missing(node) == []
    node.get(1, latest(1 + HEARSAY_MAX))
    assert len(missing(node)) == HEARSAY_MAX
    node.hear(event(2, (A, 2)), event(40, (A, 40)))
    assert missing(node) == [*range(3, 40)]


def test_lies_about_ourselves_and_of_what_we_do_not_want_change_nothing() -> None:
    node = Node(TAILS, A, ways=WAYS)
    node.get(1, latest(9, source=ME))
    node.get(S, latest(9, pattern=B))
    assert missing(node) == []
    assert node.recovery.streams.sources == {}


def test_such_messages_are_not_heard_without_end() -> None:
    node = Node(TAILS, A, ways={A: range(100, 120)}, tree=False)
    effects = [node.get(S, Latest(S, 0, A, n, 0)) for n in range(1000)]
    assert sum(len(said(each, Latest)) > 0 for each in effects) <= 100


# Digests besides pulling


def test_a_digest_now_and_then_while_there_is_news_and_seldom_without() -> None:
    node = Node(Params(push_every_us=SECOND_US), A, ways=WAYS)
    node.hear(event(1, (A, 1)))
    times = []
    for _ in range(2000):
        times += [node.now_us] * bool(said(node.wait(100_000), Digest))
    assert len(times) >= 12
    waits = [after - before for before, after in pairwise(times)]
    assert {*waits[:7]} == {SECOND_US}
    assert waits[7:] == sorted(waits[7:])
    assert max(waits) == 32 * SECOND_US
    node.hear(event(2, (A, 2)))
    assert any(said(node.wait(100_000), Digest) for _ in range(40))


def test_a_digest_does_not_tell_of_what_may_still_be_on_its_way() -> None:
    node = Node(Params(push_every_us=SECOND_US, patience_us=SECOND_US // 2), A, ways={A: (1,)})
    for n in range(1, 200):
        node.hear(event(n, (A, n)))
        for _, digest in said(node.wait(50_000), Digest):
            newest = max(each.sequence for each in digest.ids)  # type: ignore[attr-defined]
            assert n - 12 <= newest <= n - 9
