"""What subscribing costs is measured on every spread, and index and loop want the same events."""

from benchmarks import subscribing


def test_every_spread_is_timed_with_topics_and_filters_and_index_and_loop_agree() -> None:
    told = subscribing.of_sizes(most=20, turns=1, filters=[50])
    assert {(each.spread, each.kind) for each in told.subscribed} == {
        (spread, kind) for spread in subscribing.SPREADS for kind in ("topics", "filters", "nested")
    }
    assert all(each.some_s.low > 0 and each.many_s.low > 0 for each in told.subscribed)
    assert [each.filters for each in told.asked] == [50]
    assert told.asked[0].times.low > 0
    few, many, leaving, asked = (bar.met for bar in subscribing.bars(told))
    assert (few, many, asked) == (True, True, None)
    assert leaving is not None  # of so few an idle second costs more
    assert [each.what for each in told.unmatched] == [*subscribing.IN_VAIN]
    assert len(subscribing.tables(told)) == 3
