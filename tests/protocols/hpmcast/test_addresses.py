"""Addresses of any radix per level, and who stands for whom."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.errors import Misuse
from gossamer.protocols.hpmcast.addresses import (
    Address,
    address_of,
    branch,
    delegates,
    distance,
    number_of,
    of_endpoint,
    read,
    view,
    written,
)
from gossamer.protocols.hpmcast.experiment.setting import HierarchySetting
from gossamer.protocols.hpmcast.kernel import arrays
from gossamer.protocols.hpmcast.params import Params

BRANCHINGS = st.lists(st.integers(1, 300), min_size=1, max_size=6)


@st.composite
def populations(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Address]]:
    """Some of the addresses of some hierarchy."""
    branching = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    numbers = draw(st.sets(st.integers(0, math.prod(branching) - 1), min_size=1, max_size=60))
    return branching, [address_of(number, branching) for number in sorted(numbers)]


@given(BRANCHINGS, st.data())
def test_an_address_is_a_number_and_back(branching: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, math.prod(branching) - 1))
    address = address_of(number, branching)
    assert all(0 <= digit < radix for digit, radix in zip(address, branching, strict=True))
    assert number_of(address, branching) == number
    assert read(written(address), branching) == address


@given(BRANCHINGS, st.data())
def test_smaller_addresses_are_smaller_numbers(branching: list[int], data: st.DataObject) -> None:
    numbers = st.integers(0, math.prod(branching) - 1)
    one, other = data.draw(numbers), data.draw(numbers)
    assert (address_of(one, branching) < address_of(other, branching)) == (one < other)


def test_a_branch_address_is_what_is_left_above_a_level() -> None:
    address = (128, 178, 73, 3)
    assert [branch(address, level) for level in range(5)] == [address, (128, 178, 73), (128, 178), (128,), ()]


@given(populations(), st.data())
def test_distance_is_the_level_of_the_smallest_subsystem_two_share(
    population: tuple[tuple[int, ...], list[Address]], data: st.DataObject
) -> None:
    branching, members = population
    one, other, third = (data.draw(st.sampled_from(members)) for _ in range(3))
    apart = distance(one, other)
    assert branch(one, apart) == branch(other, apart)
    assert apart == 0 or branch(one, apart - 1) != branch(other, apart - 1)
    assert apart == distance(other, one)
    assert (apart == 0) == (one == other)
    assert distance(one, third) <= max(apart, distance(other, third))
    assert apart <= len(branching)


@given(populations(), st.integers(1, 4))
def test_a_delegate_stands_for_its_subsystem_on_every_level_below(
    population: tuple[tuple[int, ...], list[Address]], redundancy: int
) -> None:
    branching, members = population
    for member in members:
        standing = []
        for level in range(1, len(branching) + 1):
            lines = view(members, branch(member, level), level, redundancy)
            standing.append(any(member in peers for _, peers in lines))
        assert standing[0]
        assert standing == sorted(standing, reverse=True)


@given(populations(), st.integers(1, 4))
def test_delegates_chosen_level_by_level_are_the_smallest_of_the_whole_subsystem(
    population: tuple[tuple[int, ...], list[Address]], redundancy: int
) -> None:
    branching, members = population
    for level in range(1, len(branching) + 1):
        of = branch(members[-1], level)
        inside = [each for each in members if branch(each, level) == of]
        below = [each for _, peers in view(members, of, level, redundancy) for each in peers]
        assert delegates(below, redundancy) == delegates(inside, redundancy) == inside[:redundancy]


@given(populations(), st.integers(1, 4))
def test_a_small_subsystem_is_represented_by_all_it_has(
    population: tuple[tuple[int, ...], list[Address]], redundancy: int
) -> None:
    branching, members = population
    for level in range(1, len(branching) + 1):
        for below, peers in view(members, branch(members[0], level), level, redundancy):
            inside = [each for each in members if each[: len(below)] == below]
            assert peers == inside[:redundancy]


@given(populations(), st.integers(1, 4))
def test_arrays_hold_the_views_that_addresses_say(
    population: tuple[tuple[int, ...], list[Address]], redundancy: int
) -> None:
    branching, members = population
    setting = HierarchySetting(
        branching=branching, addresses=tuple(members), params=Params(delegates=redundancy), interest=0.3
    )
    ground = arrays.prepare(setting, 1).ground
    for level, start, first, size in zip(ground.level, ground.start, ground.first, ground.size, strict=True):
        seats = range(first, first + size) if level == 1 else ground.delegates[first : first + size]
        lines = view(members, branch(members[start], int(level)), int(level), redundancy)
        assert [members[peer] for peer in seats] == [peer for _, peers in lines for peer in peers]
    assert ground.top.tolist() == [
        max(
            level
            for level in range(1, len(branching) + 1)
            if any(each in peers for _, peers in view(members, branch(each, level), level, redundancy))
        )
        for each in members
    ]


IP = (256,) * 4
SIXTEEN = (16,) * 11


def test_hosts_and_ports_are_addresses() -> None:
    assert of_endpoint("128.178.73.3:4000", IP) == (128, 178, 73, 3)
    assert of_endpoint("128.178.73.3:4000", SIXTEEN) == (8, 0, 11, 2, 4, 9, 0, 3, 15, 10, 0)
    assert of_endpoint("10.0.0.1:47100", (*IP, 100), first_port=47_100) == (10, 0, 0, 1, 0)
    assert distance(of_endpoint("10.0.0.1:1", SIXTEEN), of_endpoint("10.0.0.1:2", SIXTEEN)) == 1


@pytest.mark.parametrize(
    ("endpoint", "branching", "says"),
    [
        ("10.0.0.1:4096", SIXTEEN, "has no digits"),
        ("10.0.0.1:80", (10, 10), "2\\^32"),
        ("somewhere:80", IP, "only from IPv4 and a port"),
        ("10.0.0.1", IP, "only from IPv4 and a port"),
        ("10.0.0.1:x", IP, "only from IPv4 and a port"),
    ],
)
def test_an_endpoint_without_an_address_is_refused(endpoint: str, branching: tuple[int, ...], says: str) -> None:
    with pytest.raises(Misuse, match=says):
        of_endpoint(endpoint, branching)


@pytest.mark.parametrize(
    "text", ["1.2", "1.2.3.4", "1.2.9", "1..2", "1.-1.2", "", "a.b.c", "1.2.³", f"1.2.{'1' * 5000}"]
)
def test_what_is_no_address_is_answered_with_the_form_of_one(text: str) -> None:
    with pytest.raises(Misuse, match=r"write digits like 0–1\.0–3\.0–8"):
        read(text, (2, 4, 9))


def test_there_is_no_address_beyond_the_last() -> None:
    with pytest.raises(Misuse, match="this hierarchy has 6"):
        address_of(6, (2, 3))
