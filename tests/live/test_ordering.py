"""Order per publisher and topic."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.ids import EventId
from gossamer.live.reading import ordering
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.reading.ordering import Order


def item(ordinal: int, publisher: int = 1, incarnation: int = 1, topic: str = ".a") -> Delivery:
    return Delivery(EventId(publisher, incarnation, ordinal), topic, ordinal=ordinal)


def ordinals(items: list[Delivery | Gap]) -> list[int | str]:
    return ["gap" if isinstance(each, Gap) else each.ordinal for each in items]


def test_what_comes_too_early_waits_for_what_it_follows() -> None:
    order = Order(patience_s=1)
    assert ordinals([*order.offer(item(2), 0)]) == []
    assert ordinals([*order.offer(item(3), 0)]) == []
    assert ordinals([*order.offer(item(1), 0)]) == [1, 2, 3]
    assert order.wait_s(0) is None


def test_what_does_not_come_in_time_is_a_gap_and_better_late_than_never() -> None:
    order = Order(patience_s=1)
    assert ordinals([*order.offer(item(1), 0)]) == [1]
    assert ordinals([*order.offer(item(4), 5)]) == []
    assert order.wait_s(5.25) == 0.75
    late = [*order.due(6)]
    assert ordinals(late) == ["gap", 4]
    assert late[0].lost == 2
    assert ordinals([*order.offer(item(2), 7)]) == [2]


def test_a_publisher_met_in_the_middle_begins_there_without_a_gap() -> None:
    order = Order(patience_s=1)
    assert ordinals([*order.offer(item(40), 0)]) == []
    assert ordinals([*order.due(1)]) == [40]
    assert ordinals([*order.offer(item(41), 1)]) == [41]


@given(st.data())
def test_every_event_comes_once_and_in_order_however_the_copies_are_shuffled(data: st.DataObject) -> None:
    sent = [
        item(n, publisher, incarnation, topic)
        for publisher in (1, 2)
        for incarnation in (1, 2)
        for topic in (".a", ".b")
        for n in range(1, 6)
    ]
    order = Order(patience_s=1)
    came = [got for each in data.draw(st.permutations(sent)) for got in order.offer(each, 0)]
    assert sorted(map(key, came)) == sorted(map(key, sent))
    streams: dict[object, list[int]] = {}
    for each in came:
        streams.setdefault((each.id.publisher, each.id.incarnation, each.topic), []).append(each.ordinal)
    assert all(seen == [1, 2, 3, 4, 5] for seen in streams.values())
    assert order.count == 0


@given(st.permutations(range(1, 9)), st.sets(st.integers(1, 8)))
def test_nobody_waits_for_what_the_reader_does_not_want(came: list[int], unwanted: set[int]) -> None:
    order = Order(patience_s=1)
    read: list[Delivery | Gap] = []
    for n in came:
        read += order.pass_over(item(n)) if n in unwanted else order.offer(item(n), 0)
    assert ordinals(read) == [n for n in range(1, 9) if n not in unwanted]
    assert (order.count, order.held, order.passed) == (0, {}, {})


def test_a_gap_counts_nothing_the_reader_does_not_want() -> None:
    order = Order(patience_s=1)
    assert ordinals([*order.offer(item(1), 0)]) == [1]
    for n in (3, 4, 6):
        assert [*order.pass_over(item(n))] == []
    assert order.wait_s(0) is None  # nobody waits for what comes after something unwanted
    assert [*order.offer(item(5), 0)] == []
    late = [*order.due(1)]
    assert ordinals(late) == ["gap", 5]
    assert late[0].lost == 1
    assert ordinals([*order.offer(item(7), 1)]) == [7]
    assert order.passed == {}


def test_a_stream_of_which_nothing_is_wanted_takes_little_memory(monkeypatch) -> None:
    monkeypatch.setattr(ordering, "PASSED_MAX", 10)
    order = Order(patience_s=1)
    for n in range(5, 100):
        assert [*order.pass_over(item(n))] == []
        assert len(order.passed.get((1, 1, ".a"), {})) <= 10
    assert ordinals([*order.offer(item(100), 0)]) == [100]


def key(each: Delivery) -> tuple[object, ...]:
    return (each.id.publisher, each.id.incarnation, each.topic, each.ordinal)
