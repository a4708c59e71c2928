"""Registrations held: whatever comes in whatever order, the latest word of each member counts, and indexes agree."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.protocols.pgrid import store as stores
from gossamer.protocols.pgrid.messages import Registration
from gossamer.protocols.pgrid.places import place_of
from gossamer.protocols.pgrid.store import Store, id_of, part_of

BEGINS = {".": "0", ".a": "10", ".a.b": "110"}
NAMES = st.sampled_from([*BEGINS])
MEMBERS = st.integers(0, 5)


def word_of(name: str, member: int, stamp: int, gone: bool) -> Registration:
    return Registration(name, place_of(member, BEGINS[name]), member, stamp, gone)


SAID = st.builds(word_of, NAMES, MEMBERS, st.integers(0, 9), st.booleans())


class AnyHistory(RuleBasedStateMachine):
    """The store beside a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.held: dict[int, tuple[Registration, int]] = {}

    @rule(said=SAID, since_us=st.integers(0, 20))
    def take(self, said: Registration, since_us: int) -> None:
        number = id_of(said.name, said.member)
        news = number not in self.held or self.held[number][0].stamp < said.stamp
        before = self.store.version
        assert self.store.is_news(number, said.stamp) == news
        assert self.store.take(said, since_us) == news
        assert (self.store.version > before) == news
        if news:
            self.held[number] = said, since_us

    @rule(name=NAMES, member=MEMBERS)
    def drop(self, name: str, member: int) -> None:
        self.store.drop(id_of(name, member))
        self.held.pop(id_of(name, member), None)

    @rule(since_us=st.integers(0, 20))
    def expire(self, since_us: int) -> None:
        self.store.expire(since_us + 5, lambda said: 5)
        self.held = {number: held for number, held in self.held.items() if held[1] >= since_us}

    @rule(path=st.text("01", max_size=3))
    def load(self, path: str) -> None:
        """Asked in between, it never answers with what was so before."""
        said = [said for said, _ in self.held.values() if not said.gone and said.place.startswith(path)]
        assert self.store.load(path) == len(said)

    @invariant()
    def all_agree(self) -> None:
        store, held = self.store, self.held
        assert {number: (each.said, each.since_us) for number, each in store.held.items()} == held
        assert len(store) == len(held)
        assert store.of == Counter(said.member for said, _ in held.values())
        assert {name: {*numbers} for name, numbers in store.by_name.items()} == {
            name: {number for number, (said, _) in held.items() if said.name == name}
            for name in {said.name for said, _ in held.values()}
        }
        here = [said for said, _ in held.values() if not said.gone]
        assert sorted(store.places()) == sorted(said.place for said in here)
        assert {*store.members("")} == {*here}
        for name in BEGINS:
            assert {*store.members(name)} == {said for said in here if said.name == name}


TestAnyHistory = AnyHistory.TestCase


@given(st.lists(SAID, max_size=20), st.randoms(use_true_random=False))
def test_in_whatever_order_words_come_the_latest_of_each_member_stays(said: list[Registration], order: Random) -> None:
    said = [*{(each.name, each.member, each.stamp): each for each in said}.values()]
    shuffled = [*said]
    order.shuffle(shuffled)
    one, other = Store(), Store()
    for each in said:
        one.take(each, 0)
    for each in shuffled:
        other.take(each, 0)
    assert one.held.keys() == other.held.keys()
    assert all(held.said == other.held[number].said for number, held in one.held.items())
    assert one.sums(one.held, 1) == other.sums(other.held, 1)
    latest = {(each.name, each.member): each for each in sorted(said, key=lambda each: each.stamp)}
    assert {held.said for held in one.held.values()} == {*latest.values()}


@given(st.lists(SAID, max_size=20), st.sampled_from([1, 2, 8, 64]), st.data())
def test_sums_of_two_stores_differ_where_one_lacks_something(
    said: list[Registration], parts: int, data: st.DataObject
) -> None:
    one, other = Store(), Store()
    for each in said:
        one.take(each, 0)
        other.take(each, 5)
    assert one.sums(one.held, parts) == other.sums(other.held, parts)
    if not one.held:
        return
    lacking = data.draw(st.sampled_from(sorted(one.held)))
    stamp = one.held[lacking].said.stamp
    other.drop(lacking)
    differ = [
        part
        for part, (mine, its) in enumerate(zip(one.sums(one.held, parts), other.sums(other.held, parts), strict=True))
        if mine != its
    ]
    assert differ == [part_of(lacking, parts)]
    marks = [*one.marks(one.held, parts, differ)]
    assert (lacking, stamp) in marks
    assert all(part_of(number, parts) in differ for number, _ in marks)


@given(st.integers(0, 2**63 - 1), st.sampled_from([1, 2, 4, 1024]))
def test_every_registration_has_its_part(number: int, parts: int) -> None:
    assert 0 <= part_of(number, parts) < parts


def said_by(member: int, topics: int) -> list[Registration]:
    return [Registration(f".t{number}", "1", member, 1) for number in range(topics)]


def test_a_full_store_takes_no_more_and_one_member_cannot_fill_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "STORED_MAX", 10)
    monkeypatch.setattr(stores, "OF_ONE_MAX", 6)
    store = Store()
    assert [store.take(said, 0) for said in said_by(1, 8)] == [True] * 6 + [False] * 2
    assert [store.take(said, 0) for said in said_by(2, 6)] == [True] * 4 + [False] * 2
    assert len(store) == 10
    assert store.take(Registration(".t0", "1", 1, 2), 0), "what is here can be renewed all the same"
    assert store.take(Registration(".t0", "1", 1, 3, gone=True), 0), "and ended"
    store.expire(1, lambda said: 1)
    assert len(store) == 10
    store.expire(2, lambda said: 1)
    assert (store.held, store.by_name, store.of) == ({}, {}, {})
