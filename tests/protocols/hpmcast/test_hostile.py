"""Whatever others in a hierarchy say: a participant never raises, never grows beyond its bounds, never multiplies."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.draws import draw, fold
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Note, Received, Send, Started, Subscribe
from gossamer.core.patterns import Pattern
from gossamer.parts.bucket import Buckets
from gossamer.protocols import CATALOGUE
from gossamer.protocols.hpmcast import comparing, joining, tables, wanting, watching
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import (
    MARKS_MAX,
    LaterRows,
    Ping,
    PlaceRequest,
    RowDigest,
    RowMark,
    Seat,
    SubsystemRow,
)
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.recovery.params import Params as Recovery
from gossamer.wire.codec import Codec
from protocols.saying import ME, PEERS, any_of
from protocols.victims import Victim

CODEC = Codec(CATALOGUE["hpmcast"].spoken)
BRANCHING = (3, 3, 512)


class Participant(Victim):
    """It lives at 1.1.1."""

    def __init__(self) -> None:
        recovery = Recovery(method="exchange", answers_per_s=100)
        node = hpmcast_node(ME, 1, (1, 1, 1), BRANCHING, params=Params(direct=2), recovery=recovery)
        super().__init__(node, CODEC, Started((1, 2, 3)), Subscribe(".d", "p > 1"), now_us=SECOND_US)

    def check(self) -> None:
        assert isinstance(self.node.spread, Hpmcast)
        members = self.node.spread.members
        views, compared, asked, watch = members.tables, members.comparing, members.joining, members.watch
        assert max(len(views.members), len(views.others)) <= tables.LINES_MAX
        assert ME not in views.members
        assert all(views.belongs(about) for about in views.others)
        for level in (1, 2, 3):
            lines = views.lines(level)
            assert [line.place for line in lines] == sorted(line.place for line in lines)
            assert all(1 <= len(line.peers) <= 3 for line in lines)
        assert {*watch.direct_us, *watch.unanswered.asks} <= {*views.members}
        assert len(watch.lost) <= watching.LOST_MAX
        assert len(compared.expected) <= comparing.EXPECTED_MAX
        assert len(asked.greeted) <= joining.GREETED_MAX
        assert max(len(asked.seeds), len(asked.visitors)) <= joining.SEEDS_MAX
        assert len(self.waiting) <= 40, "timers pile up"


DIGITS = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple) | st.just((1, 1, 0)) | st.just((1, 1, 1))
LIKELY = st.sampled_from([(0,), (1,), (1, 0), (1, 1), (1, 1, 0), (1, 1, 2), (2, 0, 0)])
SEATS = st.builds(Seat, DIGITS, st.integers(0, 20), st.integers(0, 3))
STAMPS = st.integers(0, 3 * SECOND_US) | st.integers(0, 2**63 - 1)
INTERESTS = st.sampled_from([(), (Pattern(".d"),), (Pattern(".d", "p > 4"), Pattern(".x")), (Pattern(".d", "p >"),)])


def sane(about: tuple[int, ...], peer: Peer, stamp: int, interest: tuple[Pattern, ...], count: int) -> SubsystemRow:
    """A row that may well be believed."""
    return SubsystemRow(about, peer, stamp, (Seat((*about, *[peer % 3] * (3 - len(about))), peer),), interest, count)


ROWS = st.one_of(
    st.builds(sane, LIKELY, st.integers(0, 20), STAMPS, INTERESTS, st.integers(0, 1)),
    st.builds(
        SubsystemRow, DIGITS, st.integers(0, 20), STAMPS, st.lists(SEATS, max_size=4).map(tuple), INTERESTS, STAMPS
    ),
)
MARKS = st.builds(RowMark, LIKELY | DIGITS, st.integers(0, 20), STAMPS, st.integers(0, 2**31))
TALK = st.one_of(
    st.builds(LaterRows, st.lists(ROWS, max_size=5).map(tuple), st.lists(st.integers(0, 2**31), max_size=5).map(tuple)),
    st.builds(RowDigest, DIGITS, st.lists(MARKS, max_size=8).map(tuple), st.booleans(), st.booleans()),
    st.builds(PlaceRequest, ROWS, st.integers(0, 9), st.integers(0, 60)),
    st.just(Ping()),
    any_of(CATALOGUE["hpmcast"].spoken),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(
        st.tuples(st.integers(0, 20).filter(lambda peer: peer != ME) | PEERS, TALK, st.integers(0, 2 * SECOND_US)),
        min_size=10,
        max_size=40,
    )
)
def test_anything_said_at_any_time_is_taken_within_bounds(history: list[tuple[Peer, Struct, int]]) -> None:
    victim = Participant()
    for peer, message, pause_us in history:
        victim.hear(peer, message)
        victim.wait(pause_us)
        victim.check()


def test_a_crowd_that_joins_and_greets_leaves_memory_as_it_was() -> None:
    victim = Participant()
    for number in range(6000):
        key = fold(7, number)
        peer = 1000 + draw(key, 0) % 100_000
        row = sane((1, 1, 0), peer, 5, (Pattern(f".made.up.{number}"),), 1)
        victim.hear(peer, (PlaceRequest(row, 0), Ping(), RowDigest((1, 1, 0), (), True, True))[number % 3])
        if number % 50 == 0:
            victim.wait(20_000)
    victim.check()
    assert len(victim.node.spread.members.tables.members) <= 2  # type: ignore[attr-defined]


def test_whoever_has_not_begun_says_nothing_of_itself() -> None:
    """A live node takes calls before it knows what it wants: others would refuse a row without a time."""
    node = hpmcast_node(ME, 1, (1, 1, 1), BRANCHING)
    newcomer = SubsystemRow((1, 1, 0), 7, SECOND_US, (Seat((1, 1, 0), 7),), (), 1)
    said: list[Struct] = []
    for message in (PlaceRequest(newcomer, 0), RowDigest((1, 1, 0), (), True, True)):
        said += [each.message for each in node.step(Received(7, message), SECOND_US) if type(each) is Send]
    rows = [row for each in said if type(each) is LaterRows for row in each.rows]
    assert [row.author for row in rows if row.stamp == 0 or row.author == ME] == []


def test_a_short_question_asked_over_and_over_does_not_drain_us() -> None:
    """The answer to an empty digest is all we know: a peer gets two megabytes at once, and 200 KB a second."""
    victim = Participant()
    members = victim.node.spread.members  # type: ignore[attr-defined]
    victim.node.now_us = victim.now_us
    for peer in range(100, 400):
        text = f'name == "{"x" * 4000}{peer}"'
        members.comparing.expect(peer)
        victim.hear(peer, LaterRows((sane((1, 1, peer), peer, 5, (Pattern(".d", text),), 1),)))
    assert len(members.tables.members) == 300
    bytes_out = 0
    for _ in range(100):
        for effect in victim.hear(50, RowDigest((1, 1, 2), (), True, False)):
            if type(effect) is Send:
                bytes_out += len(CODEC.encode(effect.message))
    assert 1_000_000 < bytes_out < 3_000_000


def test_so_many_filters_are_read_for_one_peer_and_no_more() -> None:
    """Reading a filter takes far longer than sending it: nobody may have us do nothing else."""
    victim = Participant()
    victim.wait(SECOND_US)  # it asks for a place, and listens to whoever answers
    assert isinstance(victim.node.spread, Hpmcast)
    members = victim.node.spread.members
    assert (members.comparing.texts.per_s, members.comparing.texts.burst) == (20_000, 200_000)
    members.comparing.texts = Buckets(2_000, 20_000)

    def long(number: int) -> tuple[Pattern, ...]:
        return (Pattern(".d", " and ".join(f"a{number}x{each} > {each}" for each in range(100))),)

    def tell(first: int, count: int) -> int:
        """Characters of filters that were read."""
        before = wanting.wanted.cache_info().misses
        for number in range(first, first + count):
            row = sane((1, 1, number % 512), 1000 + number, SECOND_US + number, long(number), 1)
            victim.hear(1, LaterRows((row,)))
        return (wanting.wanted.cache_info().misses - before) * len(long(first)[0].where)

    at_once = tell(100, 60)
    assert 10_000 < at_once <= 20_000
    victim.now_us += SECOND_US
    assert 20_000 < at_once + tell(200, 60) <= 22_000
    stranger = PlaceRequest(sane((1, 1, 400), 7, SECOND_US, long(400), 1), 0)
    assert any(type(each) is Note for each in victim.hear(1, stranger))
    victim.hear(7, stranger)
    assert 7 in members.tables.members


def test_an_interest_that_is_longer_than_any_row_s_is_not_even_read() -> None:
    victim = Participant()
    victim.wait(SECOND_US)
    before = wanting.wanted.cache_info().misses
    endless = tuple(Pattern(f".d{number}", "p > 1" + " " * 8000) for number in range(3))
    effects = victim.hear(1, LaterRows((sane((1, 1, 0), 1, SECOND_US, endless, 1),)))
    assert [each.detail for each in effects if type(each) is Note] == ["bad row"]
    assert wanting.wanted.cache_info().misses == before


def test_a_digest_of_the_greatest_length_is_answered_in_messages_that_are_not_too_long() -> None:
    victim = Participant()
    marks = tuple(RowMark((1, 1, 0), peer, 5) for peer in range(100, 100 + MARKS_MAX))
    effects = victim.hear(50, RowDigest((1, 1, 2), marks, True, True))
    assert all(len(CODEC.encode(effect.message)) < 200_000 for effect in effects if type(effect) is Send)


def test_nobody_outside_can_take_the_delegates_of_a_subsystem_away() -> None:
    """Who does not live there cannot be an author; who claims to live there says so in its seat, under its seal."""
    victim = Participant()
    views = victim.node.spread.members.tables  # type: ignore[attr-defined]
    victim.node.spread.members.comparing.expect(9)  # type: ignore[attr-defined]
    victim.hear(9, LaterRows((sane((0,), 4, 5, (), 1),)))
    assert views.lines(3)[0].peers == (4,)
    stolen = SubsystemRow((0,), 9, 99, (Seat((1, 0, 0), 9),), (), 1)
    victim.hear(9, LaterRows((stolen,)))
    assert views.lines(3)[0].peers == (4,)
