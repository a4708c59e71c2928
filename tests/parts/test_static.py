"""Static views: everybody, or a frozen few, worked out by arithmetic instead of stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.draws import VIEW, distinct, fold
from gossamer.core.roles import Members
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.static import Static

COMMUNITIES = {".": range(4), ".a": range(4, 24), ".a.b": range(24, 25), ".empty": range(25, 25)}


def static(me: int, view: int | None = None, seed: int = 3) -> Static:
    return Static(Stack(me, seed, Hierarchy(), Seen()), COMMUNITIES, view)


def test_static_views_answer_what_any_membership_answers() -> None:
    peers: Members = static(5)
    assert peers.ready(".a")
    assert peers.size(".a") == 20


def test_a_member_knows_everybody_else_in_order() -> None:
    assert static(4).about(".a") == list(range(5, 24))
    assert static(10).about(".a") == [*range(4, 10), *range(11, 24)]
    assert static(23).about(".a") == list(range(4, 23))


def test_a_stranger_knows_every_member() -> None:
    assert static(4).about(".") == [0, 1, 2, 3]
    assert static(99).about(".a") == list(range(4, 24))


def test_one_alone_an_empty_community_and_an_unknown_one_have_nobody_to_tell() -> None:
    assert static(24).about(".a.b") == []
    assert static(24).sample(".a.b", 3, key=1) == []
    assert static(4).about(".empty") == static(4).about(".nowhere") == []
    assert static(4).sample(".nowhere", 3, key=1) == []
    assert (static(4).size(".empty"), static(4).size(".nowhere"), static(24).size(".a.b")) == (0, 0, 1)


@given(st.integers(0, 30), st.sampled_from(list(COMMUNITIES)), st.integers(0, 25), st.integers(0, 2**64 - 1))
def test_a_sample_is_of_different_members_and_never_of_oneself(me: int, topic: str, k: int, key: int) -> None:
    members = COMMUNITIES[topic]
    others = len(members) - (me in members)
    sample = static(me).sample(topic, k, key)
    assert len(set(sample)) == len(sample) == min(k, others)
    assert me not in sample
    assert all(peer in members for peer in sample)
    assert sample == static(me).sample(topic, k, key)


def test_a_sample_is_the_arithmetic_a_kernel_does() -> None:
    """Position i is the i-th other member: i, and one more from oneself on."""
    for me in COMMUNITIES[".a"]:
        expected = [4 + i + (i >= me - 4) for i in distinct(77, 19, 6)]
        assert static(me).sample(".a", 6, key=77) == expected


@pytest.mark.parametrize("view", [1, 5, 18])
def test_a_frozen_view_never_changes_and_samples_come_from_it(view: int) -> None:
    for me in (4, 11, 23):
        known = static(me, view).about(".a")
        assert len(set(known)) == len(known) == view
        assert me not in known
        assert known == static(me, view).about(".a")
        for key in range(20):
            sample = static(me, view).sample(".a", 3, key)
            assert len(set(sample)) == min(3, view)
            assert set(sample) <= set(known)


def test_a_frozen_view_is_drawn_by_seed_and_who() -> None:
    view_key = fold(fold(fold(3, VIEW), 0), 4)
    assert static(4, view=5).about(".a") == [5 + i for i in distinct(view_key, 19, 5)]
    assert static(4, view=5).about(".a") != static(4, view=5, seed=4).about(".a")


def test_a_view_as_large_as_the_community_is_everybody() -> None:
    assert static(4, view=19).about(".a") == static(4, view=500).about(".a") == static(4).about(".a")


def test_the_community_size_is_known_even_where_the_view_is_small() -> None:
    assert static(4, view=2).size(".a") == 20
