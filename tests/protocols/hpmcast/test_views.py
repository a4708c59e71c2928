"""Views that are gossiped become what everybody's addresses say they should be."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.core.draws import PLACE, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.patterns import Pattern
from gossamer.protocols.hpmcast.addresses import number_of, read, written
from gossamer.protocols.hpmcast.params import Params
from gossamer.protocols.hpmcast.upkeep import Upkeep
from protocols.hpmcast.towns import HierarchyTown

IP = (256, 256, 256, 256)

FIGURE_5 = {
    **{f"128.178.73.{low}": types for low, types in [(3, "AC"), (17, "A"), (19, "CF"), (115, "F"), (116, "ABF")]},
    **{f"128.178.73.{low}": types for low, types in [(119, "BC"), (124, "AB"), (223, "B")]},
    "128.178.41.21": "A",
    "128.178.41.23": "C",
    "128.178.41.24": "A",
    "128.178.88.10": "B",
    "128.178.88.13": "F",
    "128.178.88.78": "BF",
    "128.178.98.15": "A",
    "128.178.98.17": "B",
    "128.178.98.128": "C",
    "128.178.110.1": "C",
    "128.178.110.6": "C",
    "128.178.110.7": "C",
    "128.3.2.230": "A",
    "128.3.18.2": "B",
    "128.3.188.203": "C",
    "128.18.120.2": "B",
    "128.18.122.34": "C",
    "128.18.180.37": "D",
    "128.56.12.234": "C",
    "128.56.18.220": "F",
    "128.56.173.3": "C",
    "3.2.230.23": "AC",
    "3.18.2.78": "D",
    "3.188.203.99": "E",
    "18.12.2.183": "BC",
    "18.12.34.24": "E",
    "18.180.37.217": "F",
}
"Participants that have the views of Fig. 5, and what types each wants."

VIEWS = {
    4: [
        ("3", "ACDE", "2.230.23, 18.2.78, 188.203.99"),
        ("18", "BCEF", "12.2.183, 12.34.24, 180.37.217"),
        ("128", "ABCDF", "3.2.230, 18.120.2, 56.12.234"),
    ],
    3: [
        ("3", "ABC", "2.230, 18.2, 188.203"),
        ("18", "BCD", "120.2, 122.34, 180.37"),
        ("56", "CF", "12.234, 18.220, 173.3"),
        ("178", "ABCF", "41.21, 73.3, 88.10"),
    ],
    2: [
        ("41", "AC", "21, 23, 24"),
        ("73", "ABCF", "3, 17, 19"),
        ("88", "BF", "10, 13, 78"),
        ("98", "ABC", "15, 17, 128"),
        ("110", "C", "1, 6, 7"),
    ],
    1: [
        ("3", "AC", ""),
        ("17", "A", ""),
        ("19", "CF", ""),
        ("115", "F", ""),
        ("116", "ABF", ""),
        ("119", "BC", ""),
        ("124", "AB", ""),
        ("223", "B", ""),
    ],
}
"The figure, as it is printed."


def test_the_views_of_figure_5_come_about_by_gossip() -> None:
    wants = {number_of(read(text, IP), IP): [Pattern(f".{each}") for each in types] for text, types in FIGURE_5.items()}
    by_branches = Upkeep(choice="branches")
    town = HierarchyTown([*wants], wants.__getitem__, IP, params=Params(delegates=3), upkeep=by_branches)
    town.run(20)
    for text in FIGURE_5:
        if text.startswith("128.178.73."):
            assert printed(town, number_of(read(text, IP), IP)) == VIEWS


def printed(town: HierarchyTown, peer: Peer) -> dict[int, list[tuple[str, str, str]]]:
    """A participant's views in the form of the figure."""
    tables = town.hpmcast(peer).members.tables
    return {
        level: [
            (
                str(line.row.about[-1]),
                "".join(pattern.topic[1:] for pattern in line.row.interest),
                ", ".join(written(seat.address[len(line.row.about) :]) for seat in line.row.delegates),
            )
            for line in tables.lines(level)
        ]
        for level in range(tables.levels, 0, -1)
    }


def counts_astray(town: HierarchyTown) -> list[Peer]:
    return [peer for peer in town.world.up if town.hpmcast(peer).size(".") != len(town.world.up)]


def everything(peer: Peer) -> Sequence[Pattern]:
    return [Pattern(f".t{peer % 3}")]


def settled(town: HierarchyTown, at_most: float) -> None:
    """Views are right, everybody is counted, and it stays so."""
    town.seconds_to_rest(at_most)
    while counts_astray(town):
        town.run(0.5)
        assert town.world.now_us < 60_000_000, counts_astray(town)
    town.run(3)
    assert town.astray() == []
    assert counts_astray(town) == []
    assert town.chronicle.rejects == []


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    branching=st.sampled_from([(40,), (6, 7), (4, 3, 5), (3, 2, 2, 3)]),
    seed=st.integers(0, 1000),
    size=st.integers(1, 24),
    delegates=st.integers(1, 4),
)
def test_irregular_populations_settle_on_what_their_addresses_say(
    branching: tuple[int, ...], seed: int, size: int, delegates: int
) -> None:
    places = 1
    for radix in branching:
        places *= radix
    peers = distinct(fold(seed, PLACE), places, size)
    town = HierarchyTown(peers, everything, branching, seed, params=Params(delegates=delegates))
    settled(town, 30)


def test_a_subsystem_smaller_than_r_is_stood_for_by_all_it_has() -> None:
    town = HierarchyTown([0, 1, 2, 3, 4, 5, 40, 80, 81], everything, (5, 4, 5))
    settled(town, 20)
    assert town.views(0)[2] == [((0,), [0, 1, 2]), ((2,), [40]), ((4,), [80, 81])]


def test_the_first_waits_for_nobody_and_one_whose_contacts_are_dead_not_for_long() -> None:
    town = HierarchyTown([0], everything)
    assert town.hpmcast(0).ready(".")
    town.come(99, contacts=[55])
    assert not town.hpmcast(99).ready(".")
    town.run(4)
    assert town.hpmcast(99).ready(".")


@pytest.mark.parametrize("contact", [0, 24, 26, 99])
def test_one_finds_its_place_through_whomever_it_knows(contact: Peer) -> None:
    town = HierarchyTown([0, 1, 2, 24, 26, 27, 99], everything)
    settled(town, 20)
    town.come(25, contacts=[contact])
    settled(town, 10)


def test_two_that_come_first_to_a_group_at_once_through_others_find_each_other() -> None:
    town = HierarchyTown([0, 99], everything)
    settled(town, 10)
    town.come(50, contacts=[0])
    town.come(51, contacts=[99])
    town.come(56, contacts=[99])
    settled(town, 20)


def test_two_networks_become_one_when_somebody_hears_of_the_other() -> None:
    town = HierarchyTown([], everything)
    for peer in range(0, 40, 3):
        town.come(peer, contacts=[] if peer == 0 else [0])
    for peer in range(1, 40, 3):
        town.come(peer, contacts=[] if peer == 1 else [1])
    town.run(10)
    assert town.astray()
    town.come(2, contacts=[0, 1])
    settled(town, 40)
