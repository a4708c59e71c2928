from hypothesis import given
from hypothesis import strategies as st

from gossamer.parts.lost import LostBuffer, Missed

A, B = 10, 20


def missed(sequence: int, pattern: int = A, source: int = 7) -> Missed:
    return (source, 0, pattern, sequence)


def test_losses_are_listed_in_the_order_they_were_noticed() -> None:
    lost = LostBuffer(10)
    for now_us, each in ((1, missed(5)), (2, missed(3, B)), (3, missed(4)), (4, missed(1, A, 8))):
        lost.add(each, now_us)
    assert [*lost.of_pattern(A, 100)] == [missed(5), missed(4), missed(1, A, 8)]
    assert [*lost.of_pattern(A, 3)] == [missed(5), missed(4)]
    assert [*lost.of_source((7, 0))] == [missed(5), missed(3, B), missed(4)]
    assert [*lost.of_source((9, 0))] == [*lost.of_pattern(30, 100)] == []


def test_what_is_found_says_since_when_it_was_missing() -> None:
    lost = LostBuffer(10)
    lost.add(missed(5), 3)
    lost.add(missed(5), 9)
    assert lost.remove(missed(5)) == 3
    assert lost.remove(missed(5)) is None
    assert not lost.by_pattern
    assert not lost.by_source


def test_losses_expire_by_pattern() -> None:
    lost = LostBuffer(10)
    for now_us, each in ((1, missed(1)), (1, missed(1, B)), (2, missed(2)), (3, missed(3))):
        lost.add(each, now_us)
    assert lost.expire(A, 2) == 2
    assert [*lost.noticed_us] == [missed(1, B), missed(3)]
    assert lost.expire(30, 100) == 0


def test_a_pattern_nobody_wants_any_more_is_forgotten() -> None:
    lost = LostBuffer(10)
    lost.add(missed(1), 1)
    lost.add(missed(1, B), 1)
    lost.forget(A)
    lost.forget(30)
    assert [*lost.noticed_us] == [missed(1, B)]


@given(st.lists(st.tuples(st.integers(1, 8), st.sampled_from([A, B]), st.integers(7, 9), st.booleans()), max_size=80))
def test_whatever_happens_the_three_ways_to_look_agree_and_the_bound_holds(
    steps: list[tuple[int, int, int, bool]],
) -> None:
    lost = LostBuffer(6)
    for now_us, (sequence, pattern, source, comes) in enumerate(steps):
        before = [*lost.noticed_us]
        each = missed(sequence, pattern, source)
        if comes:
            assert (lost.remove(each) is not None) == (each in before)
        else:
            lost.add(each, now_us)
            assert each in lost
            assert len(lost) <= 6
            if each not in before and len(before) == 6:
                assert before[0] not in lost
        listed = [*lost.noticed_us]
        for signature in (A, B):
            assert [*lost.of_pattern(signature, now_us)] == [each for each in listed if each[2] == signature]
        for publisher in (7, 8, 9):
            assert [*lost.of_source((publisher, 0))] == [each for each in listed if each[0] == publisher]
