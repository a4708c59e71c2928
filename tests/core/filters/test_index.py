"""The index answers as asking every filter would, whatever was added and removed before."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.filters.worlds import WORLD, Tree, drawn_tree, text, trees
from counting import lines_run
from gossamer.core.errors import Misuse
from gossamer.core.filters import Filter, Index, parse

SAMPLE = random.Random(3).sample(WORLD, 60)


def naive(filters: dict[int, Filter], attributes: dict[str, Any]) -> list[int]:
    return [key for key, each in filters.items() if each.matches(attributes)]


def indexed(filters: dict[int, Filter]) -> Index[int]:
    index: Index[int] = Index()
    for key, each in filters.items():
        index.add(key, each)
    return index


@given(st.lists(trees, max_size=20))
def test_the_index_answers_as_asking_each_filter_would(given: list[Tree]) -> None:
    filters = {key: parse(text(tree)) for key, tree in enumerate(given)}
    index = indexed(filters)
    assert all(index.matches(event) == naive(filters, event) for event in SAMPLE)
    assert all(index.matches_any(event) == bool(naive(filters, event)) for event in SAMPLE)
    assert [*index] == [*filters]


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_filters_come_and_go_and_come_again(seed: int) -> None:
    draws = random.Random(seed)
    filters: dict[int, Filter] = {}
    index: Index[int] = Index()
    for _ in range(60):
        key = draws.randrange(15)
        if key in filters and draws.random() < 0.6:
            index.remove(key)
            del filters[key]
        else:
            made = parse(text(drawn_tree(draws, 2)))
            filters.pop(key, None)
            index.add(key, made)
            filters[key] = made
    assert len(index) == len(filters)
    assert all((key in index) == (key in filters) for key in range(15))
    assert all(index.matches(event) == naive(filters, event) for event in SAMPLE)


def ranges(draws: random.Random, count: int) -> dict[int, Filter]:
    """Ranges of every length, some open, among few symbols so that buckets fill up; some ask for more."""
    made = {}
    for key in range(count):
        low = draws.choice([-1, 1]) * 2.0 ** draws.uniform(-30, 70)
        length = draws.choice([0.0, 2.0 ** draws.uniform(-30, 70), 1e300])
        one, other = draws.choice(["<", "<="]), draws.choice(["<", "<="])
        price = draws.choice([f"{low!r} {one} price {other} {low + length!r}", f"price > {low!r}", f"price <= {low!r}"])
        more = draws.choice(["", "", " and volume > 3", " and price != 5 and not halted"])
        symbol = draws.choice(["", f'symbol == "S{draws.randrange(3)}" and ', 'symbol in ("S0", "S1") and '])
        made[key] = parse(f"{symbol}{price}{more}")
    return made


def test_ranges_of_every_length_are_found() -> None:
    draws = random.Random(5)
    filters = ranges(draws, 600)
    index = indexed(filters)
    ends = [cut[0] for each in filters.values() for term in each.terms for cut in term["price"].numbers.cuts]
    prices = [*draws.sample(ends, 150), 0, -1, 5, 10**400, -(10**400), float("inf"), float("-inf"), float("nan"), True]
    events = [{"price": price, "symbol": f"S{at % 4}", "volume": at % 7} for at, price in enumerate(prices)]
    assert all(index.matches(event) == naive(filters, event) for event in events)
    for key in list(filters)[::2]:
        index.remove(key)
        del filters[key]
    assert all(index.matches(event) == naive(filters, event) for event in events)
    for key in list(filters):
        index.remove(key)
    assert not any(index.matches(event) for event in events)
    assert not index._equal


def test_true_and_one_are_not_the_same_value() -> None:
    index = indexed({1: parse("x == true"), 2: parse("x == 1"), 3: parse("x == 1.0"), 4: parse("x in (1, true)")})
    assert index.matches({"x": True}) == [1, 4]
    assert index.matches({"x": 1.0}) == [2, 3, 4]
    assert index.matches({"x": [1]}) == []  # type: ignore[dict-item]


def test_a_filter_of_many_terms_is_named_once() -> None:
    index = indexed({7: parse("a == 1 or b == 1 or c > 1 or has d or true == e")})
    assert index.matches({"a": 1, "b": 1, "c": 2, "d": "", "e": True}) == [7]


def test_an_entangled_filter_is_asked_itself() -> None:
    entangled = parse(" and ".join(f"(a{number} == 1 or b{number} == 1)" for number in range(20)))
    index = indexed({1: entangled, 2: parse("true"), 3: parse("false")})
    assert index.matches({f"a{number}": 1 for number in range(20)}) == [1, 2]
    assert index.matches({f"a{number}": 1 for number in range(19)}) == [2]
    index.remove(1)
    assert index.matches({f"a{number}": 1 for number in range(20)}) == [2]


def test_terms_are_kept_under_the_value_that_fewest_ask_for() -> None:
    """All ask for the same exchange: only those of the one symbol are looked at."""
    index = indexed({key: parse(f'exchange == "N" and symbol == "S{key}" and price > 1') for key in range(500)})
    assert max(len(bucket) for buckets in index._equal.values() for bucket in buckets.values()) <= 1
    assert index.matches({"exchange": "N", "symbol": "S77", "price": 2}) == [77]


def test_what_was_not_added_cannot_be_removed() -> None:
    with pytest.raises(Misuse, match="no filter 5"):
        Index[int]().remove(5)


MORE = ["", "", " and x > 2", ' and s contains "ba"', " or s is number"]
LETTERS = st.text("abA_%", max_size=4)
TEXT_FILTERS = st.lists(
    st.tuples(
        st.sampled_from(["startswith", "endswith", "contains", "==", ">=", "like", "ilike"]),
        LETTERS,
        st.sampled_from(MORE),
    ),
    max_size=30,
)


@given(TEXT_FILTERS, st.lists(st.text("abA", max_size=7), min_size=1), st.data())
def test_texts_are_found_by_their_starts_ends_and_parts(
    asked: list[tuple[str, str, str]], texts: list[str], data: st.DataObject
) -> None:
    filters = {key: parse(f's {how} "{sought}"{more}') for key, (how, sought, more) in enumerate(asked)}
    index = indexed(filters)
    for gone in data.draw(st.sets(st.sampled_from(range(len(asked) or 1)))) if asked else ():
        index.remove(gone)
        del filters[gone]
    events: list[dict[str, Any]] = [{"s": each, "x": len(each)} for each in texts] + [{"s": 5}, {"x": 1}, {}]
    for event in events:
        assert index.matches(event) == naive(filters, event)
        assert index.matches_any(event) == bool(naive(filters, event))


@pytest.mark.parametrize(
    ("made", "event"),
    [
        ("a != {}", {"b": 1}),
        ('s startswith "<{}>"', {"s": "<x>" * 20}),
        ('s endswith "<{}>" and a > 1', {"s": "<x>" * 20, "a": 5}),
        ('s contains "<{}>"', {"s": "<x>" * 20}),
        ('s like "%<{}>_%"', {"s": "<x>" * 20}),
        ('s ilike "A{}"', {"s": "a5000"}),
        ('s ilike "%_A{}%"', {"s": "a5000" * 4}),
        ("{0}.1 < a < {0}.9", {"a": 500}),
        ("a == {}", {"a": -1}),
    ],
)
def test_what_an_event_cannot_match_is_hardly_looked_at(made: str, event: dict[str, Any]) -> None:
    def steps(count: int) -> int:
        index = indexed({key: parse(made.format(1_000 + key)) for key in range(count)})
        return lines_run(lambda: index.matches(event))

    assert steps(1_000) <= 2 * steps(100)
