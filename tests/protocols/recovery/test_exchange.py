"""Where no gaps show, whoever holds events tells those that want them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    SECOND_US,
    Deliver,
    Effect,
    Fired,
    Note,
    Publish,
    Received,
    Send,
    SetTimer,
    Started,
    Subscribe,
)
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import LaterRows, Seat, SubsystemRow
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.recovery.experiment.setting import EpidemicSetting
from gossamer.protocols.recovery.listing import List
from gossamer.protocols.recovery.messages import Again, Listed, Want
from gossamer.protocols.recovery.params import Params

ME: Peer = 0
T = 30_000
PARAMS = Params(method="exchange", interval_us=T, fanout=9, expiry_us=SECOND_US)


def event(number: int, price: int, topic: str = ".m.oil", publisher: Peer = 77) -> Event:
    return Event(EventId(publisher, 0, number), topic, attributes={"price": price})


def row(about: tuple[int, ...], peer: Peer, where: str) -> SubsystemRow:
    address = (*about, *[0] * (2 - len(about)))
    return SubsystemRow(about, peer, 1, (Seat(address, peer),), (Pattern(".m", where),), 1)


def participant(*patterns: Pattern) -> Stack:
    """At 0.0, with two neighbours and another group, that want some prices."""
    node = hpmcast_node(ME, 1, (0, 0), (4, 4), recovery=PARAMS)
    node.step(Started(()), 0)
    for pattern in patterns:
        node.step(Subscribe(pattern.topic, pattern.where), 0)
    assert isinstance(node.spread, Hpmcast)
    rows = (row((0, 1), 1, "price > 10"), row((0, 2), 2, "price > 50"), row((3,), 9, "price > 70"))
    node.now_us = 0
    node.spread.members.comparing.expect(5)
    node.step(Received(5, LaterRows(rows)), 1)
    return node


def sent(effects: Sequence[Effect], kind: type[Struct]) -> list[tuple[tuple[Peer, ...], Any]]:
    return [(each.peers, each.message) for each in effects if type(each) is Send and type(each.message) is kind]


def due(effects: Sequence[Effect]) -> List | None:
    return next((each.timer for each in effects if type(each) is SetTimer and type(each.timer) is List), None)


def hold(node: Stack, *events: Event, now_us: int = 10) -> List:
    timer = None
    for each in events:
        timer = due(node.step(Received(1, Again(Carried(each, 1))), now_us)) or timer
    assert timer is not None
    return timer


def rounds(node: Stack, timer: List | None, until_us: int) -> tuple[dict[Peer, set[int]], list[int]]:
    """Whom it tells of which events until then, and when it spoke."""
    told: dict[Peer, set[int]] = {}
    times = []
    while timer is not None and timer.due_us <= until_us:
        times.append(timer.due_us)
        effects = node.step(Fired(timer), timer.due_us)
        for peers, listed in sent(effects, Listed):
            told.setdefault(peers[0], set()).update(each.sequence for each in listed.ids)
        timer = due(effects)
    return told, times


def test_each_is_told_of_what_it_wants_on_every_level_where_we_stand() -> None:
    node = participant()
    told, _ = rounds(node, hold(node, event(1, 5), event(2, 30), event(3, 60), event(4, 90)), SECOND_US)
    assert told == {1: {2, 3, 4}, 2: {2, 3, 4}, 9: {4}}  # 2 stands for its group, too


def test_it_falls_silent_by_and_by_and_then_for_good() -> None:
    node = participant()
    _, times = rounds(node, hold(node, event(1, 30)), 10 * SECOND_US)
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses == sorted(pauses)
    assert 3 < len(times) < 12
    assert times[-1] < 3 * SECOND_US


def test_news_and_wishes_make_haste() -> None:
    node = participant()
    timer = hold(node, event(1, 30))
    for _ in range(3):
        timer = due(node.step(Fired(timer), timer.due_us))  # type: ignore[assignment]
    now_us = timer.due_us - 2 * T
    assert due(node.step(Received(1, Want(Pattern(".m.oil"), (EventId(77, 0, 1),))), now_us)) == List(now_us + T)


def test_what_is_new_and_wanted_is_asked_for_and_delivered() -> None:
    node = participant(Pattern(".m", "price > 80"))
    listed = Listed(".m.oil", (EventId(77, 0, 1),), (5,))
    ((to, want),) = sent(node.step(Received(1, listed), 100), Want)
    assert (to, want.ids) == ((1,), listed.ids)
    effects = node.step(Received(1, Again(Carried(event(1, 90), 1))), 200)
    assert [each.event.id.sequence for each in effects if type(each) is Deliver] == [1]
    assert [each.kind for each in effects if type(each) is Note] == ["recover"]
    assert sent(node.step(Received(1, listed), 300), Want) == []


def test_a_delegate_asks_for_what_only_its_subsystem_wants_and_holds_it() -> None:
    node = participant()
    listed = Listed(".m.oil", (EventId(77, 0, 1),), (5,))
    assert [to for to, _ in sent(node.step(Received(9, listed), 100), Want)] == [(9,)]
    effects = node.step(Received(9, Again(Carried(event(1, 60), 1))), 200)
    assert [each.kind for each in effects if type(each) is Note] == ["relay", "recover"]
    want = Want(Pattern(".m.oil"), (EventId(77, 0, 1),))
    assert [to for to, _ in sent(node.step(Received(2, want), 300), Again)] == [(2,)]


def test_nobody_asks_for_topics_nobody_below_wants() -> None:
    node = participant()
    listed = Listed(".news", (EventId(77, 0, 1),), (5,))
    assert sent(node.step(Received(9, listed), 100), Want) == []


def test_events_are_not_counted() -> None:
    node = participant(Pattern(".m"))
    assert node.patterns(".m.oil", {}) == ()


def test_our_own_are_told_of_where_we_do_not_stand() -> None:
    """The only one who has an event may be its publisher, whose group wants nothing of the kind."""
    node = hpmcast_node(ME, 1, (0, 3), (4, 4), recovery=PARAMS)
    node.step(Started(()), 0)
    assert isinstance(node.spread, Hpmcast)
    near = [SubsystemRow((0, low), low + 1, 1, (Seat((0, low), low + 1),), (), 1) for low in range(3)]
    node.now_us = 0
    node.spread.members.comparing.expect(5)
    node.step(Received(5, LaterRows((*near, row((3,), 9, "price > 70")))), 1)
    assert not node.spread.members.tables.stands(2)
    timer = due(node.step(Publish(event(1, 90, publisher=ME)), 10))
    node.step(Received(1, Again(Carried(event(2, 90), 1))), 10)
    told, _ = rounds(node, timer, SECOND_US)
    assert told == {9: {1}}


def test_it_is_for_spreads_that_know_what_their_peers_want() -> None:
    with pytest.raises(Misuse, match="exchange"):
        dispatch_node(ME, 1, recovery=PARAMS)
    with pytest.raises(Misuse, match="exchange"):
        EpidemicSetting(recovery=PARAMS)
