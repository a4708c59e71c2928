"""Needs: looked up by word, the answer is what comparing one by one would give."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.needs import Needs
from gossamer.parts.wants import Wants

CHAINS = st.lists(st.lists(st.integers(0, 6), max_size=4).map(tuple), max_size=12)


@given(CHAINS, CHAINS)
def test_covered_are_those_that_the_wants_cover(needed: list[tuple[int, ...]], wanted: list[tuple[int, ...]]) -> None:
    needs, wants = Needs(needed), Wants(wanted)
    assert [*needs.covered(wants)] == [at for at, chain in enumerate(needed) if wants.covers(chain)]
    assert len(needs) == len(needed)
