from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.bucket import Bucket, Buckets, first_hand


def test_a_burst_passes_then_what_the_rate_allows() -> None:
    buckets = Buckets(per_s=2, burst=5)
    assert [buckets.take(1, 0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [buckets.take(1, 1_000_000) for _ in range(3)] == [True, True, False]
    assert [buckets.take(1, 100_000_000) for _ in range(6)] == [True] * 5 + [False]


def test_one_peers_requests_are_not_held_against_another() -> None:
    buckets = Buckets(per_s=1, burst=1)
    assert buckets.take(1, 0)
    assert not buckets.take(1, 0)
    assert buckets.take(2, 0)


def test_refusals_cost_nothing_further() -> None:
    """Whoever keeps asking is heard as often as the rate says, not less."""
    buckets = Buckets(per_s=1, burst=1)
    heard = [buckets.take(1, millisecond * 1000) for millisecond in range(10_000)]
    assert 9 <= sum(heard) <= 11


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-(10**9), 10**12)), max_size=200))
def test_buckets_are_bounded_in_number_and_in_content_whatever_the_clock_does(asked: list[tuple[int, int]]) -> None:
    buckets = Buckets(per_s=3, burst=4, most=10)
    for peer, now_us in asked:
        buckets.take(peer, now_us)
        assert len(buckets.kept) <= 10
        assert all(0 <= bucket.tokens <= 4 for bucket in buckets.kept.values())


def test_whoever_asked_longest_ago_is_forgotten_when_there_are_too_many() -> None:
    buckets = Buckets(per_s=1, burst=1, most=3)
    for peer in (1, 2, 3, 1, 4):
        buckets.take(peer, 0)
    assert [*buckets.kept] == [3, 1, 4]


def test_what_costs_more_than_is_left_takes_nothing() -> None:
    bucket = Bucket(per_s=1, burst=10, now_us=0)
    assert not bucket.take(0, cost=11)
    assert bucket.take(0, cost=10)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = Bucket(per_s=1, burst=2, now_us=100_000_000)
    assert bucket.take(100_000_000)
    assert [bucket.take(50_000_000) for _ in range(3)] == [True, False, False]
    assert not bucket.take(100_500_000)
    assert bucket.take(101_000_000)


def test_what_is_passed_on_in_a_peers_name_has_a_bucket_of_its_own() -> None:
    assert first_hand(5, 5) == 5
    assert first_hand(5, 6) == first_hand(5, 7) != 5
    assert first_hand(0, 6) != first_hand(0, 0)
