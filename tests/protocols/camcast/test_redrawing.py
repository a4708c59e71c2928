"""Links are drawn, or exchanged, again, so that who came late above is led to as much as anybody."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from gossamer.core.machine import Fired, Started, Subscribe
from gossamer.core.topics import Topic
from gossamer.protocols.camcast.links import Keep, Links
from gossamer.protocols.camcast.node import MembershipName, camcast_node
from gossamer.protocols.camcast.params import Params


def asked_at(
    membership: MembershipName, sizes: dict[int, int], monkeypatch: pytest.MonkeyPatch, keeps: int
) -> list[int]:
    """At which times of looking after its links a node asks for those above anew. `sizes`: from then on, its
    community's."""
    node = camcast_node(1, 1, membership=membership, params=Params())
    node.step(Started((2,), ()), 0)
    node.step(Subscribe(".d"), 0)
    links, contacts, members = node.links, node.contacts, node.members
    assert isinstance(links, Links)
    assert contacts is not None
    assert members is not None
    links.contacts_found(".", [2, 3, 4])
    asked: list[Sequence[Topic]] = []
    now = 1
    monkeypatch.setattr(contacts, "ask", lambda wanted, joining=False: asked.append(wanted))
    monkeypatch.setattr(members, "size", lambda topic: sizes[max(at for at in sizes if at <= now)])
    times = []
    for now in range(1, keeps + 1):
        asked.clear()
        node.step(Fired(Keep(".d", links.keeps[".d"])), now * 2_000_000)
        times += [now] if (".",) in [tuple(each) for each in asked] else []
    return times


@pytest.mark.parametrize("membership", ["semi-structured", "structured"])
def test_it_is_done_ever_more_rarely_while_nothing_changes(
    membership: MembershipName, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked_at(membership, {0: 20}, monkeypatch, keeps=100) == [1, 3, 7, 15, 31, 63, 95]


def test_it_is_done_soon_when_the_community_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_at("semi-structured", {0: 20, 10: 21, 12: 30}, monkeypatch, keeps=16) == [1, 3, 7, 12, 14]


def test_a_large_community_does_it_more_rarely_so_that_those_above_bear_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asked_at("structured", {0: 1_000}, monkeypatch, keeps=700)
    assert asked[:6] == [1, 3, 7, 15, 31, 63]
    assert [later - sooner for sooner, later in pairwise(asked)][-1] == 1_000 / Params().electors


def exchanged_at(sizes: dict[int, int], monkeypatch: pytest.MonkeyPatch, keeps: int) -> list[int]:
    """At which times of looking after its links a node that asks around is about to exchange them."""
    node = camcast_node(1, 1, params=Params())
    node.step(Started((2,), ()), 0)
    node.step(Subscribe(".d"), 0)
    links, members = node.links, node.members
    assert isinstance(links, Links)
    assert members is not None
    links.contacts_found(".", [2, 3, 4])
    (table,) = links.frontiers[".d"].leads()
    now = 1
    monkeypatch.setattr(members, "size", lambda topic: sizes[max(at for at in sizes if at <= now)])
    times = []
    for now in range(1, keeps + 1):
        table.exchanges = 0
        node.step(Fired(Keep(".d", links.keeps[".d"])), now * 2_000_000)
        times += [now] if table.exchanges else []
    return times


def test_where_contacts_are_not_drawn_evenly_links_are_exchanged_when_the_community_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asked_at("unstructured", {0: 20, 10: 30}, monkeypatch, keeps=20) == []
    assert exchanged_at({0: 20, 10: 21, 12: 30, 15: 60}, monkeypatch, keeps=20) == [12, 15]
