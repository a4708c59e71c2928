"""How much of a table one owner may have."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import Peer
from gossamer.parts.owners import crowd, is_surplus, share, surplus

ATTACKER = 666


def test_a_share_is_a_quarter_or_an_even_part_where_there_are_fewer_owners_and_never_less_than_two() -> None:
    assert [share(16, owners) for owners in (1, 2, 3, 4, 9)] == [16, 8, 6, 4, 4]
    assert [share(size, 9) for size in (0, 1, 4, 8, 11, 12, 15, 16)] == [2, 2, 2, 2, 2, 3, 3, 4]


def test_a_newcomer_whose_owner_has_its_share_may_only_replace_one_of_its_own() -> None:
    owners = {1: 5, 2: 5, 3: 6, 4: 7, 9: 5, 10: 8}
    assert crowd(9, [1, 2, 3, 4], owners) == [1, 2]
    assert crowd(9, [1, 3, 4], owners) == []
    assert crowd(10, [1, 2, 3, 4], owners) == []


def test_in_a_table_of_one_owner_or_of_none_named_everybody_is_welcome() -> None:
    one = dict.fromkeys(range(100), 5)
    for size in range(99):
        assert crowd(99, range(size), one) == []
        assert crowd(99, range(size), {}) == []
        assert not is_surplus(0, range(1, size + 1), one)
        assert surplus(99, range(size), one) is None
        assert surplus(99, range(size), {}) is None


def test_who_came_first_and_has_too_much_makes_room_when_others_come() -> None:
    owners = dict.fromkeys(range(20), 5)
    assert surplus(50, range(20), owners) == 0
    assert is_surplus(3, [*range(20), 50], owners)
    assert not is_surplus(50, [*range(20), 50], owners)
    assert surplus(50, [*range(2), 60, 61, 62, 63], owners) is None


def admit(table: list[Peer], newcomer: Peer, most: int, owners: dict[Peer, int]) -> None:
    """As views do it."""
    if newcomer in table:
        return
    if same := crowd(newcomer, table, owners):
        table.remove(same[0])
    elif len(table) >= most:
        out = surplus(newcomer, table, owners)
        if out is None:
            return
        table.remove(out)
    table.append(newcomer)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 6))), st.integers(2, 30))
def test_whoever_comes_after_others_never_gets_more_than_its_share(arrivals: list[tuple[Peer, int]], most: int) -> None:
    table: list[Peer] = []
    owners: dict[Peer, int] = {}
    for peer, owner in arrivals:
        if peer in owners:
            continue
        owners[peer] = owner
        before = sum(owners[each] == owner for each in table)
        admit(table, peer, most, owners)
        after = sum(owners[each] == owner for each in table)
        distinct_owners = len({owners[each] or -each for each in table})
        grew_alone = distinct_owners == 1
        assert owner == 0 or grew_alone or after <= max(before, share(len(table), distinct_owners))
        assert len(table) == len({*table}) <= most


@given(st.integers(4, 60), st.integers(0, 3))
def test_a_thousand_names_of_one_owner_get_a_quarter_at_most(honest: int, named: int) -> None:
    """Honest peers without owners, or of a few each."""
    owners = {peer: 1 + peer // named if named else 0 for peer in range(honest)}
    table = [*range(honest)]
    for peer in range(1000, 2000):
        owners[peer] = ATTACKER
        admit(table, peer, 256, owners)
    attackers = sum(owners[peer] == ATTACKER for peer in table)
    assert {*range(honest)} <= {*table}
    owners_there = len({owners[peer] or -peer - 1 for peer in table})
    assert attackers <= max(2, len(table) // 4 if owners_there >= 4 else math.ceil(len(table) / owners_there))
