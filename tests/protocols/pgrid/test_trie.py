"""Whom a peer knows, whatever it hears: nobody twice, never itself, nobody where it is of no use, never too many."""

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.protocols.pgrid.messages import LeafSeat
from gossamer.protocols.pgrid.places import across, common
from gossamer.protocols.pgrid.trie import FURTHER, HERE, REPLICAS_MAX, KnownPeer, Trie

ME = 5
PEERS = st.integers(0, 60)
PATHS = st.text("01", max_size=5)
PLACES = st.text("01", max_size=8)
WORDS = st.integers(0, 2**64 - 1)


class AnyHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.trie = Trie(ME, 2)
        self.now_us = 0

    @rule(peer=PEERS, path=PATHS, below=st.none() | st.integers(0, 9), word=WORDS)
    def heard(self, peer: int, path: str, below: int | None, word: int) -> None:
        self.now_us += 1
        level = self.trie.level(path)
        others = {*dict(self.trie.tables()).get(level, {})} - {peer}
        self.trie.heard(peer, path, below, self.now_us, word)
        holds_nothing = self.trie.is_behind(path) and not below  # a newcomer
        if holds_nothing:
            assert self.trie.get(peer) is None
        elif peer != ME and len(others) < self.trie.room(level):
            assert self.trie.get(peer) == KnownPeer(path, below, self.now_us)

    @rule(peer=PEERS, path=PATHS)
    def named(self, peer: int, path: str) -> None:
        known = peer in self.trie.level_of
        news = self.trie.named(LeafSeat(peer, path))
        assert not (news and (known or peer == ME))
        if news:
            assert self.trie.get(peer) == KnownPeer(path)

    @rule(peer=PEERS)
    def forget(self, peer: int) -> None:
        known = peer in self.trie.level_of
        assert self.trie.forget(peer) == known
        assert self.trie.get(peer) is None

    @rule(path=PATHS)
    def move(self, path: str) -> None:
        before = {*self.trie.level_of}
        self.trie.move(path)
        assert self.trie.path == path
        assert {*self.trie.level_of} <= before

    @rule(place=PLACES, avoid=st.sets(PEERS, max_size=20))
    def towards(self, place: str, avoid: Collection[int]) -> None:
        seats = self.trie.towards(place, avoid)
        if seats is not None:
            assert seats
            named = [seat.peer for seat in seats]
            assert not {ME, *avoid} & {*named}
            assert len({*named}) == len(named)
            assert all(self.trie.get(seat.peer).path == seat.path for seat in seats)  # type: ignore[union-attr]

    @rule(path=PATHS, besides=PEERS, most=st.integers(0, 8), word=WORDS)
    def useful_to(self, path: str, besides: int, most: int, word: int) -> None:
        named = [seat.peer for seat in self.trie.useful_to(path, besides, most, word)]
        assert len(named) == len({*named}) <= most
        assert not {ME, besides} & {*named}

    @invariant()
    def everybody_stands_where_it_is_of_use(self) -> None:
        trie = self.trie
        seen: set[int] = set()
        for level, table in trie.tables():
            assert len(table) <= (2 if level >= 0 else REPLICAS_MAX)
            assert table or level < 0, "a level nobody is known of is none"
            for peer, known in table.items():
                assert peer != ME
                assert peer not in seen
                assert trie.level(known.path) == level == trie.level_of[peer]
                seen.add(peer)
        assert seen == {*trie.level_of}
        assert trie.replicas == 1 + sum(known.heard_us is not None for known in trie.fellows.values())

    @invariant()
    def the_shape_tells_who_holds_what(self) -> None:
        """What is remembered of answers is good for as long as the shape is the same."""
        twin = Trie(ME, 2)
        twin.path = self.trie.path
        twin.levels = {level: {7: KnownPeer(across(twin.path, level))} for level in self.trie.levels}
        twin.further = {peer: KnownPeer(twin.path + "0", None, 1) for peer in (8, 9)} if self.trie.is_left else {}
        assert twin.shape() == self.trie.shape()
        for place in ("0000", "0101", "1010", "1111", "0", "1"):
            assert twin.holds(place) == self.trie.holds(place)


TestAnyHistory = AnyHistory.TestCase


@given(PATHS, PATHS)
def test_a_level_is_where_paths_part(mine: str, its: str) -> None:
    trie = Trie(ME, 2)
    trie.move(mine)
    level = trie.level(its)
    if level == HERE:
        assert its == mine
    elif level == FURTHER:
        assert its.startswith(mine)
        assert its != mine
    else:
        assert level == common(mine, its) < len(mine)


LEAVES = st.sets(st.text("01", min_size=6, max_size=6), min_size=1, max_size=12)


def made(whole: Collection[str]) -> list[Trie]:
    """A trie as it should be: a peer for every leaf, which knows one on every level there is one."""
    tries = []
    for me, path in enumerate(whole):
        trie = Trie(me, 2)
        trie.move(path)
        for peer, its in enumerate(whole):
            trie.named(LeafSeat(peer, its))
        tries.append(trie)
    return tries


@given(LEAVES, st.text("01", min_size=12, max_size=12))
def test_every_place_is_held_by_exactly_one_leaf_however_uneven_they_are(leaves: set[str], place: str) -> None:
    tries = made(sorted(leaves))
    holders = [trie for trie in tries if trie.holds(place)]
    assert len(holders) == 1
    if any(place.startswith(leaf) for leaf in leaves):
        assert place.startswith(holders[0].path)


@given(LEAVES, st.text("01", min_size=1, max_size=12), st.data())
def test_every_step_towards_a_place_comes_nearer_and_the_last_holds_it(
    leaves: set[str], place: str, data: st.DataObject
) -> None:
    tries = made(sorted(leaves))
    at = data.draw(st.sampled_from(tries))
    for _ in range(1 + 6):
        nearer = at.towards(place)
        if nearer is None:
            break
        at = tries[data.draw(st.sampled_from(nearer)).peer]
    assert at.towards(place) is None
