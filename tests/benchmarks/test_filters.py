"""The workload of filters is what it says it is, and both ways to ask name the same filters."""

from collections import Counter

import pytest

from benchmarks import filters, filters_workload


def test_symbols_follow_zipf_and_a_tenth_of_the_filters_says_or() -> None:
    texts = [filters_workload.text(1, number) for number in range(5_000)]
    assert 0.08 < sum(" or " in text for text in texts) / len(texts) < 0.12
    symbols = Counter(event["symbol"] for event in filters_workload.events(1, 20_000))
    first, tenth = symbols["S0000"], symbols["S0009"]
    assert 0.09 < first / 20_000 < 0.115  # 1 / (1 + 1/2 + … + 1/10^4) is 0.102
    assert 7 < first / tenth < 14
    assert texts == [filters_workload.text(1, number) for number in range(5_000)]


def test_index_and_loop_agree_and_both_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "CHECKS", 20_000)
    told = filters.of_sizes([50, 300], turns=2)
    assert [each.filters for each in told.matching] == [50, 300]
    assert all(each.times.low > 0 < each.matches for each in told.matching)
    wrong = [each.wrong.median for each in told.condensing]
    assert wrong == sorted(wrong, reverse=True)
    assert wrong[-1] < 0.1 < wrong[0]
    assert 7_000 < told.reading.characters <= 8_192
    assert told.reading.times.low > 0
